package lives

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"lethe/blobs"
	"lethe/internal/durable"
)

// workspace is the workspace of an identity. It is stored when a turn ends, at each epoch and at a stop: new files as
// large texts, and a list of all in workspace.list. Files that git ignores are left out, and so are links.
type workspace struct {
	dir  string
	most int64 // bytes; 0: it is not stored

	scanning sync.Mutex               // held over a scan, and over a change of workspace.list
	seen     map[string]seen          // by name
	left     atomic.Pointer[[]string] // names of files that the store lacks, as of the last scan, at most mostLeft
}

// seen is a file as it was read: a file that looks the same is not read again.
type seen struct {
	size  int64
	at    time.Time
	inode uint64
	hash  blobs.Hash
}

// settled is the age of a file that looks changed after each change: clocks of file systems are coarse.
const settled = 2 * time.Second

// mostLeft bounds the names of files that are not stored.
const mostLeft = 100

// scan looks at the workspace as it is now. With put it stores files that the list before does not name, and returns
// the lines of workspace.list; without, it looks which these are. It notes the names of all that is not stored.
func (w *workspace) scan(before []byte, put func(blobs.Hash, []byte) error) (lines []byte, err error) {
	root, err := os.OpenRoot(w.dir)
	if os.IsNotExist(err) {
		w.left.Store(nil)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer root.Close()
	look := &scan{workspace: w, root: root, put: put, room: w.most, known: map[blobs.Hash]bool{}, now: map[string]seen{}}
	for _, file := range parseList(before) {
		look.known[file.hash] = true
	}
	err = fs.WalkDir(root.FS(), ".", look.visit)
	if err == nil {
		w.seen = look.now
		w.left.Store(&look.left)
	}
	return look.lines.Bytes(), err
}

// scan is one scan of a workspace.
type scan struct {
	*workspace
	root  *os.Root
	put   func(blobs.Hash, []byte) error
	room  int64 // bytes that may yet be stored
	known map[blobs.Hash]bool
	rules map[string][]rule // by directory
	now   map[string]seen
	lines bytes.Buffer
	left  []string
}

// lacks notes that a file is not stored.
func (s *scan) lacks(name string) {
	if len(s.left) == mostLeft {
		s.left[mostLeft-1] = "and others"
	} else if listable(name) {
		s.left = append(s.left, name)
	}
}

func (s *scan) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil && name == ".":
		return err
	case os.IsNotExist(err): // it went meanwhile
		return nil
	case err != nil:
		s.lacks(name + "/")
		return fs.SkipDir
	case name != "." && ignored(s.rules, name, d.IsDir()):
		if d.IsDir() {
			s.lacks(name + "/")
			return fs.SkipDir
		}
		s.lacks(name)
		return nil
	case d.IsDir():
		if text, err := read(s.root, path.Join(name, ".gitignore"), mostRules); err == nil {
			if s.rules == nil {
				s.rules = map[string][]rule{}
			}
			s.rules[name] = rulesOf(string(text))
		}
		return nil
	case !d.Type().IsRegular() || !listable(name):
		s.lacks(name)
		return nil
	}
	return s.file(name)
}

// file stores a file unless it is stored. A file that has no room or cannot be read is noted.
func (s *scan) file(name string) error {
	info, err := s.root.Stat(name)
	if os.IsNotExist(err) {
		return nil // it went meanwhile
	}
	isLarge := err == nil && info.Size() > s.room
	if err != nil || isLarge || !info.Mode().IsRegular() {
		s.lacks(name)
		return nil
	}
	at := seen{size: info.Size(), at: info.ModTime(), inode: info.Sys().(*syscall.Stat_t).Ino}
	was := s.seen[name]
	at.hash = was.hash
	var data []byte
	if was != at || !s.known[at.hash] {
		if data, err = read(s.root, name, s.room); err != nil {
			s.lacks(name)
			return nil
		}
		at.hash = blobs.Sum(data)
	}
	if time.Since(at.at) > settled {
		s.now[name] = at
	}
	if !s.known[at.hash] {
		if s.put == nil {
			s.lacks(name)
			return nil
		}
		if err := s.put(at.hash, data); err != nil {
			return err
		}
		s.known[at.hash] = true
	}
	s.room -= at.size
	fmt.Fprintf(&s.lines, "%s %o %s\n", at.hash, info.Mode().Perm()&0o700, name)
	return nil
}

// mostRules bounds a .gitignore that is heeded, in bytes.
const mostRules = 1 << 20

// read reads a file of at most so many bytes. It does not wait for a pipe, which a command may have put there.
func read(root *os.Root, name string, most int64) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", name, most)
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// lacking returns the names of files that the store lacks, as of the last scan.
func (w *workspace) lacking() []string {
	if left := w.left.Load(); left != nil {
		return *left
	}
	return nil
}

// missing returns the unstored files that are not here, or stand here as an older list has them.
func (w *workspace) missing(left []string, list []byte) (out []string) {
	files := parseList(list)
	for _, name := range left {
		_, isOlder := files[name]
		_, err := os.Lstat(filepath.Join(w.dir, name))
		if isOlder {
			out = append(out, name+" (an older version is here)")
		} else if err != nil {
			out = append(out, name)
		}
	}
	return out
}

// rule is a line of a .gitignore.
type rule struct {
	glob    string // of a path below the directory of the .gitignore
	keeps   bool   // it begins with "!"
	dirOnly bool   // it ends with "/"
}

// plainBraces escapes braces, which are alternatives for doublestar and plain characters for git.
var plainBraces = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`)

// rulesOf reads a .gitignore, as gitignore(5) tells.
func rulesOf(text string) []rule {
	var rules []rule
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		glob, keeps := strings.CutPrefix(line, "!")
		glob, dirOnly := strings.CutSuffix(glob, "/")
		if !strings.Contains(glob, "/") {
			glob = "**/" + glob
		}
		if strings.HasSuffix(glob, "/**") {
			glob += "/*" // all below a directory, and not itself
		}
		glob = plainBraces.Replace(strings.TrimPrefix(glob, "/"))
		rules = append(rules, rule{glob, keeps, dirOnly})
	}
	return rules
}

// ignored reports whether git would ignore a file whose directory it does not ignore: the last rule that fits decides,
// of the nearest .gitignore that has one.
func ignored(rules map[string][]rule, name string, dir bool) bool {
	for above := path.Dir(name); ; above = path.Dir(above) {
		below := strings.TrimPrefix(name, above+"/")
		for _, r := range slices.Backward(rules[above]) {
			if fits, _ := doublestar.Match(r.glob, below); fits && (dir || !r.dirOnly) {
				return !r.keeps
			}
		}
		if above == "." {
			return false
		}
	}
}

// listable reports whether a file can have a line in workspace.list.
func listable(name string) bool { return filepath.IsLocal(name) && !strings.ContainsAny(name, "\n\r") }

// restored names a file in a workspace until it is whole.
const restored = ".lethe-restored"

// restore brings the files of a list into the workspace, and removes stale ones, unless they were changed here. Files
// that were not stored are kept. Where one file fails, the others are restored.
func (w *workspace) restore(list []byte, stale map[string]bool, get func(blobs.Hash) ([]byte, error)) error {
	if err := durable.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := parseList(list)
	for old := range stale {
		_, name, _ := strings.Cut(old, " ")
		if _, stays := files[name]; !stays && hashIn(root, name).as(name) == old {
			_ = root.Remove(name)
		}
	}
	for name, now := range files {
		here := hashIn(root, name)
		if here.hash == now.hash {
			continue
		}
		text, ferr := get(now.hash)
		if ferr == nil && blobs.Sum(text) != now.hash {
			ferr = errors.New("it is another text")
		}
		if ferr == nil {
			ferr = makeWay(root, name, stale[here.as(name)])
		}
		if ferr == nil {
			ferr = place(root, name, text, now.mode)
		}
		if ferr != nil {
			err = errors.Join(err, fmt.Errorf("restore %s in the workspace: %w", name, ferr))
		}
	}
	return err
}

// hashIn returns the hash of a file in a workspace, zero where there is no regular one.
func hashIn(root *os.Root, name string) (l listed) {
	if fi, err := root.Lstat(name); err == nil && fi.Mode().IsRegular() {
		if text, err := root.ReadFile(name); err == nil {
			l.hash = blobs.Sum(text)
		}
	}
	return l
}

// makeWay renames what is in the way of a file: one of its name, unless that is stored, and above it all but
// directories.
func makeWay(root *os.Root, name string, isStored bool) error {
	for at := name; at != "."; at = path.Dir(at) {
		fi, err := root.Lstat(at)
		if err != nil {
			continue // nothing is there
		}
		stays := fi.IsDir()
		if at == name {
			stays = isStored
		}
		if stays {
			continue
		}
		aside := at + ".here"
		for _, err := root.Lstat(aside); err == nil; _, err = root.Lstat(aside) {
			aside += ".here"
		}
		if err := root.Rename(at, aside); err != nil {
			return err
		}
	}
	return nil
}

// place writes a file of a workspace, whole or not at all.
func place(root *os.Root, name string, text []byte, mode fs.FileMode) error {
	_ = root.Remove(restored)
	f, err := root.OpenFile(restored, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.MkdirAll(path.Dir(name), 0o700)
	}
	if err == nil {
		err = root.Rename(restored, name)
	}
	return err
}

type listed struct {
	hash blobs.Hash
	mode fs.FileMode
}

// as returns the file as position.Stale names it.
func (l listed) as(name string) string { return l.hash.String() + " " + name }

func (c *Tenure) listFile() string { return filepath.Join(c.id.Dir, workspaceFile) }

// listed returns the files that the list here names.
func (c *Tenure) listed() map[string]listed {
	list, _, _ := durable.ReadRegular(c.listFile(), math.MaxInt32)
	return parseList(list)
}

func parseList(text []byte) map[string]listed {
	out := map[string]listed{}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(words) < 3 || !listable(words[2]) {
			continue
		}
		hash, err := blobs.ParseHash(words[0])
		var mode fs.FileMode
		if _, merr := fmt.Sscanf(words[1], "%o", &mode); err == nil && merr == nil {
			out[words[2]] = listed{hash, mode & 0o700}
		}
	}
	return out
}
