package agent

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
	"lethe/life/event"
	"lethe/mind/files"
)

// files returns the files of the life, as it saw them last.
func (c *caller) files() *files.Fold {
	if c.seen == nil {
		c.seen = c.ID.Files()
	}
	return c.seen
}

// change plans the change of a file, and refuses it where somebody has changed the file since the life saw it.
func (c *caller) change(in *intent, change *tools.Change) {
	in.effect = change.Run
	if was := change.Was; was != nil {
		shown, err := c.files().Refuse(was.File, was.Text)
		if shown {
			in.saw = *was
		}
		if in.err = err; err != nil {
			return
		}
		in.files = replaced(was)
		in.change.Kept = len(in.files) > 0
	}
	if change.Now.Name != "" {
		in.change.Makes = change.Now.File
	}
}

// replaced is the text of a file that is kept when another one takes its place.
func replaced(was *tools.Version) []part.Body {
	if was == nil || was.Text == "" || len(was.Text) > tools.MostKept {
		return nil
	}
	return []part.Body{{Gist: "what " + was.Name + " was", Data: shape.Bytes([]byte(was.Text))}}
}

// restoreIfAsked obeys each home.WishRestore, and answers one that fails. After a crash it does so again.
func (c *caller) restoreIfAsked() error {
	for _, wish := range c.Wishes {
		of, asked := wish.Of(home.WishRestore)
		if !asked {
			continue
		}
		failed, err := c.restore(wish.Text(c.ID), of)
		if err == nil && failed != nil {
			err = home.Leave(c.ID, home.WishRefused+home.Wish(of), failed.Error())
		}
		if err == nil {
			err = c.Obeyed(wish)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restore brings back an earlier text of a file. LIFE has a note of it before, with the text that is replaced.
func (c *caller) restore(name, of string) (failed, err error) {
	ref, _, _ := strings.Cut(of, " ")
	text, failed := c.Store.Find(ref)
	if failed != nil {
		return failed, nil
	}
	change, failed := c.Tools.Restore(name, string(text.Body))
	if failed != nil {
		return failed, nil
	}
	said := fmt.Sprintf("A person brings back an earlier text of %s: hash=%s", name, ref)
	note := journal.Told(event.Note{Why: "restored", Saw: change.Now.File}, said, said, replaced(change.Was)...)
	if err := c.Commit(note); err != nil {
		return nil, err
	}
	if result := change.Do(context.Background(), tools.Call{}); result.Err {
		return errors.New(string(result.Body)), c.Commit(part.Noted("restored", said, said+" failed. Look at the file"))
	}
	c.files().See(change.Now.File, change.Now.Text)
	return nil, nil
}

// look takes in the file that a call has shown or made. It tells the model of its earlier work on a file that it reads,
// and where the text is that it replaced.
func (c *caller) look(tool string, result *tools.Result) {
	if result.Saw.Name == "" {
		return
	}
	past := c.files().Past(result.Saw.File)
	if end := bytes.Index(result.Body, []byte("]\n")); tool == "READ_FILE" && past != "" && end > 0 {
		result.Body = slices.Insert(result.Body, end, []byte("; "+past)...)
	}
	c.files().See(result.Saw.File, result.Saw.Text)
	versions := c.files().Files[result.Saw.Name]
	if was := versions[len(versions)-1].Was; tool == "WRITE_FILE" && was != "" { // an edit has its old text itself
		result.Body = fmt.Appendf(result.Body, "; before: hash=%s", was)
	}
}
