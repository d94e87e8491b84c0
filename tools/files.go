package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"lethe/internal/durable"
)

// files is the part of the disk that the file tools can see. It holds no open
// handles: a root is opened for each call and closed after it.
type files struct {
	roots    []string // outermost directories of workspace and extra roots, resolved
	work     string   // the workspace, inside one of roots
	agentDir string
	chatsDir string
	rooms    Rooms
	past     Past
	checks   func(name, content string) (remark string, err error) // of a trigger: see Config.CheckTrigger
	jobs     *jobs                                                 // nil where BASH is off
	times    func() string                                         // see Config.Times
	weight   func(text string) int                                 // see Config.Weight
}

// The identity's own files, and whether the agent may write them.
var ownFiles = []struct {
	name     string
	writable bool
}{
	{"MEMORY.md", true},
	{"SEGMENT.md", true},
	{"SUMMARISE.md", true},
	{"LIFE.md", false},
	{"context.md", false},
	{"SOUL.md", false},
}

func newFiles(c Config) *files {
	return &files{work: c.Workspace, agentDir: c.AgentDir, chatsDir: c.ChatsDir, rooms: c.Rooms, past: c.Past,
		checks: c.CheckTrigger, times: c.Times, weight: c.Weight,
		roots: outermost(append([]string{c.Workspace}, c.ExtraRoots...))}
}

// tools are READ_FILE, WRITE_FILE, EDIT_FILE and LIST.
func (f *files) tools() []Tool {
	return []Tool{
		runTool("READ_FILE", f.read),
		runTool("WRITE_FILE", f.write),
		runTool("EDIT_FILE", f.edit),
		runTool("LIST", f.list),
	}
}

// outermost leaves out directories that are inside others. A directory inside a
// root can be replaced by a symbolic link by anyone who may write to that root, so
// only the outer one is a safe place to start from.
func outermost(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		inner := slices.ContainsFunc(dirs, func(o string) bool { return o != d && within(d, o) })
		if !inner && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// place is where a path of the model leads: a name inside a directory that
// nothing under that name can leave.
type place struct {
	dir      string // to be opened as an os.Root
	name     string // slash-separated, relative to dir
	shown    string // what the model calls it
	own      string // name of an own file of the identity in its directory, else ""
	trigger  string // name of a trigger, else ""
	readOnly string // why it cannot be written, else ""
	stops    int    // the job that a write to it stops
}

// resolve finds the place of a path.
func (f *files) resolve(p string) (place, error) {
	p = strings.TrimSpace(p)
	head, rest, below := strings.Cut(p, "/")
	switch {
	case p == "":
		return place{}, errors.New("path is empty: name a file in the workspace, or \".\" for the workspace itself")
	case strings.ContainsRune(p, 0), len(p) > 4096:
		return place{}, fmt.Errorf("path %s has a zero byte, or more than 4096 bytes", quote(p))
	case strings.HasPrefix(p, "~"):
		return place{}, fmt.Errorf("path %s: ~ is not expanded. Use a path relative to the workspace", quote(p))
	case filepath.IsAbs(p):
		return f.absolute(p)
	case below && head == "self":
		return f.self(rest)
	case below && head == "rooms":
		return f.room(rest)
	}
	return f.relative(p)
}

// relative reads "a/../b" as "b", whatever a is.
func (f *files) relative(p string) (place, error) {
	if !filepath.IsLocal(p) {
		return place{}, fmt.Errorf("path %s leaves the workspace: %s", quote(p), f.whereAllowed())
	}
	pl, err := f.absolute(filepath.Join(f.work, p))
	pl.shown = p
	return pl, err
}

// absolute finds the root that p is in, also where p names it by a link that leads to it.
// That is no protection: what is found is opened inside of the root.
func (f *files) absolute(p string) (place, error) {
	for _, candidate := range []string{filepath.Clean(p), resolved(p)} {
		for _, r := range f.roots {
			if rel, err := filepath.Rel(r, candidate); err == nil && within(candidate, r) {
				return place{dir: r, name: filepath.ToSlash(rel), shown: p}, nil
			}
		}
	}
	return place{}, fmt.Errorf("path %s is outside of the workspace: %s", quote(p), f.whereAllowed())
}

func (f *files) whereAllowed() string {
	s := "paths are relative to the workspace " + f.work
	for _, r := range f.roots {
		if !within(f.work, r) {
			s += ", or under " + r
		}
	}
	return s + ", or self/<file>, or rooms/<room>.md"
}

func (f *files) self(name string) (place, error) {
	if pl, ok := f.triggerPlace(name); ok {
		return pl, nil
	}
	for _, o := range ownFiles {
		if !strings.EqualFold(name, o.name) {
			continue
		}
		pl := place{dir: f.agentDir, name: o.name, shown: "self/" + o.name, own: o.name}
		if !o.writable {
			pl.readOnly = "it can only be read; of your own files you may write self/MEMORY.md, self/SEGMENT.md, " +
				"self/SUMMARISE.md and self/triggers/NAME.toml"
		}
		return pl, nil
	}
	if pl, ok := f.jobFile(name); ok {
		return pl, nil
	}
	names := []string{"self/TRIGGERS.md", "self/triggers/NAME.toml"}
	for _, o := range ownFiles {
		names = append(names, "self/"+o.name)
	}
	return place{}, fmt.Errorf("no file self/%s: there are %s. A directory of the workspace that is called "+
		"self is ./self", clip(name, 80), strings.Join(names, ", "))
}

func (f *files) room(name string) (place, error) {
	room := strings.TrimSuffix(name, ".md")
	joined := f.joined()
	if !slices.Contains(joined, room) {
		return place{}, fmt.Errorf("room %s is not one of yours: %s. JOIN it first. A directory of the workspace "+
			"that is called rooms is ./rooms", quote(room), ListRooms(joined))
	}
	return place{dir: f.chatsDir, name: room + ".md", shown: "rooms/" + room + ".md",
		readOnly: "rooms can only be read; use SAY to write to one"}, nil
}

func (f *files) joined() []string {
	// A name that is not a room's could be a path.
	return slices.DeleteFunc(slices.Sorted(slices.Values(f.rooms.Joined())),
		func(r string) bool { return !roomName().MatchString(r) })
}

// open opens the regular file at p for reading. It cannot block: a fifo without a
// writer is opened all the same, and then refused.
func (p place) open() (*os.File, fs.FileInfo, error) {
	if p.room() {
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

// room says whether p is a room of the identity, which may be a link of its user's.
func (p place) room() bool { return strings.HasPrefix(p.shown, "rooms/") }

func regular(fi fs.FileInfo) error {
	switch m := fi.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errIsDir
	default:
		return fmt.Errorf("it is a %s; only regular files can be read and written", typeName(m))
	}
}

var errIsDir = errors.New("it is a directory: LIST it, or name a file in it")

// typeName names what is neither a regular file nor a directory.
func typeName(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	case fs.ModeSymlink:
		return "symbolic link"
	}
	return "device"
}

// explain turns an error of the file system into one that says what to try.
func (p place) explain(verb string, err error, root *os.Root) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: no such file or directory. %s", verb, p.shown, p.neighbours(root))
	case errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("%s %s: it is a socket; only regular files can be read and written", verb, p.shown)
	case strings.Contains(err.Error(), "path escapes from parent"):
		return fmt.Errorf("%s %s: refused: it leads outside of the workspace by .. or a symbolic link. Absolute "+
			"links are refused too, also when they lead inside", verb, p.shown)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok { // the names that stand before it are not the model's
		err = errno
	}
	return fmt.Errorf("%s %s: %w", verb, p.shown, err)
}

// neighbours helps after a wrong name: the most similar one in the directory,
// or the first part of the path that does not exist.
func (p place) neighbours(root *os.Root) string {
	if p.own != "" || p.room() {
		return "It has not been written yet"
	}
	dir, base := path.Split(path.Clean(p.name))
	names := namesIn(root, path.Clean("./"+dir))
	if len(names) == 0 {
		return "Its directory is missing or empty too: LIST a directory above it"
	}
	return fmt.Sprintf("Nearest name there: %s. LIST shows what there is", quote(names[nearest(base, names)]))
}

// namesIn returns up to 1000 names of a directory, or none.
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
