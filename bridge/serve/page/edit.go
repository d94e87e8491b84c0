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
func partOf(page *frame, state *mind.State, id string) (*part, error) {
	var err error
	first, _, _ := strings.Cut(strings.TrimSuffix(id, "-result"), "..")
	_, _, unknown := mind.ParseID(first)
	edited := &part{ID: id, path: filepath.Join(page.ID.Dir, "context.md")}
	switch {
	case id == "memory":
		edited.path = filepath.Join(page.ID.Dir, "MEMORY.md")
		return edited, edited.readAll()
	case strings.HasPrefix(id, triggerPart):
		if edited.path, err = page.triggerFile(id[len(triggerPart):]); err == nil {
			err = edited.readAll()
		}
		return edited, err
	case unknown != nil && id != "pins":
		return nil, nil
	}
	err = edited.read()
	if edited.looks == nil {
		edited.file = string(state.View())
	}
	edited.Left = true
	if _, whole := mind.ReadView([]byte(edited.file)); !whole {
		return edited, err
	}
	for _, sec := range mind.Sections(edited.file) {
		if sec.ID == id {
			edited.Text, edited.Left = sec.Text, false
		}
	}
	return edited, err
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
func edit(page *frame, w http.ResponseWriter, r *http.Request) error {
	c, err := page.Context(page.ID)
	if err != nil {
		return err
	}
	state := c.State
	id, text := r.FormValue("part"), lineEnds.Replace(r.FormValue("text"))
	edited, err := partOf(page, state, id)
	if err != nil {
		return err
	}
	if edited == nil {
		return report.Invalid("%.40q cannot be edited; docs/context.md says what can", id)
	}
	if !edited.Left && edited.Seen() == r.FormValue("seen") {
		file := edited.with(text)
		removable := !edited.whole && id != "pins"
		if removable && r.FormValue("do") == "remove" {
			file = edited.without()
		}
		saved, err := edited.save(file)
		if err != nil {
			return err
		}
		if saved {
			return page.done(w, r, "?saved=1&open="+url.QueryEscape(id)+"#"+id)
		}
		if edited, err = partOf(page, state, id); err != nil {
			return err
		}
	}
	page.Title = "Changed meanwhile"
	page.show(w, http.StatusConflict, conflict{Theirs: edited, Yours: text, Name: r.FormValue("name")}, "")
	return nil
}
