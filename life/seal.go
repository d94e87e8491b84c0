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

// Seal makes the event that states the tree over the first size lines.
type Seal func(size int64, root tlog.Hash) (Event, error)

// AppendSealed is Append with one more event, in the same write, that seals all lines before it. It
// returns all events that it wrote. To grow the tree it reads the lines since the newest seal; without
// a seal, or if the file "tree" is missing or does not fit, it reads the whole log.
func (l *Log) AppendSealed(seal Seal, events ...Event) ([]Event, error) {
	lines, _, err := l.lines(events)
	if err != nil {
		return nil, err
	}
	tree, err := l.grown(lines)
	if err != nil {
		return nil, err
	}
	sealed, err := seal(tree.Size, tree.Root())
	if err != nil {
		return nil, err
	}
	events = append(events[:len(events):len(events)], sealed)
	if err = l.Append(events...); err == nil { // a cache: without it, the next seal after Open reads the whole log
		l.tree = tree
		text, _ := json.Marshal(tree)
		_ = durable.Replace(l.treeFile(), text, 0o600)
	}
	return events, err
}

// logTree is the tree over the first lines of a log.
type logTree struct {
	Tree
	End int64 `json:"end"` // the end of these lines, in bytes
}

func (l *Log) treeFile() string { return filepath.Join(filepath.Dir(l.path), "tree") }

// grown returns the tree over the log and over lines that are still to be written. Partly erased lines
// count with their leaves from before.
func (l *Log) grown(lines []string) (logTree, error) {
	tree := l.tree
	if tree.End == 0 {
		tree = l.cachedTree()
	}
	erased, err := ReadErased(l.path)
	rest := bufio.NewReaderSize(io.NewSectionReader(l.file, tree.End, l.end.Offset-tree.End), 1<<16)
	for err == nil && tree.End < l.end.Offset {
		var line string
		if line, err = ReadLine(rest); err == nil {
			tree.Add(erased[tree.End].was(line))
			tree.End += int64(len(line))
		}
	}
	for _, line := range lines {
		tree.Add(Leaf(line))
		tree.End += int64(len(line))
	}
	return tree, err
}

// SealedLines returns how many lines the log at a path had when it was last sealed, as the file "tree" beside it says; 0
// without that file.
func SealedLines(path string) int64 {
	text, _, _ := durable.ReadRegular(filepath.Join(filepath.Dir(path), "tree"), 1<<14)
	var tree logTree
	_ = json.Unmarshal(text, &tree) // what cannot be read says nothing
	return tree.Size
}

// cachedTree returns the tree that AppendSealed wrote to the file "tree". It returns an empty tree
// unless the log has a seal at the tree's end that states the same tree.
func (l *Log) cachedTree() (tree logTree) {
	text, _, _ := durable.ReadRegular(l.treeFile(), 1<<14)
	_ = json.Unmarshal(text, &tree) // a bad tree has a root that no seal states
	line, _ := ReadLine(bufio.NewReader(io.NewSectionReader(l.file, tree.End, l.end.Offset-tree.End)))
	root := tree.Root()
	seal, err := ParseLine(line)
	if err != nil || seal.Kind != Sealed {
		return logTree{}
	}
	stated := seal.Get("size") == fmt.Sprint(tree.Size) && seal.Get("root") == Base64(root[:])
	if tree.Size < 0 || !stated {
		return logTree{}
	}
	return tree
}
