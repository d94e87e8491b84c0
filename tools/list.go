package tools

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	listShown = 500     // entries that LIST shows
	listRead  = 100_000 // entries that LIST counts
)

func (f *files) list(ctx context.Context, c Call) Result {
	var a struct {
		Path string `json:"path"`
	}
	if err := Decode(c.Args, &a); err != nil {
		return failure(err)
	}
	switch strings.TrimSuffix(strings.TrimSpace(a.Path), "/") {
	case "self":
		return f.listSelf()
	case "rooms":
		return f.listRooms()
	}
	p, err := f.resolve(a.Path)
	if err != nil {
		return failure(err)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return failf("list %s: %v", p.shown, err)
	}
	defer root.Close()
	body, err := listPlace(ctx, root, p)
	if err != nil {
		return failure(p.explain("list", err, root))
	}
	return Result{Body: body}
}

func listPlace(ctx context.Context, root *os.Root, p place) ([]byte, error) {
	fi, err := root.Stat(p.name)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return []byte(entryLine(root, p.name, p.shown)), nil
	}
	entries, complete, err := entriesOf(ctx, root, p.name)
	if err != nil {
		return nil, err
	}
	dirs := 0
	for _, e := range entries {
		if e.IsDir() {
			dirs++
		}
	}
	atLeast := ""
	if !complete {
		atLeast = "at least "
	}
	out := fmt.Appendf(nil, "[%s: %s%d directories, %d others]\n", p.shown, atLeast, dirs, len(entries)-dirs)
	for _, e := range entries[:min(listShown, len(entries))] {
		out = append(out, entryLine(root, path.Join(p.name, e.Name()), e.Name())...)
	}
	if rest := len(entries) - listShown; rest > 0 {
		out = fmt.Appendf(out, "[%s%d more are not shown: LIST a directory below, or use BASH with ls or find]\n", atLeast, rest)
	}
	return out, nil
}

// entriesOf reads a directory, directories first, by name. complete is false
// when there are more entries than anybody would read.
func entriesOf(ctx context.Context, root *os.Root, name string) (all []fs.DirEntry, complete bool, err error) {
	d, err := openDir(root, name)
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	for len(all) < listRead {
		if err := ctx.Err(); err != nil {
			return nil, false, fmt.Errorf("interrupted: %w", err)
		}
		some, err := d.ReadDir(4096)
		all = append(all, some...)
		if err == io.EOF {
			complete = true
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return all, complete, nil
}

// entryLine describes one entry. Names are quoted when they hold something that
// could be taken for another line.
func entryLine(root *os.Root, name, shown string) string {
	if strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\uFFFD' }) {
		shown = fmt.Sprintf("%q", shown)
	}
	fi, err := root.Lstat(name)
	if err != nil {
		return shown + "  (gone or not accessible)\n"
	}
	switch m := fi.Mode(); {
	case m.IsDir():
		return strings.TrimSuffix(shown, "/") + "/\n"
	case m.IsRegular():
		exec := ""
		if m&0o111 != 0 {
			exec = ", executable"
		}
		return fmt.Sprintf("%s  %s%s\n", shown, sizeText(fi.Size()), exec)
	case m&fs.ModeSymlink != 0:
		to, _ := root.Readlink(name)
		return fmt.Sprintf("%s -> %s\n", shown, quote(to))
	default:
		return fmt.Sprintf("%s  (%s)\n", shown, typeName(m))
	}
}

func (f *files) listSelf() Result {
	root, err := os.OpenRoot(f.agentDir)
	if err != nil {
		return failf("list self: %v", err)
	}
	defer root.Close()
	out := []byte("[self: your own files]\n")
	for _, o := range ownFiles {
		may := "read only"
		if o.writable {
			may = "writable"
		}
		if fi, err := root.Stat(o.name); err == nil {
			out = fmt.Appendf(out, "self/%s  %s, %s\n", o.name, sizeText(fi.Size()), may)
		} else {
			out = fmt.Appendf(out, "self/%s  not written yet, %s\n", o.name, may)
		}
	}
	return Result{Body: out}
}

func (f *files) listRooms() Result {
	joined := f.joined()
	out := fmt.Appendf(nil, "[rooms: %d that you are in; they can be read, and SAY writes to them]\n", len(joined))
	if len(joined) == 0 {
		return Result{Body: out}
	}
	root, err := os.OpenRoot(f.chatsDir)
	if err != nil {
		return failf("list rooms: %v", err)
	}
	defer root.Close()
	for _, r := range joined {
		size := "empty"
		if fi, err := root.Stat(r + ".md"); err == nil {
			size = sizeText(fi.Size())
		}
		out = fmt.Appendf(out, "%s  %s\n", path.Join("rooms", r+".md"), size)
	}
	return Result{Body: out}
}
