package prompt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/mind"
)

// maxRules bounds what all layers show together, in bytes; less where the limit is small.
const maxRules = 32 << 10

// maxLayer bounds what is read of one file of rules, in bytes.
const maxLayer = 256 << 10

// ruleNames are the names of files with rules for agents. The first that a directory has counts.
var ruleNames = []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"}

// Layer is a directory that may have rules for agents, in a file with one of ruleNames.
type Layer struct {
	Dir string // absolute
	Of  string // how people call it: the workspace

	looked durable.Look // the directory as it was
	file   durable.Look // the file
	name   string       // of the file; "" without a file
	text   []byte
}

// read brings the text of the layer up to date. Where nothing has changed it costs a look at the directory, and one at
// the file that is there.
func (l *Layer) read() {
	dir := durable.LookAt(l.Dir)
	if dir.FileInfo == nil {
		l.name = ""
	} else if !l.looked.Same(dir) {
		l.file, l.name = durable.Look{}, ""
		for _, name := range ruleNames {
			if fi, err := os.Stat(filepath.Join(l.Dir, name)); err == nil && fi.Mode().IsRegular() {
				l.name = name
				break
			}
		}
	}
	l.looked = dir
	if l.name == "" {
		l.text = nil
		return
	}
	if file := durable.LookAt(filepath.Join(l.Dir, l.name)); !l.file.Same(file) {
		l.file, l.text = file, readInside(l.Dir, l.name)
	}
}

// readInside reads the beginning of a file of a directory, which may be a link to another one in there. What is no
// file, such as a pipe, or cannot be read, is empty.
func readInside(dir, name string) []byte {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(file, maxLayer))
	return bytes.TrimSpace(text)
}

// gist names the text of a layer.
func (l *Layer) gist() string { return l.name + " of " + l.Of }

// version identifies the text of a layer in LIFE.
func (l *Layer) version() mind.Text {
	return mind.Text{Name: "layer/" + mind.Digest([]byte(l.Dir)), Body: l.text}
}

const rulesHead = `# Rules of the people here

Files that people wrote for agents who work here. What a user says in a room comes before them, and a later
file before an earlier one.`

// rules renders the layers within so many bytes, and returns the versions that it states. The least specific layer, which comes first, is cut first.
func (r *Reader) rules(most int) (string, []mind.Text, error) {
	var sections []string
	var versions []mind.Text
	most = min(most, maxRules)
	all := most
	for _, l := range slices.Backward(r.Layers) {
		l.read()
		if len(l.text) == 0 {
			continue
		}
		ref, err := r.put(l.gist(), string(l.text))
		if err != nil {
			return "", nil, err
		}
		section := fmt.Sprintf("## %s\n\n%s", ref, mind.Outside(clipped(l.text, most)))
		if most < len(l.text) {
			section += fmt.Sprintf("\n(Cut here, since rules have at most %d bytes together: its ref opens all of it.)", all)
		}
		most = max(0, most-len(l.text))
		sections, versions = append(sections, section), append(versions, l.version())
	}
	if len(sections) == 0 {
		return "", nil, nil
	}
	slices.Reverse(sections)
	return rulesHead + "\n\n" + strings.Join(sections, "\n\n"), versions, nil
}

// clipped is the beginning of a text, of whole characters.
func clipped(text []byte, most int) string {
	return strings.ToValidUTF8(string(text[:min(most, len(text))]), "")
}

// worksWith are the tools whose file has a path.
var worksWith = []string{"READ_FILE", "WRITE_FILE", "EDIT_FILE"}

// nearest returns the layers that are nearest to files that the newest reply has worked with, below its roots.
func (r *Reader) nearest(s *mind.State) (found []*Layer) {
	reply := s.Unit()
	if reply == nil {
		return nil
	}
	for _, c := range reply.Calls {
		path := strings.TrimSpace(c.Arg("path"))
		isOwn := strings.HasPrefix(path, "self/") || strings.HasPrefix(path, "rooms/")
		if isOwn || !slices.Contains(worksWith, c.Tool) {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.Roots[0], path)
		}
		if l := r.above(path); l != nil {
			found = append(found, l)
		}
	}
	return found
}

// above returns the layer of the nearest directory above a file that has rules, if it lies below a root; or nil.
func (r *Reader) above(path string) *Layer {
	i := slices.IndexFunc(r.Roots, func(root string) bool { return sandbox.Within(path, root) })
	if i < 0 {
		return nil
	}
	root := r.Roots[i]
	isLayer := func(dir string) bool {
		return slices.ContainsFunc(r.Layers, func(l *Layer) bool { return l.Dir == dir })
	}
	for dir := filepath.Dir(path); sandbox.Within(dir, root) && !isLayer(dir); dir = filepath.Dir(dir) {
		if !leadsInside(dir, root) {
			continue
		}
		rel, _ := filepath.Rel(r.Roots[0], dir)
		l := &Layer{Dir: dir, Of: rel}
		if l.read(); l.text != nil {
			return l
		}
	}
	return nil
}

// leadsInside reports whether a directory is below a root, links followed.
func leadsInside(dir, root string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && sandbox.Within(real, root)
}
