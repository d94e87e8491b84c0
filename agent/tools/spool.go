package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"lethe/internal/secret"
	"lethe/internal/secret/shape"
)

const (
	// spoolDir is the directory of whole outputs, inside the workspace so that
	// READ_FILE and commands reach them.
	spoolDir = ".output"
	// maxSpool bounds one output; a command that writes more is killed.
	maxSpool = 128 << 20
	// maxSpools bounds all kept outputs together; the oldest go first.
	maxSpools = 4 << 30
)

var errTooMuch = errors.New("too much output")

// spool takes the output of one command, without secrets, line by line. It holds
// about bound bytes: when there are more, the first and last halves of bound, and all of it
// in a file.
type spool struct {
	bound   int64
	tooMuch func()       // told when the command writes more than maxSpool
	live    func([]byte) // for screens; may be nil

	mu    sync.Mutex // guards all that follows
	keep  func() (*os.File, error)
	name  string // of the file, as the model opens it
	held  string // the newest output, when it may be the beginning of a secret
	head  []byte // the first bound bytes
	tail  []byte // the last of those after head, at least half of bound
	total int64

	file    *os.File
	fileErr error // why the file is missing or incomplete
	over    bool  // nothing more comes
}

// spool begins the output of a command, which may be kept in a file of that name.
func (s *Set) spool(name string, bound int64, tooMuch func()) *spool {
	keep := func() (*os.File, error) { return s.openSpool(name) }
	return &spool{bound: bound, tooMuch: tooMuch, name: name, keep: keep}
}

// Write never fails but with errTooMuch, which is meant to end the command.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.held + string(b)
	text := secret.Begun(all)
	text = text[:shape.Begun(text)]
	s.held = all[len(text):]
	return len(b), s.add([]byte(shape.Text(text)))
}

func (s *spool) add(b []byte) error {
	if s.total+int64(len(b)) > maxSpool {
		s.tooMuch()
		return errTooMuch
	}
	untried := s.file == nil && s.fileErr == nil
	if untried && s.total+int64(len(b)) > s.bound {
		s.file, s.fileErr = s.keep()
		s.write(s.head)
	}
	s.write(b)
	if s.live != nil && len(b) > 0 {
		s.live(b)
	}
	s.total += int64(len(b))
	n := min(len(b), int(s.bound)-len(s.head))
	s.head = append(s.head, b[:n]...)
	s.tail = append(s.tail, b[n:]...)
	if half := int(s.bound / 2); len(s.tail) > 4*half {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-half:]...)
	}
	return nil
}

func (s *spool) write(b []byte) {
	if s.file != nil && s.fileErr == nil {
		_, s.fileErr = s.file.Write(b)
	}
}

// move has file hold all of the output, also what has come so far, and closes it at the end. An error means that the
// output has ended.
func (s *spool) move(file *os.File, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errors.Join(errors.New("it has ended"), file.Close())
	}
	was := s.file
	s.file, s.name = file, name
	if was == nil {
		s.write(s.head)
		return nil
	}
	_, err := was.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(file, was)
	}
	s.failed(err)
	s.failed(was.Close())
	return nil
}

// failed keeps the first error of the file.
func (s *spool) failed(err error) {
	if s.fileErr == nil {
		s.fileErr = err
	}
}

// close ends the output: the text that was held back was not the beginning of a secret.
// The file also gets a last line; the result does not.
func (s *spool) close(last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.add([]byte(shape.Text(s.held)))
	s.held, s.over = "", true
	if s.file != nil {
		s.write([]byte(last))
		s.failed(s.file.Close())
	}
}

// result returns what is shown: all, or beginning and end around a line that says
// where all of it is.
func (s *spool) result() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total <= s.bound {
		return slices.Clone(s.head)
	}
	half := int(s.bound / 2)
	tail := append(slices.Clone(s.head[half:]), s.tail...)
	tail = tail[len(tail)-half:]
	missing := s.total - 2*int64(half)
	where := fmt.Sprintf("the whole output is in %s: READ_FILE it", s.name)
	if !strings.HasPrefix(s.name, "self/") {
		where += " or search it with BASH"
	}
	if s.fileErr != nil {
		where = fmt.Sprintf("it could not be kept in %s: %v. Run it again with its output filtered", s.name, s.fileErr)
	}
	body := fmt.Appendf(s.head[:half:half], "\n[… %d bytes (%s) of %s left out here; "+
		"%s …]\n", missing, sizeText(missing), sizeText(s.total), where)
	return append(body, tail...)
}

// spoolName is the path, in the workspace, of the output of a call.
func spoolName(call string) string { return path.Join(spoolDir, cmp.Or(call, "output")+".txt") }

// openSpool makes the file for an output, inside the workspace whatever a
// command has put there, and makes room for it.
func (s *Set) openSpool(name string) (*os.File, error) {
	p, err := s.relative(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := path.Dir(p.name)
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	prune(root, dir)
	if err := root.Remove(p.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return root.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// prune removes the oldest outputs until a new one fits in maxSpools. What it
// cannot remove it leaves.
func prune(root *os.Root, dir string) {
	var all []fs.FileInfo
	var sum int64
	for _, name := range namesIn(root, dir) {
		if fi, err := root.Lstat(path.Join(dir, name)); err == nil && fi.Mode().IsRegular() {
			all = append(all, fi)
			sum += fi.Size()
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].ModTime().Before(all[j].ModTime()) })
	for _, fi := range all {
		if sum <= maxSpools-maxSpool {
			return
		}
		if root.Remove(path.Join(dir, fi.Name())) == nil {
			sum -= fi.Size()
		}
	}
}
