package prompt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/tools/skills"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/mind"
)

// maxRules bounds what all layers show together, in bytes; less where the limit is small.
const maxRules = 32 << 10

// Layer is a directory that may have a file with rules for agents; see skills.RuleFile.
type Layer struct {
	Dir string // absolute
	Of  string // how people call it: the workspace

	looked durable.Look // the directory as it was
	file   durable.Look // the file
	name   string       // of the file; "" without a file
	text   []byte
	shared bool // identities write there: it states rules if people have allowed it as it is
	waits  bool // they have not
}

// read brings the text of a layer up to date. Where nothing has changed it costs a look at the directory, and one at
// the file that is there.
func (r *Reader) read(l *Layer) {
	dir := durable.LookAt(l.Dir)
	if dir.FileInfo == nil {
		l.name = ""
	} else if !l.looked.Same(dir) {
		l.file, l.name = durable.Look{}, skills.RuleFile(l.Dir)
	}
	l.looked = dir
	if l.name == "" {
		l.text, l.waits = nil, false
		return
	}
	if file := durable.LookAt(filepath.Join(l.Dir, l.name)); !l.file.Same(file) {
		l.file, l.text = file, skills.ReadRules(l.Dir, l.name)
	}
	l.shared = slices.ContainsFunc(r.Roots, func(root string) bool { return leadsInside(l.Dir, root) })
	l.waits = l.shared && !skills.Allowed(r.Home, l.Dir, l.name, l.text)
}

// gist names the text of a layer.
func (l *Layer) gist() string { return l.name + " of " + l.Of }

// version identifies the text of a layer in LIFE, and whether it counts.
func (l *Layer) version() mind.Text {
	version := mind.Text{Name: "layer/" + mind.Digest([]byte(l.Dir)), Body: l.text}
	if l.waits {
		version.Body = slices.Concat([]byte("not allowed\n"), l.text)
	}
	return version
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
		if r.read(l); len(l.text) == 0 || l.waits {
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
		if r.read(l); l.text != nil {
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
