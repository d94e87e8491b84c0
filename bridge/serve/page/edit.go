package page

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/internal/durable"
	"lethe/mind"
)

// An edit is made where an editor would make it: in context.md or MEMORY.md, which the identity reads before
// its next call of the model. It holds only for the text that the person saw.

// part is a text of a file that can be edited.
type part struct {
	ID   string
	Text string // as the file has it
	Left bool   // the file no longer has it

	path  string
	file  string // all of it
	whole bool   // the part is the file
	looks fs.FileInfo
}

// Seen names the text that a form was made with.
func (p *part) Seen() string { return blobs.Sum([]byte(p.Text)).String()[:32] }

// read reads the file of a part, and how it looks. A missing one is empty.
func (p *part) read() error {
	p.looks, _ = os.Lstat(p.path) // before it is read: what changes meanwhile is seen to have
	file, _, err := durable.ReadRegular(p.path, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		p.looks, err = nil, nil
	}
	p.file = string(file)
	return err
}

// readAll makes all of a file the part.
func (p *part) readAll() error {
	err := p.read()
	p.Text, p.whole = p.file, true
	return err
}

// partOf returns the part of a file that a person may edit as a block, or nil: docs/context.md lists the editable
// parts. Where context.md is missing, it is made as the identity would write it.
func partOf(f *frame, s *mind.State, id string) (*part, error) {
	var err error
	first, _, _ := strings.Cut(strings.TrimSuffix(id, "-result"), "..")
	_, _, unknown := mind.ParseID(first)
	p := &part{ID: id, path: filepath.Join(f.ID.Dir, "context.md")}
	switch {
	case id == "memory":
		p.path = filepath.Join(f.ID.Dir, "MEMORY.md")
		return p, p.readAll()
	case strings.HasPrefix(id, triggerPart):
		if p.path, err = f.triggerFile(id[len(triggerPart):]); err == nil {
			err = p.readAll()
		}
		return p, err
	case unknown != nil && id != "pins":
		return nil, nil
	}
	err = p.read()
	if p.looks == nil {
		p.file = string(s.View())
	}
	p.Left = true
	if _, whole := mind.ReadView([]byte(p.file)); !whole {
		return p, err
	}
	for _, sec := range mind.Sections(p.file) {
		if sec.ID == id {
			p.Text, p.Left = sec.Text, false
		}
	}
	return p, err
}

// with returns the file with another text of the part.
func (p *part) with(text string) string {
	if p.whole {
		return text
	}
	text = strings.ReplaceAll("\n"+text, "\n◆", "\n◰4")[1:] // it may not begin a section
	return mind.Rewrite(p.file, func(sec *mind.Section) bool {
		if sec.ID == p.ID {
			sec.Text = text
		}
		return true
	})
}

// without returns the file without an entry and its calls, without a result, or without the text of a summary.
func (p *part) without() string {
	if strings.Contains(p.ID, "..") {
		return p.with("")
	}
	return mind.Rewrite(p.file, func(sec *mind.Section) bool {
		return sec.ID != p.ID && !strings.HasPrefix(sec.ID, p.ID+".")
	})
}

// save puts a text into the place of the file, unless that is another by now.
func (p *part) save(text string) (saved bool, err error) {
	now, err := durable.Swap(p.path, []byte(text), 0o600, func(there fs.FileInfo) bool {
		if there == nil || p.looks == nil {
			return there == nil && p.looks == nil
		}
		same := there.Size() == p.looks.Size() && there.ModTime().Equal(p.looks.ModTime())
		return same && os.SameFile(there, p.looks)
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

var lineEnds = strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD")

// edit saves the text that a person made of a part, if the part is still as they saw it.
func edit(f *frame, w http.ResponseWriter, r *http.Request) error {
	c, err := f.Context(f.ID)
	if err != nil {
		return err
	}
	s := c.State
	id, text := r.FormValue("part"), lineEnds.Replace(r.FormValue("text"))
	p, err := partOf(f, s, id)
	if err != nil {
		return err
	}
	if p == nil {
		return report.Invalid("%.40q cannot be edited; docs/context.md says what can", id)
	}
	if !p.Left && p.Seen() == r.FormValue("seen") {
		file := p.with(text)
		removable := !p.whole && id != "pins"
		if removable && r.FormValue("do") == "remove" {
			file = p.without()
		}
		saved, err := p.save(file)
		if err != nil {
			return err
		}
		if saved {
			return f.done(w, r, "?saved=1&open="+url.QueryEscape(id)+"#"+id)
		}
		if p, err = partOf(f, s, id); err != nil {
			return err
		}
	}
	f.Title = "Changed meanwhile"
	f.show(w, http.StatusConflict, conflict{Theirs: p, Yours: text, Name: r.FormValue("name")}, "")
	return nil
}
