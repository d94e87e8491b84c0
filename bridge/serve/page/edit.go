package page

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"lethe/agent"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/lazy"
	"lethe/mind"
	"lethe/report"
)

// An edit is made where an editor would make it: in context.md or MEMORY.md, which the identity reads before
// its next call of the model. It holds only for what the person saw.

// part is what can be edited of a file.
type part struct {
	ID   string
	Text string // as the file has it
	Gone bool   // the file has it no more

	path     string
	file     string // all of it
	from, to int    // the bytes of Text in it, with its newline
	looks    fs.FileInfo
}

// Seen names the text that a form was made with.
func (p *part) Seen() string { return blobs.Sum([]byte(p.Text)).String()[:32] }

// readContext reads context.md. Where it is missing, it is what the identity would write.
func readContext(id agent.Identity, s *mind.State) ([]byte, fs.FileInfo, error) {
	file, looks, err := readPart(filepath.Join(id.Dir, "context.md"))
	if looks == nil && err == nil {
		file = s.View()
	}
	return file, looks, err
}

// readPart reads a file, and how it looks; nothing where it is missing.
func readPart(path string) ([]byte, fs.FileInfo, error) {
	looks, _ := os.Lstat(path) // before it is read: what changes meanwhile is seen to have
	file, _, err := durable.ReadRegular(path, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return file, looks, err
}

// partOf returns what a person may edit of a block, or nil: what can be edited is in docs/context.md.
func partOf(f *frame, s *mind.State, id string) (*part, error) {
	if id == "memory" {
		path := filepath.Join(f.ID.Dir, "MEMORY.md")
		file, looks, err := readPart(path)
		return &part{ID: id, path: path, file: string(file), Text: string(file), to: len(file), looks: looks}, err
	}
	if _, _, err := mind.ParseID(strings.TrimSuffix(strings.Split(id, "..")[0], "-result")); err != nil && id != "pins" {
		return nil, nil
	}
	file, looks, err := readContext(f.ID, s)
	if err != nil {
		return nil, err
	}
	p := &part{ID: id, path: filepath.Join(f.ID.Dir, "context.md"), file: string(file), looks: looks, Gone: true}
	_, whole := mind.ReadView(file)
	for _, sec := range sections(p.file) {
		if whole && sec.id == id {
			p.Text, p.from, p.to, p.Gone = sec.text, sec.from, sec.to, false
		}
	}
	return p, nil
}

func (p *part) with(text string) string {
	if p.ID == "memory" {
		return text
	}
	if text = headLine().ReplaceAllString(text, "◰4"); text != "" { // it may not begin a section
		text += "\n"
	}
	return p.file[:p.from] + text + p.file[p.to:]
}

var headLine = lazy.Regexp(`(?m)^◆`)

// without returns the file without an entry or a result, and of what has faded without its summary.
func (p *part) without() string {
	if strings.Contains(p.ID, "..") {
		return p.with("")
	}
	file := p.file
	list := sections(file)
	for i := len(list) - 1; i >= 0; i-- {
		if sec := list[i]; sec.id == p.ID || strings.HasPrefix(sec.id, p.ID+".") {
			file = file[:strings.LastIndex(file[:sec.from-1], "\n")+1] + file[sec.to:]
		}
	}
	return file
}

// conflicting shows both versions where the text is another than the person saw.
var conflicting = sync.OnceValue(func() *template.Template { return parse("conflict") })

// edit saves what a person made of a part, if it is what they saw.
func edit(f *frame, w http.ResponseWriter, r *http.Request) error {
	s, _, err := f.Context(f.ID)
	if err != nil {
		return err
	}
	id, text := r.FormValue("part"), strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD").Replace(r.FormValue("text"))
	p, err := partOf(f, s, id)
	if err != nil {
		return err
	}
	if p == nil {
		return report.Invalid("%.40q cannot be edited; docs/context.md says what can", id)
	}
	if !p.Gone && p.Seen() == r.FormValue("seen") {
		file := p.with(text)
		if r.FormValue("do") == "remove" && id != "memory" && id != "pins" {
			file = p.without()
		}
		done, err := durable.Swap(p.path, []byte(file), 0o600, func(there fs.FileInfo) bool {
			return there == nil && p.looks == nil || there != nil && p.looks != nil && os.SameFile(there, p.looks) && there.Size() == p.looks.Size() && there.ModTime().Equal(p.looks.ModTime())
		})
		if err := cmp.Or(err, durable.SyncDir(f.ID.Dir)); err != nil {
			return fmt.Errorf("save %s: %w", p.path, err)
		}
		if done != nil {
			return f.done(w, r, "?saved=1&open="+url.QueryEscape(id)+"#"+id)
		}
		if p, err = partOf(f, s, id); err != nil {
			return err
		}
	}
	f.Title, f.Data = "Changed meanwhile", map[string]any{"Theirs": p, "Yours": text}
	return f.show(w, http.StatusConflict, conflicting(), "")
}
