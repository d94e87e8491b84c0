package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

const (
	// spoolDir is where whole outputs are kept, inside the workspace so that
	// READ_FILE and commands reach them.
	spoolDir = ".output"
	// maxSpool bounds one output; a command that writes more is killed.
	maxSpool = 1 << 30
	// maxSpools bounds all kept outputs together; the oldest go first.
	maxSpools = 4 << 30
)

var errTooMuch = errors.New("too much output")

// spool takes the output of one command. It holds about bound bytes: when there
// are more, the first and last halves of bound, and all of it in a file.
type spool struct {
	bound   int64
	most    int64  // maxSpool, less in tests
	tooMuch func() // told when the command writes more than most
	keep    func() (*os.File, error)

	head  []byte // the first bound bytes
	tail  []byte // the last of those after head, at least half of bound
	total int64

	file    *os.File
	fileErr error // why the file is missing or incomplete
}

// Write never fails but with errTooMuch, which is meant to end the command.
func (s *spool) Write(b []byte) (int, error) {
	if s.total+int64(len(b)) > s.most {
		s.tooMuch()
		return 0, errTooMuch
	}
	if s.file == nil && s.fileErr == nil && s.total+int64(len(b)) > s.bound {
		if s.file, s.fileErr = s.keep(); s.fileErr == nil {
			_, s.fileErr = s.file.Write(s.head)
		}
	}
	if s.file != nil && s.fileErr == nil {
		_, s.fileErr = s.file.Write(b)
	}
	s.total += int64(len(b))
	n := min(len(b), int(s.bound)-len(s.head))
	s.head = append(s.head, b[:n]...)
	s.tail = append(s.tail, b[n:]...)
	if half := int(s.bound / 2); len(s.tail) > 4*half {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-half:]...)
	}
	return len(b), nil
}

// result returns what is shown: all, or beginning and end around a line that says
// where all of it is.
func (s *spool) result(name string) []byte {
	if s.file != nil {
		if err := s.file.Close(); s.fileErr == nil {
			s.fileErr = err
		}
	}
	if s.total <= s.bound {
		return s.head
	}
	half := int(s.bound / 2)
	tail := append(slices.Clone(s.head[half:]), s.tail...)
	tail = tail[len(tail)-half:]
	missing := s.total - 2*int64(half)
	where := fmt.Sprintf("the whole output is in %s: READ_FILE it or search it with BASH", name)
	if s.fileErr != nil {
		where = fmt.Sprintf("it could not be kept in %s: %v. Run it again with its output filtered", name, s.fileErr)
	}
	body := fmt.Appendf(s.head[:half:half], "\n[… %d bytes (%s) of %s left out here; %s …]\n", missing, sizeText(missing), sizeText(s.total), where)
	return append(body, tail...)
}

// spoolName is the path, in the workspace, of the output of a call.
func spoolName(call string) string { return path.Join(spoolDir, cmp.Or(call, "output")+".txt") }

// openSpool makes the file for an output, inside the workspace whatever a
// command has put there, and makes room for it.
func (f *files) openSpool(name string) (*os.File, error) {
	p, err := f.relative(name)
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
	return root.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, fi := range all {
		if sum <= maxSpools-maxSpool {
			return
		}
		if root.Remove(path.Join(dir, fi.Name())) == nil {
			sum -= fi.Size()
		}
	}
}
