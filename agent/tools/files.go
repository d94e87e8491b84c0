package tools

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

const (
	guideName  = "TRIGGERS.md"
	triggerDir = "triggers"
	onlyRead   = "it can only be read; of your own files you may write self/MEMORY.md, self/SEGMENT.md, " +
		"self/SUMMARISE.md and self/triggers/NAME.toml"
	onlyStop = "of a job you may write only stop, which stops it"
)

// guide tells an identity all about triggers.
//
//go:embed TRIGGERS.md
var guide string

// ownFiles are patterns (path.Match) of the identity's own files, with the reason why they cannot be written, or "".
var ownFiles = []struct{ pattern, readOnly string }{
	{"MEMORY.md", ""}, {"SEGMENT.md", ""}, {"SUMMARISE.md", ""},
	{"LIFE.md", onlyRead}, {"context.md", onlyRead}, {"SOUL.md", onlyRead}, {guideName, onlyRead},
	{triggerDir, "a trigger is a file self/triggers/NAME.toml"}, {triggerDir + "/*.toml", ""},
	{jobsDir, onlyStop}, {jobsDir + "/*", onlyStop}, {jobsDir + "/*/command", onlyStop},
	{jobsDir + "/*/log", onlyStop}, {jobsDir + "/*/state.json", onlyStop}, {jobsDir + "/*/stop", ""},
}

// fileTools are READ_FILE, WRITE_FILE, EDIT_FILE and LIST.
func (s *Set) fileTools() []Tool {
	return []Tool{
		runTool("READ_FILE", s.read),
		newTool("WRITE_FILE", s.write),
		newTool("EDIT_FILE", s.edit),
		runTool("LIST", s.list),
	}
}

// outermost leaves out directories that are inside others. A directory inside a
// root can be replaced by a symbolic link by anyone who may write to that root, so
// only the outer one is a safe place to start from.
func outermost(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		inner := slices.ContainsFunc(dirs, func(o string) bool { return o != d && sandbox.Within(d, o) })
		if !inner && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// place is the end of a path of the model: a name inside a directory. No link
// under that name leads out of the directory.
type place struct {
	dir      string // to be opened as an os.Root
	name     string // slash-separated, relative to dir
	shown    string // what the model calls it
	own      string // name of a file of the identity in its directory, else ""
	readOnly string // why it cannot be written, else ""
}

// resolve finds the place of a path.
func (s *Set) resolve(p string) (place, error) {
	p = strings.TrimSpace(p)
	head, rest, below := strings.Cut(p, "/")
	switch {
	case p == "":
		return place{}, errors.New("path is empty: name a file in the workspace, or \".\" for the workspace itself")
	case len(p) > 4096:
		return place{}, fmt.Errorf("path %s has more than 4096 bytes", quote(p))
	case strings.HasPrefix(p, "~"):
		return place{}, fmt.Errorf("path %s: ~ is not expanded. Use a path relative to the workspace", quote(p))
	case filepath.IsAbs(p):
		return s.absolute(p)
	case below && head == "self":
		return s.self(rest)
	case below && head == "rooms":
		return s.room(rest)
	}
	return s.relative(p)
}

// relative reads "a/../b" as "b", whatever a is.
func (s *Set) relative(p string) (place, error) {
	if !filepath.IsLocal(p) {
		return place{}, fmt.Errorf("path %s leaves the workspace: %s", quote(p), s.whereAllowed())
	}
	pl, err := s.absolute(filepath.Join(s.Workspace, p))
	pl.shown = p
	return pl, err
}

// absolute finds the root that p is in, also where p names it by a link that leads to it.
// That is no protection: what is found is opened inside of the root.
func (s *Set) absolute(p string) (place, error) {
	for _, candidate := range []string{filepath.Clean(p), resolved(p)} {
		for n, r := range slices.Concat(s.roots, s.Read) {
			if rel, err := filepath.Rel(r, candidate); err == nil && sandbox.Within(candidate, r) {
				found := place{dir: r, name: filepath.ToSlash(rel), shown: p}
				if n >= len(s.roots) {
					found.readOnly = "it can only be read"
				}
				return found, nil
			}
		}
	}
	return place{}, fmt.Errorf("path %s is outside of the workspace: %s", quote(p), s.whereAllowed())
}

func (s *Set) whereAllowed() string {
	return "paths are relative to the workspace " + s.Workspace + s.extraRoots(", or under ") +
		", or self/<file>, or rooms/<room>.md"
}

// extraRoots lists the roots other than the workspace's, each behind a text.
func (s *Set) extraRoots(before string) (list string) {
	for _, r := range s.roots {
		if !sandbox.Within(s.Workspace, r) {
			list += before + r
		}
	}
	return list
}

// self finds an own file of the identity.
func (s *Set) self(name string) (place, error) {
	name = path.Clean(name)
	for _, o := range ownFiles {
		if strings.EqualFold(o.pattern, name) {
			name = o.pattern
		} else if ok, _ := path.Match(o.pattern, name); !ok {
			continue
		}
		return place{dir: s.AgentDir, name: name, shown: "self/" + name, own: name, readOnly: o.readOnly}, nil
	}
	return place{}, fmt.Errorf("no file self/%s: LIST self shows what there is, like self/MEMORY.md. A directory of the "+
		"workspace that is called self is ./self", clip(name, 80))
}

func (s *Set) room(name string) (place, error) {
	room := strings.TrimSuffix(name, ".md")
	joined := s.joined()
	if !slices.Contains(joined, room) {
		return place{}, fmt.Errorf("room %s is not one of yours: %s. JOIN it first. A directory of the workspace "+
			"that is called rooms is ./rooms", quote(room), ListRooms(joined))
	}
	return place{dir: s.ChatsDir, name: room + ".md", shown: "rooms/" + room + ".md",
		readOnly: "rooms can only be read; use SAY to write to one"}, nil
}

func (s *Set) joined() []string {
	// A name that is not a room's could be a path.
	return slices.DeleteFunc(slices.Sorted(slices.Values(s.Rooms.Joined())),
		func(r string) bool { return !chat.ValidRoom(r) })
}

// open opens the regular file at p for reading. It cannot block: a fifo without a
// writer is opened all the same, and then refused.
func (p place) open() (*os.File, fs.FileInfo, error) {
	if p.isRoom() {
		file, fi, err := durable.OpenRegular(filepath.Join(p.dir, p.name), os.O_RDONLY, 0)
		if err != nil {
			err = p.explain("open", err, nil)
		}
		return file, fi, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", p.shown, err)
	}
	defer root.Close()
	file, err := root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, p.explain("open", err, root)
	}
	fi, err := file.Stat()
	if err == nil {
		err = regular(fi)
	}
	if err != nil {
		file.Close()
		return nil, nil, p.explain("open", err, root)
	}
	return file, fi, nil
}

// read reads the regular file at p, up to a byte more than most.
func (p place) read(most int) ([]byte, error) {
	file, _, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		err = fmt.Errorf("read %s: %w", p.shown, err)
	}
	return b, err
}

// isRoom says whether p is a room of the identity, which may be a link of its user's.
func (p place) isRoom() bool { return strings.HasPrefix(p.shown, "rooms/") }

func regular(fi fs.FileInfo) error {
	switch {
	case fi.IsDir():
		return errors.New("it is a directory: LIST it, or name a file in it")
	case !fi.Mode().IsRegular():
		return fmt.Errorf("only regular files can be read and written, and its mode is %v", fi.Mode())
	}
	return nil
}

// explain adds advice for the model to an error of the file system.
func (p place) explain(verb string, err error, root *os.Root) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: no such file or directory. %s", verb, p.shown, p.neighbours(root))
	case strings.Contains(err.Error(), "path escapes from parent"):
		return fmt.Errorf("%s %s: refused: it leads outside of the workspace by .. or a symbolic link. Absolute "+
			"links are refused too, also when they lead inside", verb, p.shown)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok { // the names that stand before it are not the model's
		err = errno
	}
	if conflict := (durable.Conflict{}); errors.As(err, &conflict) {
		err = conflict
	}
	return fmt.Errorf("%s %s: %w", verb, p.shown, err)
}

// neighbours helps after a wrong name: the most similar one in the directory,
// or the first part of the path that does not exist.
func (p place) neighbours(root *os.Root) string {
	if p.own != "" || p.isRoom() {
		return "It has not been written yet"
	}
	dir, base := path.Split(path.Clean(p.name))
	names := namesIn(root, path.Clean("./"+dir))
	if len(names) == 0 {
		return "Its directory is missing or empty too: LIST a directory above it"
	}
	return fmt.Sprintf("Nearest name there: %s. LIST shows what there is", quote(names[nearest(base, names)]))
}

// namesIn returns up to 1000 names of a directory; nil if it cannot be read.
func namesIn(root *os.Root, dir string) []string {
	d, err := openDir(root, dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(1000)
	slices.Sort(names)
	return names
}

// openDir opens a directory and nothing else.
func openDir(root *os.Root, dir string) (*os.File, error) {
	return root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// trigger is the name of the trigger that p is the file of, or "".
func (p place) trigger() string {
	if name, ok := strings.CutSuffix(p.own, ".toml"); ok {
		return path.Base(name)
	}
	return ""
}
