package life

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/durable"
	"lethe/proof"
)

// Sealed is the kind of the event that states the tree over the lines before it.
const Sealed = "sealed"

// Seal makes the event that states the tree over so many lines.
type Seal func(size int64, root tlog.Hash) (Event, error)

// AppendSealed is Append, with a line behind the events, in the same write, that seals all lines
// before it, and returns all of them. It reads what was appended since the newest seal; of a log
// without one, or whose file tree is missing or does not fit, all.
func (l *Log) AppendSealed(seal Seal, events ...Event) ([]Event, error) {
	err := l.append(events, func(size int64, root tlog.Hash) (Event, error) {
		e, err := seal(size, root)
		events = append(events[:len(events):len(events)], e)
		return e, err
	})
	if err == nil { // a cache: without it, the next seal after Open reads the whole log
		_ = durable.Replace(l.treeFile(), fmt.Appendf(nil, "%d\n%s", l.tree.end, l.tree.String()), 0o600)
	}
	return events, err
}

// tree is over the first lines of a log.
type tree struct {
	proof.Tree
	end int64 // of those lines, in bytes
}

// seal adds to lines that are to be written the one that seals them and the log. After an error l.tree is still true.
func (l *Log) seal(r *rendering, seal Seal) error {
	if l.tree.end == 0 {
		l.tree = l.cachedTree()
	}
	if err := l.growTree(); err != nil {
		return err
	}
	t := l.tree
	for _, line := range r.lines {
		t.Add(Leaf(line))
	}
	t.end += r.size()
	e, err := seal(t.Size(), t.Root())
	if err == nil {
		err = r.add(e)
	}
	if err == nil {
		l.tree = t // should the write fail, the log takes no more
	}
	return err
}

// growTree adds the lines that the tree does not have yet. Those of which bytes were erased count as they were.
func (l *Log) growTree() error {
	erased, err := ReadErased(l.path)
	if err != nil {
		return err
	}
	rest := bufio.NewReaderSize(io.NewSectionReader(l.file, l.tree.end, l.end.Offset-l.tree.end), 1<<16)
	for l.tree.end < l.end.Offset {
		line, err := ReadLine(rest)
		if err != nil {
			return failed(l.path, l.tree.end, err)
		}
		l.tree.Add(erased[l.tree.end].was(line))
		l.tree.end += int64(len(line))
	}
	return nil
}

func (l *Log) treeFile() string { return filepath.Join(filepath.Dir(l.path), "tree") }

// cachedTree is the tree that was written at a seal. It is empty unless that seal stands where the
// tree ends, and states it.
func (l *Log) cachedTree() tree {
	text, _, err := durable.ReadRegular(l.treeFile(), 8<<10)
	end, rest, _ := strings.Cut(string(text), "\n")
	var t tree
	if err == nil {
		_, err = fmt.Sscan(end, &t.end)
	}
	if err == nil {
		t.Tree, err = proof.ParseTree(rest)
	}
	if err != nil || t.end < 0 || t.end > l.end.Offset {
		return tree{}
	}
	line, _ := ReadLine(bufio.NewReader(io.NewSectionReader(l.file, t.end, l.end.Offset-t.end)))
	root := t.Root()
	e, err := ParseLine(line)
	if err != nil || e.Kind != Sealed || e.Get("size") != fmt.Sprint(t.Size()) || e.Get("root") != proof.Text(root[:]) {
		return tree{}
	}
	return t
}
