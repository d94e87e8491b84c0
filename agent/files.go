package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/mind"
)

// ownFiles are the files of an identity that people and the agent may edit.
var ownFiles = []string{"MEMORY.md", "SEGMENT.md", "SUMMARISE.md"}

const contextFile = "context.md"

// stamp is how a file looked without reading it.
type stamp struct {
	inode uint64
	size  int64
	mod   time.Time
}

func (a *Agent) stampOf(name string) stamp {
	fi, err := os.Lstat(filepath.Join(a.id.Dir, name))
	if err != nil {
		return stamp{}
	}
	return stampFrom(fi)
}

func stampFrom(fi fs.FileInfo) stamp {
	if fi == nil {
		return stamp{}
	}
	return stamp{inodeOf(fi), fi.Size(), fi.ModTime()}
}

// moved reports whether a file looks different from when it was last read.
func (a *Agent) moved(name string) bool {
	now, known := a.stampOf(name), a.files[name]
	return now != known || now == stamp{}
}

func digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// maxOwn bounds what is read of one of the identity's own files, in bytes. Their
// use is bounded far below it.
const maxOwn = 1 << 20

// readOwn reads one of the identity's own files. A missing one is empty, and so is
// what is no file: whoever put a link or a pipe there gets nothing read or blocked.
func (a *Agent) readOwn(name string) ([]byte, error) {
	text, _, err := durable.ReadRegular(filepath.Join(a.id.Dir, name), maxOwn)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		a.cfg.Log.Warn("one of the identity's own files is not read", "error", err)
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return secret.Bytes(text), err
}

// look notices what people changed in the identity's own files and in its
// context. Looking costs a stat each.
func (a *Agent) look() error {
	a.unsettled = false
	for _, name := range ownFiles {
		if !a.moved(name) {
			continue
		}
		if err := a.lookAt(name); err != nil {
			return err
		}
	}
	if !a.moved(contextFile) {
		return nil
	}
	return a.mergeContext()
}

func (a *Agent) lookAt(name string) error {
	before := a.stampOf(name)
	text, err := a.readOwn(name)
	if err != nil {
		return err
	}
	a.files[name] = before
	hash := digest(text)
	if a.state.Files[name] == hash {
		return nil
	}
	note := fmt.Sprintf("Somebody changed self/%s. It is in force from the next epoch; it reads now:\n%s", name, cutText(text, mind.MaxMemory))
	return a.commit(happen(mind.Note, []string{a.entryID(0)}, "why", "file", "file", name+":"+hash).
		with(name+" changed from outside", []byte(note)))
}

func cutText(text []byte, n int) string {
	if utf8.RuneCount(text) <= n {
		return string(text)
	}
	return string([]rune(string(text))[:n]) + "\n(cut; the rest is in the file)"
}

// mergeContext reads context.md and obeys what a person changed in it. An edit is
// never overwritten: what cannot be obeyed is said in the note.
func (a *Agent) mergeContext() error {
	path := filepath.Join(a.id.Dir, contextFile)
	before := a.stampOf(contextFile)
	file, cut, err := durable.ReadRegular(path, maxView)
	if errors.Is(err, durable.ErrNotRegular) {
		return a.replaceContext(before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if cut {
		a.cfg.Log.Warn("context.md is too large to be an edit; it is left as it is", "bytes_at_most", maxView)
		a.files[contextFile] = before
		return nil
	}
	file = secret.Bytes(file)
	seen, ok := mind.ReadView(file)
	if age := time.Since(before.mod); !(ok && seen.Whole) && age >= 0 && age < halfWritten {
		a.unsettled = true
		return nil
	}
	if !ok && len(bytes.TrimSpace(file)) > 0 {
		if err := a.setAside(file, "it has lost its first line and is rebuilt"); err != nil {
			return err
		}
	}
	if !ok || seen.Intact {
		return a.replaceContext(before)
	}
	edit := a.state.Compare(file, seen.Through)
	if edit.Empty() {
		return a.replaceContext(before)
	}
	if err := a.editMemory(&edit); err != nil {
		return err
	}
	if seen.Epoch != a.state.Epoch || len(edit.Ignored) > 0 {
		if err := a.setAside(file, "not all of an edit is in force"); err != nil {
			return err
		}
	}
	if err := a.obeyEdit(edit); err != nil {
		return err
	}
	return a.replaceContext(before)
}

// maxView bounds what is read of context.md, in bytes: some times the largest view.
const maxView = 64 << 20

// halfWritten is how long a context.md without its last line is left alone: an
// editor that saves in place empties it first.
const halfWritten = time.Second

// setAside keeps a context.md of which something would be lost otherwise.
func (a *Agent) setAside(file []byte, why string) error {
	kept := filepath.Join(a.id.Dir, "context.md.kept-"+time.Now().UTC().Format("20060102T150405.000"))
	a.cfg.Log.Warn("context.md is kept as a person left it: "+why, "file", kept)
	return durable.WriteFile(kept, file, 0o600)
}

// obeyEdit carries a person's edit of the context out: blobs, a note, and an
// epoch in which the entries are as the person left them.
func (a *Agent) obeyEdit(edit mind.Edit) error {
	parent := a.state.LastBlob
	put := func(gist string, body []byte) (mind.Ref, error) {
		h, err := a.store.Put(blobs.Meta{At: a.now(), Gist: gist, Life: a.id.Self, Parent: parent}, body)
		if err != nil {
			return mind.Ref{}, err
		}
		return mind.Ref{Hash: h, Short: a.store.Short(h), Gist: blobs.Gist(gist)}, nil
	}
	if err := a.state.Amend(edit, put); err != nil {
		return err
	}
	note := happen(mind.Note, []string{a.entryID(0)}, "why", "edit").
		with("context edited by a person", []byte(describe(edit)))
	if edit.Taken != "" {
		note = note.with("what a person took out of the context", []byte(edit.Taken))
	}
	if err := a.renew("edit", note); err != nil {
		return err
	}
	a.cfg.Log.Info("context.md was edited by a person; the edit is in force")
	return nil
}

// editMemory puts an edit of MEMORY into what MEMORY.md holds by now. A file that
// somebody saves at this moment is read again.
func (a *Agent) editMemory(edit *mind.Edit) error {
	for edit.Memory != nil {
		before := a.stampOf("MEMORY.md")
		now, err := a.readOwn("MEMORY.md")
		if err != nil {
			return err
		}
		text, refused := mind.Merge(edit.Shown, *edit.Memory, string(now))
		if text != string(now) {
			done, err := durable.Swap(filepath.Join(a.id.Dir, "MEMORY.md"), []byte(text), 0o600,
				func(there fs.FileInfo) bool { return stampFrom(there) == before })
			if err == nil && done == nil {
				continue
			}
			if err == nil {
				err = durable.SyncDir(a.id.Dir)
			}
			if err != nil {
				return err
			}
		}
		if refused {
			edit.Ignored = append(edit.Ignored, "the lines of memory that were changed in MEMORY.md meanwhile")
		}
		return nil
	}
	return nil
}

// describe tells the agent what a person did to its context.
func describe(edit mind.Edit) string {
	var b strings.Builder
	b.WriteString("A person edited your context.")
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
	if len(changed) > 0 {
		b.WriteString(" Changed: " + strings.Join(changed, ", ") + ".")
	}
	if len(deleted) > 0 {
		b.WriteString(" Removed, and still reachable by ref in the past: " + strings.Join(deleted, ", ") + ".")
	}
	if edit.Memory != nil {
		b.WriteString(" MEMORY was changed.")
	}
	if edit.Pins != nil {
		b.WriteString(" The pins were changed.")
	}
	if len(edit.Ignored) > 0 {
		b.WriteString(" These parts cannot be changed there and stayed as they were: " + strings.Join(edit.Ignored, ", ") + ".")
	}
	if edit.Taken != "" {
		b.WriteString(" RECALL still finds what was taken away.")
	}
	if edit.Added != "" {
		b.WriteString(" They wrote to you:\n" + blobs.Unescape(edit.Added))
	}
	return b.String()
}

// writeContext brings context.md up to date, unless a person was there first.
func (a *Agent) writeContext() error {
	if a.moved(contextFile) {
		return a.mergeContext()
	}
	return a.replaceContext(a.files[contextFile])
}

// replaceContext puts the view in the place of the context.md that has the given
// stamp. Another one is a person's, who was faster: it is looked at again.
func (a *Agent) replaceContext(read stamp) error {
	now, err := durable.Swap(filepath.Join(a.id.Dir, contextFile), a.state.View(), 0o600,
		func(there fs.FileInfo) bool { return stampFrom(there) == read })
	if err != nil { // a full disk, say: nothing depends on the view
		if !a.viewFailed {
			a.cfg.Log.Warn("context.md could not be written; it is tried again", "error", err)
		}
		a.viewFailed = true
		a.viewed = a.viewMark()
		return nil
	}
	a.viewFailed = false
	if now == nil {
		a.unsettled = true
		return nil
	}
	a.files[contextFile] = stampFrom(now)
	a.viewed = a.viewMark()
	return nil
}

// viewMark changes whenever context.md should.
func (a *Agent) viewMark() [2]int { return [2]int{a.state.Epoch, a.state.Next} }

// lockOf is not taken yet. A pipe in its place is not waited for, a link not followed.
func lockOf(id Identity) *flock.Flock {
	return flock.New(filepath.Join(id.Dir, "lock"), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
}

// holder reads which process wrote itself into a lock file.
func holder(path string) string {
	data, _, err := durable.ReadRegular(path, 32)
	if err != nil {
		return "unknown"
	}
	pid := strings.TrimSpace(string(data))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown"
	}
	return pid
}
