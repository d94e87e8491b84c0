package proof

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the RFC 6962 tree over a row of leaves, of which it keeps only what the next leaf and the
// root take: the roots of its complete subtrees. A copy is a tree of its own.
type Tree struct {
	size  int64
	nodes [63]tlog.Hash // by level; one is there if size has that bit
}

// Add appends a leaf, which tlog.RecordHash makes of a line without its newline.
func (t *Tree) Add(leaf tlog.Hash) {
	level := 0
	for ; t.size>>level&1 == 1; level++ {
		leaf = tlog.NodeHash(t.nodes[level], leaf)
	}
	t.nodes[level] = leaf
	t.size++
}

// Size is how many leaves the tree has.
func (t *Tree) Size() int64 { return t.size }

// Root is the hash of all leaves.
func (t *Tree) Root() tlog.Hash {
	root, err := tlog.TreeHash(0, nil)
	for level, some := 0, false; level < len(t.nodes) && err == nil; level++ {
		switch {
		case t.size>>level&1 == 0:
		case some:
			root = tlog.NodeHash(t.nodes[level], root)
		default:
			root, some = t.nodes[level], true
		}
	}
	return root
}

// String writes the tree for ParseTree: its size, and the hashes that it keeps, smallest subtree first.
func (t *Tree) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", t.size)
	for level, hash := range t.nodes {
		if t.size>>level&1 == 1 {
			fmt.Fprintf(&b, "%s\n", hash)
		}
	}
	return b.String()
}

// ParseTree reads what String wrote. Only the root can tell whether it is true.
func ParseTree(text string) (t Tree, err error) {
	size, rest, _ := strings.Cut(text, "\n")
	_, err = fmt.Sscan(size, &t.size)
	for level := range t.nodes {
		var line string
		if t.size>>level&1 == 1 && err == nil {
			line, rest, _ = strings.Cut(rest, "\n")
			t.nodes[level], err = tlog.ParseHash(line)
		}
	}
	if err != nil || t.size < 0 || t.String() != text {
		return Tree{}, errors.New("not a tree")
	}
	return t, nil
}
