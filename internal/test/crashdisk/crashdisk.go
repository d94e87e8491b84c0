// Package crashdisk is a model of a disk whose page cache can be lost. Tests
// record what a program did with durable.Trace, and look at what a power loss at
// any moment can leave of it:
//
//	d := crashdisk.New()
//	for _, op := range ops[:n] { // as In returns them
//		d.Do(op)
//	}
//	tree := d.PowerLoss(0.5, random)
//	err := tree.Write(dir)
//
// The model promises exactly as much as POSIX. A sync of a file makes its bytes
// durable and not its name; a sync of a directory makes its names durable and not
// what they lead to. Of what was not synced, each write is there, in part, as a
// hole, or missing; each change of names is there or missing, in any combination,
// and a rename never leaves neither file.
package crashdisk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lethe/internal/durable"
)

// Disk is a directory as it is in memory and as it is on disk. Paths are
// relative to it and have slashes; "." is the directory itself, which is durable.
type Disk struct{ root *node }

// node is a file, a directory or a symbolic link.
type node struct {
	data   []byte  // of a file, as it was last synced
	writes []write // since then
	names  map[string]*node
	moves  []map[string]*node // changes of names since the last sync; nil removes one
	link   string
}

// write is a write, or a truncate when data is nil.
type write struct {
	at   int64
	data []byte
}

// New returns an empty disk.
func New() *Disk { return &Disk{&node{names: map[string]*node{}}} }

// In returns op with paths relative to dir, or false when it is about another place.
func In(dir string, op durable.Op) (durable.Op, bool) {
	rel := func(p string) string {
		p, _ = filepath.Rel(dir, p)
		return filepath.ToSlash(p)
	}
	op.Path, op.Data = rel(op.Path), slices.Clone(op.Data)
	if op.Kind != "symlink" && op.To != "" {
		op.To = rel(op.To)
	}
	return op, op.Path != ".." && !strings.HasPrefix(op.Path, "../")
}

// Do applies op. A file that nobody has made before is made.
func (d *Disk) Do(op durable.Op) {
	dir := d.find(path.Dir(op.Path))
	name := path.Base(op.Path)
	switch op.Kind {
	case "write":
		f := dir.file(name)
		f.writes = append(f.writes, write{op.At, op.Data})
	case "truncate":
		f := dir.file(name)
		f.writes = append(f.writes, write{at: op.At})
	case "sync":
		f := dir.file(name)
		f.data, f.writes = f.left(1, nil), nil
	case "syncdir":
		n := d.find(op.Path)
		n.names, n.moves = n.current(), nil
	case "mkdir":
		dir.move(name, &node{names: map[string]*node{}})
	case "symlink":
		dir.move(name, &node{link: op.To})
	case "remove":
		dir.move(name, nil)
	default:
		d.rename(op, dir, name)
	}
}

// rename does what concerns two names. They are of one directory.
func (d *Disk) rename(op durable.Op, dir *node, from string) {
	to := path.Base(op.To)
	if path.Dir(op.To) != path.Dir(op.Path) {
		panic(fmt.Sprintf("crashdisk: %s from %s to %s", op.Kind, op.Path, op.To))
	}
	now := dir.current()
	change := map[string]*node{to: now[from]}
	switch op.Kind {
	case "rename":
		change[from] = nil
	case "exchange":
		change[from] = now[to]
	case "link":
	default:
		panic("crashdisk: " + op.Kind)
	}
	dir.moves = append(dir.moves, change)
}

func (n *node) move(name string, to *node) {
	n.moves = append(n.moves, map[string]*node{name: to})
}

// current returns the names as a running program sees them.
func (n *node) current() map[string]*node { return n.entries(1, nil) }

func (n *node) file(name string) *node {
	if f := n.current()[name]; f != nil {
		return f
	}
	f := &node{}
	n.move(name, f)
	return f
}

func (d *Disk) find(dir string) *node {
	node := d.root
	if dir == "." {
		return node
	}
	for name := range strings.SplitSeq(dir, "/") {
		if node = node.current()[name]; node == nil || node.names == nil {
			panic("crashdisk: no directory " + dir)
		}
	}
	return node
}

// Tree is the rest of a Disk after a power loss, by path.
type Tree map[string]Left

// Left is a file, a directory or a symbolic link.
type Left struct {
	Data []byte
	Link string
	Dir  bool
}

// PowerLoss returns a state that a power loss at this moment can leave. Of what
// was not synced each piece is there with probability keep, and otherwise
// missing or, when keep is not 0, perhaps there in part.
func (d *Disk) PowerLoss(keep float64, r *rand.Rand) Tree {
	t := Tree{}
	t.add(d.root, "", keep, r)
	return t
}

func (t Tree) add(n *node, at string, keep float64, r *rand.Rand) {
	there := n.entries(keep, r)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		node, at := there[name], path.Join(at, name)
		switch {
		case node.names != nil:
			t[at] = Left{Dir: true}
			t.add(node, at, keep, r)
		case node.link != "":
			t[at] = Left{Link: node.link}
		default:
			t[at] = Left{Data: node.left(keep, r)}
		}
	}
}

// chance is true with probability p. Nothing is random about 0 and 1.
func chance(p float64, r *rand.Rand) bool {
	if p <= 0 || p >= 1 {
		return p >= 1
	}
	return r.Float64() < p
}

func (n *node) entries(keep float64, r *rand.Rand) map[string]*node {
	out := maps.Clone(n.names)
	for _, change := range n.moves {
		if !chance(keep, r) {
			continue
		}
		for name, to := range change {
			if out[name] = to; to == nil {
				delete(out, name)
			}
		}
	}
	return out
}

// sector is the piece that a disk writes whole or not at all, in bytes.
const sector = 512

func (n *node) left(keep float64, r *rand.Rand) []byte {
	data := slices.Clone(n.data)
	for _, write := range n.writes {
		whole := chance(keep, r)
		lost := !whole && keep == 0
		if !whole && keep > 0 {
			lost = chance(0.25, r)
		}
		switch {
		case lost:
		case write.data == nil:
			if whole {
				data = resize(data, write.at)[:write.at]
			}
		default:
			data = write.into(data, whole, r)
		}
	}
	return data
}

// into puts the write, whole or what a power loss leaves of it, into data.
func (w write) into(data []byte, whole bool, r *rand.Rand) []byte {
	end := w.at + int64(len(w.data))
	hole := [2]int64{}
	if !whole {
		switch r.IntN(4) {
		case 0: // the size grew first, and some sectors never came
			at := w.at + r.Int64N(end-w.at)
			hole = [2]int64{max(w.at, at/sector*sector), end}
			if chance(0.5, r) {
				hole[1] = min(end, (at/sector+1)*sector)
			}
		case 1: // up to the end of a sector
			end = min(end, max(w.at, (w.at+r.Int64N(end-w.at))/sector*sector))
		case 2: // all but the last byte, where a reader looks for the end
			end--
		default:
			end = w.at + r.Int64N(end-w.at)
		}
	}
	data = resize(data, end)
	copy(data[w.at:end], w.data)
	clear(data[hole[0]:hole[1]])
	return data
}

// resize makes data at least size bytes long.
func resize(data []byte, size int64) []byte {
	return append(data, make([]byte, max(0, size-int64(len(data))))...)
}

// Write makes the tree under dir.
func (t Tree) Write(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(t)) { // a directory comes before what is in it
		left, at := t[name], filepath.Join(dir, filepath.FromSlash(name))
		var err error
		switch {
		case left.Dir:
			err = os.MkdirAll(at, 0o700)
		case left.Link != "":
			err = os.Symlink(left.Link, at)
		default:
			err = os.WriteFile(at, left.Data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
