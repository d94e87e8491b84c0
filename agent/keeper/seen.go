package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/internal/secret/shape"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind/files"
)

// Seen holds the files of a life as it saw them last, folded from its log when they are first asked for.
type Seen struct {
	*part.View
	fold *files.Fold // nil before
}

func (s *Seen) files() *files.Fold {
	if s.fold == nil {
		s.fold = s.ID.Files()
	}
	return s.fold
}

// Happened is told of each line of the log.
func (s *Seen) Happened(e life.Event) {
	if s.fold != nil {
		s.fold.Apply(e)
	}
}

// Plan returns what LIFE has of a change before it is made. It refuses one where somebody has changed the file since the
// life saw it; shown is the file if the error shows it.
func (s *Seen) Plan(change *tools.Change) (planned event.Change, kept []part.Body, shown tools.Version, err error) {
	if was := change.Was; was != nil {
		isShown, err := s.files().Refuse(was.File, was.Text)
		if isShown {
			shown = *was
		}
		if err != nil {
			return planned, nil, shown, err
		}
		kept = replaced(was)
		planned.Kept = len(kept) > 0
	}
	if change.Now.Name != "" {
		planned.Makes = change.Now.File
	}
	return planned, kept, shown, nil
}

// replaced is the text of a file that is kept when another one takes its place.
func replaced(was *tools.Version) []part.Body {
	if was == nil || was.Text == "" || len(was.Text) > tools.MostKept {
		return nil
	}
	return []part.Body{{Gist: "what " + was.Name + " was", Data: shape.Bytes([]byte(was.Text))}}
}

// Look takes in the file that a call has shown or made. It tells the model of its earlier work on a file that it reads,
// and where the text is that it replaced.
func (s *Seen) Look(tool string, result *tools.Result) {
	if result.Saw.Name == "" {
		return
	}
	past := s.files().Past(result.Saw.File)
	if end := bytes.Index(result.Body, []byte("]\n")); tool == "READ_FILE" && past != "" && end > 0 {
		result.Body = slices.Insert(result.Body, end, []byte("; "+past)...)
	}
	s.files().See(result.Saw.File, result.Saw.Text)
	versions := s.files().Files[result.Saw.Name]
	if was := versions[len(versions)-1].Was; tool == "WRITE_FILE" && was != "" { // an edit has its old text itself
		result.Body = fmt.Appendf(result.Body, "; before: hash=%s", was)
	}
}

// RestoreIfAsked obeys each home.WishRestore, and answers one that fails. After a crash it does so again.
func (s *Seen) RestoreIfAsked() error {
	for _, wish := range s.Wishes {
		of, asked := wish.Of(home.WishRestore)
		if !asked {
			continue
		}
		failed, err := s.restore(wish.Text(s.ID), of)
		if err == nil && failed != nil {
			err = home.Leave(s.ID, home.WishRefused+home.Wish(of), failed.Error())
		}
		if err == nil {
			err = s.Obeyed(wish)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restore brings back an earlier text of a file. LIFE has a note of it before, with the text that is replaced.
func (s *Seen) restore(name, of string) (failed, err error) {
	ref, _, _ := strings.Cut(of, " ")
	text, failed := s.Store.Find(ref)
	if failed != nil {
		return failed, nil
	}
	change, failed := s.Tools.Restore(name, string(text.Body))
	if failed != nil {
		return failed, nil
	}
	said := fmt.Sprintf("A person brings back an earlier text of %s: hash=%s", name, ref)
	note := journal.Told(event.Note{Why: "restored", Saw: change.Now.File}, said, said, replaced(change.Was)...)
	if err := s.Commit(note); err != nil {
		return nil, err
	}
	if result := change.Do(context.Background(), tools.Call{}); result.Err {
		return errors.New(string(result.Body)), s.Commit(part.Noted("restored", said, said+" failed. Look at the file"))
	}
	s.files().See(change.Now.File, change.Now.Text)
	return nil, nil
}
