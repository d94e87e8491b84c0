package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

// editable are the files of an identity that people and the agent may edit, beside
// its context.
var editable = []string{memoryFile, "SEGMENT.md", "SUMMARISE.md"}

const (
	memoryFile  = "MEMORY.md"
	contextFile = "context.md"
)

// ownFiles is what is known of an identity's own files.
type ownFiles struct {
	dir  string
	log  *slog.Logger
	seen map[string]fs.FileInfo // how they looked when they were read

	writing bool      // somebody is writing context.md
	failed  bool      // context.md could not be written the last time
	shown   [2]int    // the state that context.md shows; see viewMark
	written time.Time // when it was last
	due     time.Time // when it is to be; zero while it shows all, or a turn is under way
}

func (f *ownFiles) path(name string) string { return filepath.Join(f.dir, name) }

// look returns how a file looks without reading it; nil if it is missing.
func (f *ownFiles) look(name string) fs.FileInfo {
	fi, _ := os.Lstat(f.path(name))
	return fi
}

// unchanged reports whether a file that is there looks the same twice.
func unchanged(was, now fs.FileInfo) bool {
	return was != nil && now != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// look is how a room or a directory looked before it was read.
type look struct {
	fs.FileInfo // nil: it was missing
	at          time.Time
}

func lookAt(path string) look {
	at := time.Now()
	fi, _ := os.Stat(path)
	return look{fi, at}
}

// clockStep is more than what the clock of most file systems goes on by at once, 10 ms.
const clockStep = 20 * time.Millisecond

// same reports whether what looked so when it was read is as it was. The clock of a file system goes on in steps, of
// up to 10 ms, or of 2 s where its times have no fraction: what was changed so shortly before it was read can have
// been changed since, and look the same.
func (l look) same(now look) bool {
	if !unchanged(l.FileInfo, now.FileInfo) {
		return false
	}
	changed, step := durable.Changed(now), clockStep
	if changed.Nanosecond() == 0 {
		step = 2*time.Second + step
	}
	return changed.Equal(durable.Changed(l)) && l.at.Sub(changed) > step
}

// changed reports whether a file looks different from when it was last read.
func (f *ownFiles) changed(name string) bool { return !unchanged(f.seen[name], f.look(name)) }

func digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// maxOwn bounds what is read of one of the identity's own files, in bytes. Their
// use is bounded far below it.
const maxOwn = 1 << 20

// read reads one of the files. A missing one is empty; links, pipes and devices are
// ignored.
func (f *ownFiles) read(name string) ([]byte, error) {
	text, _, err := durable.ReadRegular(f.path(name), maxOwn)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		f.log.Warn("one of the identity's own files is not read", "error", err)
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return secret.Bytes(text), err
}

// checkFiles notices what people changed in the identity's own files and in its
// context. It costs a stat each.
func (a *Agent) checkFiles() error {
	a.files.writing = false
	for _, name := range editable {
		if a.files.changed(name) {
			if err := a.noteChange(name); err != nil {
				return err
			}
		}
	}
	if a.files.changed(contextFile) {
		return a.mergeContext()
	}
	return nil
}

// noteChange tells the agent of a file that is not what the log says.
func (a *Agent) noteChange(name string) error {
	before := a.files.look(name)
	text, err := a.files.read(name)
	if err != nil {
		return err
	}
	a.files.seen[name] = before
	hash := digest(text)
	if a.state.Files[name] == hash {
		return nil
	}
	note := fmt.Sprintf("Somebody changed self/%s. It reads now:\n%s", name, text)
	return a.commit(a.note(event.Note{Why: "file", File: event.File{Name: name, Hash: hash}}, name+" changed from outside", note))
}

// viewEvery is how often context.md is written at most.
const viewEvery = time.Second

// maxView bounds what is read of context.md, in bytes: some times the largest view.
const maxView = 64 << 20

// halfWritten is how long a context.md that is not all there is left alone: an
// editor that saves in place empties it first.
const halfWritten = time.Second

// mergeContext reads context.md and applies what a person changed in it. An edit is
// never overwritten: what cannot be applied is said in the note. What is not all there
// is obeyed in nothing, and kept.
func (a *Agent) mergeContext() error {
	before := a.files.look(contextFile)
	file, _, err := durable.ReadRegular(a.files.path(contextFile), maxView)
	noFile := errors.Is(err, durable.ErrNotRegular) || errors.Is(err, fs.ErrNotExist)
	if err != nil && !noFile {
		return err
	}
	file = secret.Bytes(file)
	seen, ok := mind.ReadView(file)
	if before != nil && !noFile && !ok {
		if age := time.Since(before.ModTime()); age >= 0 && age < halfWritten {
			a.files.writing = true
			return nil
		}
	}
	if !ok && !bytes.HasPrefix(a.state.View(), bytes.TrimRight(file, "\x00 \t\r\n")) { // else nothing in it is lost
		if err := a.setAside(file, "its first or last line is missing, or it has zero bytes; it is rebuilt"); err != nil {
			return err
		}
	}
	if ok && !seen.Intact {
		if err := a.applyEdit(a.state.Compare(seen), file, seen.Epoch); err != nil {
			return err
		}
	}
	a.replaceContext(before)
	return nil
}

// setAside keeps a context.md of which something would be lost otherwise.
func (a *Agent) setAside(file []byte, why string) error {
	kept := a.files.path("context.md.kept-" + time.Now().UTC().Format("20060102T150405.000"))
	a.cfg.Log.Warn("context.md is kept as it was found: "+why, "file", kept)
	return durable.WriteFile(kept, file, 0o600)
}

// applyEdit carries a person's edit of the context out, which file holds as of an
// epoch: blobs, a note, and an epoch in which the entries are as the person left them.
func (a *Agent) applyEdit(edit mind.Edit, file []byte, epoch int) error {
	if edit.Empty() {
		return nil
	}
	if err := a.editMemory(&edit); err != nil {
		return err
	}
	if epoch != a.state.Epoch || len(edit.Ignored) > 0 {
		if err := a.setAside(file, strings.Join(append([]string{"not all of an edit may be in force"}, edit.Ignored...), "; ")); err != nil {
			return err
		}
	}
	parent := a.state.LastBlob
	put := func(gist string, text []byte) (mind.Ref, error) {
		return a.put(blobs.Meta{At: a.now(), Gist: gist, Parent: parent}, text)
	}
	if err := a.state.Amend(edit, put); err != nil {
		return err
	}
	note := a.note(event.Note{Why: "edit"}, "context edited by a person", describe(edit))
	if edit.Taken != "" {
		note.bodies = append(note.bodies, body{"what a person took out of the context", []byte(edit.Taken)})
	}
	a.cfg.Log.Info("context.md was edited by a person; the edit comes into force")
	return a.renew("edit", note)
}

// editMemory carries an edit of MEMORY out, unless somebody changed MEMORY.md meanwhile.
func (a *Agent) editMemory(edit *mind.Edit) error {
	if edit.Memory == nil {
		return nil
	}
	before := a.files.look(memoryFile)
	now, err := a.files.read(memoryFile)
	if err != nil {
		return err
	}
	text, ok := edit.Memory.Of(string(now))
	if ok && text != string(now) {
		done, err := durable.Swap(a.files.path(memoryFile), []byte(text), 0o600,
			func(there fs.FileInfo) bool { return there == nil && before == nil || unchanged(before, there) })
		if err := cmp.Or(err, durable.SyncDir(a.id.Dir)); err != nil {
			return err
		}
		ok = done != nil
	}
	if !ok {
		edit.Memory, edit.Ignored = nil, append(edit.Ignored, mind.MemoryStays)
	}
	return nil
}

// describe tells the agent what a person did to its context.
func describe(edit mind.Edit) string {
	var changed, deleted []string
	for _, c := range edit.Changed {
		switch {
		case c.Faded:
			changed = append(changed, "what has faded from "+mind.EntryID(c.N)+" on")
		case c.K > 0:
			changed = append(changed, "the result of "+mind.CallID(c.N, c.K))
		default:
			changed = append(changed, mind.EntryID(c.N))
		}
	}
	for _, n := range edit.Deleted {
		deleted = append(deleted, mind.EntryID(n))
	}
	text := "A person edited your context."
	for _, part := range []struct {
		is   bool
		text string
	}{
		{len(changed) > 0, "Changed: " + strings.Join(changed, ", ") + "."},
		{len(deleted) > 0, "Removed, and still reachable by ref in the past: " + strings.Join(deleted, ", ") + "."},
		{edit.Memory != nil, "MEMORY was changed."},
		{edit.Pins != nil, "The pins were changed."},
		{len(edit.Ignored) > 0, "These parts cannot be changed there and stayed as they were: " + strings.Join(edit.Ignored, ", ") + "."},
		{edit.Taken != "", "RECALL still finds what was taken away."},
		{edit.Added != "", "They wrote to you:\n" + blobs.Unescape(edit.Added)},
	} {
		if part.is {
			text += " " + part.text
		}
	}
	return text
}

// writeContext brings context.md up to date, unless a person was there first.
func (a *Agent) writeContext() error {
	if a.files.changed(contextFile) {
		return a.mergeContext()
	}
	a.replaceContext(a.files.seen[contextFile])
	return nil
}

// writeDueContext brings context.md up to date with the turn before, while one is under way.
func (a *Agent) writeDueContext() {
	if due := a.files.due; !due.IsZero() && !time.Now().Before(due) {
		a.replaceContext(a.files.seen[contextFile]) // an edit is merged behind the turn
		a.files.shown[1], a.files.due = 0, time.Time{}
	}
}

// replaceContext puts the view in the place of the context.md that looks as given; nil
// is none. If a person has saved another one meanwhile, it is read first.
func (a *Agent) replaceContext(read fs.FileInfo) {
	now, err := durable.SwapView(a.files.path(contextFile), a.state.View(), 0o600,
		func(there fs.FileInfo) bool { return there == nil && read == nil || unchanged(read, there) })
	if err != nil && !a.files.failed { // a full disk, say: nothing depends on the view
		a.cfg.Log.Warn("context.md could not be written; it is tried again", "error", err)
	}
	a.files.failed, a.files.writing = err != nil, err == nil && now == nil
	if a.files.writing {
		return
	}
	a.files.shown, a.files.written, a.files.due = a.viewMark(), time.Now(), time.Time{}
	if err == nil {
		a.files.seen[contextFile] = now
	}
}

// viewMark changes whenever context.md should.
func (a *Agent) viewMark() [2]int { return [2]int{a.state.Epoch, a.state.Next} }
