// Package keeper tells an identity of changes that people make to its own files, and obeys their edits of context.md.
package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/part"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/mind"
)

// Keeper keeps the own files of an identity: see New.
type Keeper struct {
	*part.View
	renew       func(why string, before ...part.Record) error
	viewEvery   time.Duration
	halfWritten time.Duration

	seen map[string]fs.FileInfo // how files looked when they were read

	shown   [2]int    // the state that context.md shows; see viewMark
	written time.Time // when it was last
	due     time.Time // when it is to be, or to be read; zero while it shows all, or a turn is under way
}

// New returns a Keeper. renew begins an epoch behind the records. The durations are by default ViewEvery and HalfWritten.
func New(view *part.View, renew func(why string, before ...part.Record) error, every, halfWritten time.Duration) *Keeper {
	return &Keeper{View: view, renew: renew, viewEvery: every, halfWritten: halfWritten, seen: map[string]fs.FileInfo{}}
}

// Due returns when CheckFiles or WriteIfDue has something to do by itself; zero if never.
func (k *Keeper) Due() time.Time { return k.due }

func (k *Keeper) file(name string) string { return filepath.Join(k.ID.Dir, name) }

// look describes a file without reading it; nil if it is missing.
func (k *Keeper) look(name string) fs.FileInfo {
	fi, _ := os.Lstat(k.file(name))
	return fi
}

// differs reports whether a file looks different than at its last reading.
func (k *Keeper) differs(name string) bool {
	return !durable.Unchanged(k.seen[name], k.look(name))
}

// CheckFiles notices what people changed in the identity's own files and in its
// context. It costs a stat each.
func (k *Keeper) CheckFiles() error {
	k.due = time.Time{}
	for _, name := range home.Editable {
		if k.differs(name) {
			if err := k.noteChange(name); err != nil {
				return err
			}
		}
	}
	if k.differs(home.ContextFile) {
		return k.mergeContext()
	}
	return nil
}

// noteChange tells the agent of a file that differs from the version in the log.
func (k *Keeper) noteChange(name string) error {
	before := k.look(name)
	text, err := k.ReadOwn(name)
	if err != nil {
		return err
	}
	k.seen[name] = before
	note := fmt.Sprintf("Somebody changed self/%s. It reads now:\n%s", name, text)
	return k.Tell("file", mind.Text{Name: name, Body: text}, name+" changed from outside", note)
}

// ViewEvery is the least time between two writes of context.md.
const ViewEvery = time.Second

// maxView bounds what is read of context.md, in bytes: some times the largest view.
const maxView = 64 << 20

// HalfWritten is the time that a context.md without its end is left alone: an editor that
// saves in place empties it first.
const HalfWritten = time.Second

// mergeContext reads context.md and applies what a person changed in it. An edit is
// never overwritten: the note names the changes that cannot be applied. A file that
// lacks its beginning or end is not obeyed, but kept.
func (k *Keeper) mergeContext() error {
	before := k.look(home.ContextFile)
	file, _, err := durable.ReadRegular(k.file(home.ContextFile), maxView)
	noFile := errors.Is(err, durable.ErrNotRegular) || errors.Is(err, fs.ErrNotExist)
	if err != nil && !noFile {
		return err
	}
	file = secret.Bytes(file)
	seen, ok := mind.ReadView(file)
	there := before != nil && !noFile
	if there && !ok {
		if age := time.Since(before.ModTime()); age >= 0 && age < k.halfWritten {
			k.due = time.Now().Add(k.halfWritten / 4)
			return nil
		}
	}
	if !ok && !bytes.HasPrefix(k.State.View(), bytes.TrimRight(file, "\x00 \t\r\n")) { // else nothing in it is lost
		if err := k.setAside(file, "its first or last line is missing, or it has zero bytes; it is rebuilt"); err != nil {
			return err
		}
	}
	if ok && !seen.Intact {
		if err := k.Apply(k.State.Compare(seen), file, seen.Epoch); err != nil {
			return err
		}
	}
	k.replaceContext(before)
	return nil
}

// setAside keeps a context.md in another file: else an edit in it would be lost.
func (k *Keeper) setAside(file []byte, why string) error {
	kept := k.file("context.md.kept-" + time.Now().UTC().Format("20060102T150405.000"))
	k.Log.Warn("context.md is kept as it was found: "+why, "file", kept)
	return durable.WriteFile(kept, shape.Bytes(file), 0o600)
}

// Apply carries out a person's edit of the context: blobs, a note, and a new epoch
// with the entries as the person left them. file holds the edit, of that epoch.
func (k *Keeper) Apply(edit mind.Edit, file []byte, epoch int) error {
	if edit.Empty() {
		return nil
	}
	strike(&edit)
	if err := k.editMemory(&edit); err != nil {
		return err
	}
	if epoch != k.State.Epoch || len(edit.Ignored) > 0 {
		why := append([]string{"not all of an edit may be in force"}, edit.Ignored...)
		if err := k.setAside(file, strings.Join(why, "; ")); err != nil {
			return err
		}
	}
	parent := k.State.LastBlob
	put := func(gist string, text []byte) (mind.Ref, error) {
		return k.Put(blobs.Meta{Gist: gist, Parent: parent}, text)
	}
	if err := k.State.Amend(edit, put); err != nil {
		return err
	}
	note := part.Noted("edit", "context edited by a person", edit.Describe())
	if edit.Taken != "" {
		note.Texts = append(note.Texts, part.Body{Gist: "what a person took out of the context", Data: []byte(edit.Taken)})
	}
	return k.renew("edit", note)
}

// strike takes secrets out of the texts that a person wrote.
func strike(edit *mind.Edit) {
	edit.Added = shape.Text(edit.Added)
	for i, change := range edit.Changed {
		edit.Changed[i].Text = shape.Text(change.Text)
	}
	if edit.Memory != nil {
		edit.Memory.Is = shape.Text(edit.Memory.Is)
	}
	if edit.Pins != nil {
		for i, pin := range *edit.Pins {
			(*edit.Pins)[i].Text = shape.Text(pin.Text)
		}
	}
}

// editMemory carries an edit of MEMORY out, unless somebody changed MEMORY.md meanwhile.
func (k *Keeper) editMemory(edit *mind.Edit) error {
	if edit.Memory == nil {
		return nil
	}
	before := k.look(home.MemoryFile)
	now, err := k.ReadOwn(home.MemoryFile)
	if err != nil {
		return err
	}
	text, ok := edit.Memory.Of(string(now))
	ok = ok && !shape.Marked(string(now)) // else marks would take the place of secrets in the file
	if ok && text != string(now) {
		done, err := durable.Swap(k.file(home.MemoryFile), []byte(text), 0o600, stillAs(before))
		synced := durable.SyncDir(k.ID.Dir) // a swap that failed can have happened
		if err != nil {
			return err
		}
		if synced != nil {
			return synced
		}
		ok = done != nil
	}
	if !ok {
		edit.Memory, edit.Ignored = nil, append(edit.Ignored, mind.MemoryStays)
	}
	return nil
}

// WriteContext brings context.md up to date, unless a person was there first.
func (k *Keeper) WriteContext() error {
	if k.differs(home.ContextFile) {
		return k.mergeContext()
	}
	k.replaceContext(k.seen[home.ContextFile])
	return nil
}

// WriteIfDue brings context.md up to date, but not too often within an epoch.
func (k *Keeper) WriteIfDue() error {
	if k.shown == k.viewMark() {
		return nil
	}
	// That of an epoch that is over is replaced at once: of an edit made in it, not all can be obeyed.
	k.due = k.written.Add(k.viewEvery)
	if k.shown[0] == k.State.Epoch && time.Now().Before(k.due) {
		return nil
	}
	return k.WriteContext()
}

// replaceContext puts the view in the place of the context.md that looks as given, or of
// a missing one if read is nil. If a person has saved another one meanwhile, it is read first.
func (k *Keeper) replaceContext(read fs.FileInfo) {
	now, err := durable.SwapView(k.file(home.ContextFile), k.State.View(), 0o600, stillAs(read))
	if err != nil { // a full disk, say: nothing depends on the view
		k.Log.Warn("context.md could not be written; it is tried again", "error", err)
	}
	if err == nil && now == nil { // somebody is writing it
		k.due = time.Now().Add(k.halfWritten / 4)
		return
	}
	k.shown, k.written, k.due = k.viewMark(), time.Now(), time.Time{}
	if err == nil {
		k.seen[home.ContextFile] = now
	}
}

// stillAs reports whether a file looks as it did; nil stands for a missing file.
func stillAs(was fs.FileInfo) func(there fs.FileInfo) bool {
	return func(there fs.FileInfo) bool {
		if there == nil && was == nil {
			return true
		}
		return durable.Unchanged(was, there)
	}
}

// viewMark changes whenever context.md should.
func (k *Keeper) viewMark() [2]int { return [2]int{k.State.Epoch, k.State.Next} }
