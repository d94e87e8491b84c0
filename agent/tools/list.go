package tools

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	listShown = 500     // entries that LIST shows
	listRead  = 100_000 // entries that LIST counts
)

type listArgs struct {
	Path string `json:"path"`
}

func (s *Set) list(_ context.Context, _ Call, a listArgs) (Result, error) {
	switch strings.TrimSuffix(strings.TrimSpace(a.Path), "/") {
	case "self":
		out := []byte("[self: your own files]\n")
		for _, o := range ownFiles[:6] {
			may := "writable"
			if o.readOnly != "" {
				may = "read only"
			}
			out = fmt.Appendf(out, "self/%s  %s, %s\n", o.pattern, sizeOf(s.AgentDir, o.pattern, "not written yet"), may)
		}
		out = append(out, "self/TRIGGERS.md  all about triggers, read only\nself/triggers/  your triggers, writable\n"...)
		return Result{Body: out}, nil
	case "rooms":
		joined := s.joined()
		out := fmt.Appendf(nil, "[rooms: %d that you are in; they can be read, and SAY writes to them]\n", len(joined))
		for _, r := range joined {
			out = fmt.Appendf(out, "rooms/%s.md  %s\n", r, sizeOf(s.ChatsDir, r+".md", "empty"))
		}
		return Result{Body: out}, nil
	}
	p, err := s.resolve(a.Path)
	if err != nil {
		return Result{}, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return Result{}, fmt.Errorf("list %s: %w", p.shown, err)
	}
	defer root.Close()
	body, err := listPlace(root, p)
	if err != nil {
		return Result{}, p.explain("list", err, root)
	}
	return Result{Body: body}, nil
}

func sizeOf(dir, name, missing string) string {
	fi, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return missing
	}
	return sizeText(fi.Size())
}

// listPlace shows a directory, sub-directories first, by name; or one file.
func listPlace(root *os.Root, p place) ([]byte, error) {
	fi, err := root.Stat(p.name)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return []byte(entryLine(root, p.name, p.shown)), nil
	}
	d, err := openDir(root, p.name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.ReadDir(listRead)
	if err != nil && err != io.EOF {
		return nil, err
	}
	dirs := 0
	for _, e := range all {
		if e.IsDir() {
			dirs++
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int {
		return cmp.Or(cmp.Compare(b.Type()&fs.ModeDir, a.Type()&fs.ModeDir), strings.Compare(a.Name(), b.Name()))
	})
	out := fmt.Appendf(nil, "[%s: %d directories, %d others]\n", p.shown, dirs, len(all)-dirs)
	for _, e := range all[:min(listShown, len(all))] {
		out = append(out, entryLine(root, path.Join(p.name, e.Name()), e.Name())...)
	}
	if rest := len(all) - listShown; rest > 0 {
		out = fmt.Appendf(out, "[%d more are not shown: LIST a directory below, or use BASH with ls or find]\n", rest)
	}
	return out, nil
}

// oneLine is a name, quoted when it holds something that could be taken for another line.
func oneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\uFFFD' }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// entryLine describes one entry.
func entryLine(root *os.Root, name, shown string) string {
	shown = oneLine(shown)
	fi, err := root.Lstat(name)
	if err != nil {
		return shown + "  (gone or not accessible)\n"
	}
	size := shown + "  " + sizeText(fi.Size())
	switch m := fi.Mode(); {
	case m.IsDir():
		return strings.TrimSuffix(shown, "/") + "/\n"
	case m.IsRegular() && m&0o111 != 0:
		return size + ", executable\n"
	case m.IsRegular():
		return size + "\n"
	case m&fs.ModeSymlink != 0:
		to, _ := root.Readlink(name)
		return shown + " -> " + quote(to) + "\n"
	}
	return fmt.Sprintf("%s  (%v)\n", shown, fi.Mode())
}
