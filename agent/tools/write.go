package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"lethe/internal/durable"
)

// memoryRunes bounds the part of MEMORY.md in the prompt, in characters.
const memoryRunes = 4000

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (s *Set) write(a writeArgs) (Effect, error) {
	p, err := s.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	was, err := s.present(p)
	if errors.Is(err, errUnseen) {
		return nil, fmt.Errorf("write %s: refused: %w", p.shown, err)
	}
	return s.changeOf(p, was, a.Content, ""), nil // it says what else is wrong
}

// put writes the file of a change. done is a verb in the past; remark is more for the model. A trigger is checked before;
// a blank one is removed.
func (s *Set) put(change *Change) (done, remark string, err error) {
	p, content := change.place, change.Now.Text
	remark = p.warning(content)
	if !s.mayWrite(p) {
		return "", "", fmt.Errorf("write %s: refused: of the workspace you may write only %s", p.shown, strings.Join(s.Files, ", "))
	}
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
	if change.Was == nil {
		done = "made"
	}
	return done, remark, p.replace([]byte(content), change.Was)
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

// replace makes content the whole of the file at p, atomically and durably, if that is still was; nil stands for no file. A
// reader finds the old file or the new one. Missing directories are made and the mode of an existing file is kept. A link
// is not followed.
func (p place) replace(content []byte, was *Version) error {
	if p.readOnly != "" {
		return fmt.Errorf("write %s: refused: %s", p.shown, p.readOnly)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	defer root.Close()
	mode, fresh, err := p.target(root)
	if err != nil {
		return p.explain("write", err, root)
	}
	dir, base := path.Split(p.name)
	dir = path.Clean(dir)
	if fresh {
		if err := makeDirs(root, dir, p.own != ""); err != nil {
			return p.explain("make the directory of", err, root)
		}
	}
	// From here on the directory is held open: a link that takes its place
	// cannot send the temporary file and the rename to two directories.
	held, err := root.OpenRoot(dir)
	if err != nil {
		return p.explain("write", err, root)
	}
	defer held.Close()
	done, err := durable.SwapIn(held, base, content, mode, func(there fs.FileInfo, name string) bool {
		if there == nil || was == nil {
			return there == nil && was == nil
		}
		now, err := place{dir: p.dir, name: path.Join(dir, name)}.version()
		return err == nil && now.Hash == was.Hash && now.Text == was.Text
	})
	if err != nil {
		return p.explain("write", err, root)
	}
	if !done {
		const changed = "write %s: not done: somebody changed it at this moment, or it cannot be read. READ_FILE it"
		return fmt.Errorf(changed, p.shown)
	}
	return nil
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
