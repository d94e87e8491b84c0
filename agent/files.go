package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

// editable are the files of an identity that people and the agent may edit, beside
// its context.
var editable = []string{"MEMORY.md", "SEGMENT.md", "SUMMARISE.md"}

const contextFile = "context.md"

// ownFiles is what is known of an identity's own files.
type ownFiles struct {
	dir  string
	log  *slog.Logger
	seen map[string]stamp // how they looked when they were read

	writing bool   // somebody is writing context.md
	failed  bool   // context.md could not be written the last time
	shown   [2]int // the state that context.md shows; see viewMark
}

// stamp is how a file looked without reading it.
type stamp struct {
	inode uint64
	size  int64
	mod   time.Time
}

func (f *ownFiles) path(name string) string { return filepath.Join(f.dir, name) }

func (f *ownFiles) stampOf(name string) stamp {
	fi, err := os.Lstat(f.path(name))
	if err != nil {
		return stamp{}
	}
	return stampFrom(fi)
}

func stampFrom(fi fs.FileInfo) stamp {
	if fi == nil {
		return stamp{}
	}
	s := stamp{size: fi.Size(), mod: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s
}

// changed reports whether a file looks different from when it was last read.
func (f *ownFiles) changed(name string) bool {
	now := f.stampOf(name)
	return now != f.seen[name] || now == stamp{}
}

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
		if !a.files.changed(name) {
			continue
		}
		if err := a.noteChange(name); err != nil {
			return err
		}
	}
	if !a.files.changed(contextFile) {
		return nil
	}
	return a.mergeContext()
}

// noteChange tells the agent of a file that is not what the log says.
func (a *Agent) noteChange(name string) error {
	before := a.files.stampOf(name)
	text, err := a.files.read(name)
	if err != nil {
		return err
	}
	a.files.seen[name] = before
	hash := digest(text)
	if a.state.Files[name] == hash {
		return nil
	}
	note := fmt.Sprintf("Somebody changed self/%s. It is in force from the next epoch; it reads now:\n%s", name, cutText(text, mind.MaxMemory))
	return a.commit(a.note(event.Note{Why: "file", File: event.File{Name: name, Hash: hash}}, name+" changed from outside", note))
}

func cutText(text []byte, n int) string {
	if utf8.RuneCount(text) <= n {
		return string(text)
	}
	return string([]rune(string(text))[:n]) + "\n(cut; the rest is in the file)"
}
