package life

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/durable"
)

// Sealed is the kind of the event that states the tree over the lines before it.
const Sealed = "sealed"

// Seal makes the event that states the tree over so many lines.
type Seal func(size int64, root tlog.Hash) (Event, error)

// AppendSealed is Append, with a line behind the events, in the same write, that seals all lines
// before it, and returns all of them. It reads what was appended since the newest seal; of a log
// without one, or whose file tree is missing or does not fit, all.
func (l *Log) AppendSealed(seal Seal, events ...Event) ([]Event, error) {
	lines, _, err := l.lines(events)
	if err != nil {
		return nil, err
	}
	t, err := l.grown(lines)
	if err != nil {
		return nil, err
	}
	e, err := seal(t.Size, t.Root())
	if err != nil {
		return nil, err
	}
	events = append(events[:len(events):len(events)], e)
	if err = l.Append(events...); err == nil { // a cache: without it, the next seal after Open reads the whole log
		l.tree = t
		text, _ := json.Marshal(t)
		_ = durable.Replace(l.treeFile(), text, 0o600)
	}
	return events, err
}

// logTree is the tree over the first lines of a log.
type logTree struct {
	Tree
	End int64 `json:"end"` // of those lines, in bytes
}

func (l *Log) treeFile() string { return filepath.Join(filepath.Dir(l.path), "tree") }

// grown is the tree over the log and lines that are to be written. Lines of which bytes were erased
// count as they were.
func (l *Log) grown(lines []string) (logTree, error) {
	t := l.tree
	if t.End == 0 {
		t = l.cachedTree()
	}
	erased, err := ReadErased(l.path)
	rest := bufio.NewReaderSize(io.NewSectionReader(l.file, t.End, l.end.Offset-t.End), 1<<16)
	for err == nil && t.End < l.end.Offset {
		var line string
		if line, err = ReadLine(rest); err == nil {
			t.Add(erased[t.End].was(line))
			t.End += int64(len(line))
		}
	}
	for _, line := range lines {
		t.Add(Leaf(line))
		t.End += int64(len(line))
	}
	return t, err
}

// cachedTree is the tree that was written at a seal. It is empty unless that seal stands where the
// tree ends, and states it.
func (l *Log) cachedTree() (t logTree) {
	text, _, _ := durable.ReadRegular(l.treeFile(), 1<<14)
	_ = json.Unmarshal(text, &t) // of what is no tree, no seal states the root
	line, _ := ReadLine(bufio.NewReader(io.NewSectionReader(l.file, t.End, l.end.Offset-t.End)))
	root := t.Root()
	e, err := ParseLine(line)
	if err != nil || e.Kind != Sealed || e.Get("size") != fmt.Sprint(t.Size) || e.Get("root") != Base64(root[:]) {
		return logTree{}
	}
	return t
}
