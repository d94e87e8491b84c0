package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"lethe/internal/durable"
)

// memoryRunes bounds the part of MEMORY.md in the prompt, in characters.
const memoryRunes = 4000

type writeArgs struct {
	Path    string `json:"path" about:"relative to the workspace, or self/…"`
	Content string `json:"content"`
}

func (s *Set) write(_ context.Context, _ Call, a writeArgs) (Result, error) {
	p, err := s.resolve(a.Path)
	if err != nil {
		return Result{}, err
	}
	if dir, ok := strings.CutSuffix(p.own, "/stop"); ok {
		job, _ := strconv.Atoi(path.Base(dir))
		return textf("job %d is being stopped. A line tells its end", job), s.StopJob(job, "by you")
	}
	done, remark, err := s.put(p, a.Content)
	if err != nil {
		return Result{}, err
	}
	r := textf("%s %s: %d bytes, %d lines%s", done, p.shown, len(a.Content), lineCount(a.Content), remark)
	r.Touched = p.own
	return r, nil
}

// put makes content the whole of the file at p. done is a verb in the past; remark is more
// for the model. A trigger is checked before; a blank one is removed.
func (s *Set) put(p place, content string) (done, remark string, err error) {
	remark = p.warning(content)
	if name := p.trigger(); name != "" {
		if remark, err = s.CheckTrigger(name, content); err != nil {
			return "", "", fmt.Errorf("write %s: refused: %w", p.shown, err)
		}
		if strings.TrimSpace(content) == "" {
			return "removed", "", durable.Remove(filepath.Join(p.dir, p.name))
		}
		remark = "\n" + remark
	}
	done = "replaced"
	fresh, err := p.replace([]byte(content))
	if fresh {
		done = "made"
	}
	return done, remark, err
}

// warning returns a remark if the end of an own file stays out of the prompt.
func (p place) warning(content string) string {
	n := utf8.RuneCountInString(content)
	if p.own != "MEMORY.md" || n <= memoryRunes {
		return ""
	}
	return fmt.Sprintf("\nwarning: it is %d characters long and only the first %d go into your prompt. Shorten "+
		"it: what must be remembered first, details into a file of the workspace", n, memoryRunes)
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// replace makes content the whole of the file at p, atomically and durably: a
// reader finds the old file or the new one. Missing directories are made and
// the mode of an existing file is kept. A link is not followed.
func (p place) replace(content []byte) (fresh bool, err error) {
	if p.readOnly != "" {
		return false, fmt.Errorf("write %s: refused: %s", p.shown, p.readOnly)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", p.shown, err)
	}
	defer root.Close()
	mode, fresh, err := p.target(root)
	if err != nil {
		return false, p.explain("write", err, root)
	}
	dir, base := path.Split(p.name)
	dir = path.Clean(dir)
	if fresh {
		if err := makeDirs(root, dir, p.own != ""); err != nil {
			return false, p.explain("make the directory of", err, root)
		}
	}
	// From here on the directory is held open: a link that takes its place
	// cannot send the temporary file and the rename to two directories.
	held, err := root.OpenRoot(dir)
	if err != nil {
		return false, p.explain("write", err, root)
	}
	defer held.Close()
	if err := durable.WriteFileIn(held, base, content, mode); err != nil {
		return false, p.explain("write", err, root)
	}
	return fresh, nil
}

// target is the mode that a write to p gives its file (0 as any new file: the
// workspace is 0700, and in an extra root others may have to read).
func (p place) target(root *os.Root) (mode fs.FileMode, fresh bool, err error) {
	if p.own != "" {
		mode = 0o600
	}
	fi, err := root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mode, true, nil
	case err != nil:
		return 0, false, err
	case fi.Mode()&fs.ModeSymlink == 0:
		return fi.Mode().Perm(), false, regular(fi)
	}
	to, _ := root.Readlink(p.name)
	return 0, false, fmt.Errorf("refused: it is a symbolic link to %s: write that", quote(to))
}

// makeDirs makes dir and its missing parents and makes their names durable.
func makeDirs(root *os.Root, dir string, private bool) error {
	if fi, err := root.Stat(dir); err == nil && fi.IsDir() {
		return nil
	}
	perm := fs.FileMode(0o755)
	if private {
		perm = 0o700
	}
	if err := root.MkdirAll(dir, perm); err != nil {
		return err
	}
	for dir != "." {
		dir = path.Dir(dir)
		d, err := root.Open(dir)
		if err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
