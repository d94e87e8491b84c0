// Package parts edits texts of an identity's files as an editor would: it changes context.md or MEMORY.md, which the
// identity reads before its next call of the model. An edit holds only for the text that the person saw.
package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/mind"
)

// Part is a text of a file that can be edited.
type Part struct {
	ID   string
	Text string // as the file has it
	Left bool   // the file no longer has it
	File string // all of the file

	path  string
	whole bool // the part is the file
	looks fs.FileInfo
}

// Seen names the text that a form was made with.
func (p *Part) Seen() string { return blobs.Sum([]byte(p.Text)).String()[:32] }

// read reads the file of a part, and how it looks. A missing one is empty.
func (p *Part) read() error {
	p.looks, _ = os.Lstat(p.path) // before it is read: what changes meanwhile is seen to have
	file, _, err := durable.ReadRegular(p.path, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		p.looks, err = nil, nil
	}
	p.File = string(file)
	return err
}

// Whole returns a whole file as a part. A missing file is empty.
func Whole(id, path string) (*Part, error) {
	p := &Part{ID: id, path: path, whole: true}
	err := p.read()
	p.Text = p.File
	return p, err
}

// OfContext returns the part of a context.md with an id, or nil if nobody may edit such a part. Where the file is missing,
// it is made as the identity would write it.
func OfContext(id, path string, state *mind.State) (*Part, error) {
	first, _, _ := strings.Cut(strings.TrimSuffix(id, "-result"), "..")
	_, _, unknown := mind.ParseID(first)
	if unknown != nil && id != "pins" {
		return nil, nil
	}
	p := &Part{ID: id, path: path, Left: true}
	err := p.read()
	if p.looks == nil {
		p.File = string(state.View())
	}
	if _, whole := mind.ReadView([]byte(p.File)); !whole {
		return p, err
	}
	for _, sec := range mind.Sections(p.File) {
		if sec.ID == id {
			p.Text, p.Left = sec.Text, false
		}
	}
	return p, err
}

// IsWhole reports whether the part is all of its file.
func (p *Part) IsWhole() bool { return p.whole }

// With returns the file with another text of the part.
func (p *Part) With(text string) string {
	if p.whole {
		return text
	}
	text = strings.ReplaceAll("\n"+text, "\n◆", "\n◰4")[1:] // it may not begin a section
	return mind.Rewrite(p.File, func(sec *mind.Section) bool {
		if sec.ID == p.ID {
			sec.Text = text
		}
		return true
	})
}

// Without returns the file without an entry and its calls, without a result, or without the text of a summary.
func (p *Part) Without() string {
	if strings.Contains(p.ID, "..") {
		return p.With("")
	}
	return mind.Rewrite(p.File, func(sec *mind.Section) bool {
		return sec.ID != p.ID && !strings.HasPrefix(sec.ID, p.ID+".")
	})
}

// Save puts a text into the place of the file, unless that is another by now.
func (p *Part) Save(text string) (saved bool, err error) {
	now, err := durable.Swap(p.path, []byte(text), 0o600, func(there fs.FileInfo) bool {
		isNew := there == nil && p.looks == nil
		return isNew || durable.Unchanged(p.looks, there)
	})
	synced := durable.SyncDir(filepath.Dir(p.path)) // a swap that failed can have happened
	if err == nil {
		err = synced
	}
	if err != nil {
		err = fmt.Errorf("save %s: %w", p.path, err)
	}
	return now != nil, err
}
