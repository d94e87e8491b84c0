package life

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// sealing makes lines of a seal, and counts the hashes that were asked for.
func sealing(size int64, root tlog.Hash) (Event, error) {
	return made(Sealed, nil, "size", fmt.Sprint(size), "root", Base64(root[:])), nil
}

func sealAll(t testing.TB, l *Log, events ...Event) {
	t.Helper()
	got, err := l.AppendSealed(sealing, events...)
	lethetest.Must(t, err)
	if len(got) != len(events)+1 || got[len(events)].Kind != Sealed {
		t.Errorf("%d lines, %v", len(got), got)
	}
}

// sealsHold checks each seal of a log against the tree over all lines before it.
func sealsHold(t testing.TB, path string) (seals int) {
	t.Helper()
	var tree Tree
	for line := range strings.Lines(mustRead(t, path)) {
		if e, err := ParseLine(line); err != nil {
			t.Fatal(err)
		} else if root := tree.Root(); e.Kind == Sealed {
			seals++
			if e.Get("size") != fmt.Sprint(tree.Size) || e.Get("root") != Base64(root[:]) {
				t.Errorf("line %d seals %s lines with root %s", tree.Size+1, e.Get("size"), e.Get("root"))
			}
		}
		tree.Add(Leaf(line))
	}
	return seals
}

// A log and its file tree that agree on a number of lines below 0 are sealed like a log without that file.
func TestTreeOfLessThanNoLines(t *testing.T) {
	l, path := newLog(t)
	forged := Tree{Size: -1}
	root := forged.Root()
	appendAll(t, l, made(Sealed, nil, "size", "-1", "root", Base64(root[:])))
	const text = `{"size":-1,"end":0}`
	lethetest.Must(t, os.WriteFile(filepath.Join(filepath.Dir(path), "tree"), []byte(text), 0o600))
	sealAll(t, mustOpen(t, path))
	lines := strings.SplitAfter(mustRead(t, path), "\n")
	if e, err := ParseLine(lines[1]); err != nil || e.Get("size") != "1" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A seal covers what this process appended, what others did before, and its own append; a file
// tree that is missing, old, cut, of another log or made up changes nothing but the time it takes.
func TestSeals(t *testing.T) {
	l, path := newLog(t)
	tree := filepath.Join(filepath.Dir(path), "tree")
	appendAll(t, l, numbered("boot", 1, 1)...)
	sealAll(t, l, numbered("epoch", 2, 1)...)
	appendAll(t, l, numbered("note", 3, 5)...)
	sealAll(t, l)
	old := mustRead(t, tree)
	sealAll(t, l, numbered("epoch", 8, 3)...)
	newest := mustRead(t, tree)
	for name, text := range map[string]string{
		"": newest, "old": old, "empty": "", "cut": newest[:len(newest)-9], "none": `{"size":0,"end":0}`, "far": `{"size":1,"end":99999999}`,
		"negative": `{"size":-1,"end":-1}`, "changed": strings.Replace(newest, "A", "B", 20),
		"no seal": strings.Replace(newest, `"end":`, `"end":1`, 1),
	} {
		lethetest.Must(t, l.Close())
		lethetest.Must(t, os.WriteFile(tree, []byte(text), 0o600))
		l = mustOpen(t, path)
		appendAll(t, l, numbered("note", 20, 2)...)
		sealAll(t, l, numbered("epoch", 22, 1)...)
		if text == newest && l.cachedTree().Size == 0 {
			t.Errorf("%s: the tree is not taken from its file", name)
		}
		newest = mustRead(t, tree)
	}
	if n := sealsHold(t, path); n != 12 {
		t.Errorf("%d seals", n)
	}
}

// With its tree at hand, a seal reads what was appended since the one before.
func TestSealReadsWhatIsNew(t *testing.T) {
	path, _ := sparse(t, 1<<30)
	l := mustOpen(t, path)
	l.tree.End = l.Size()
	sealAll(t, l)
	lethetest.Must(t, l.Close())
	l = mustOpen(t, path)
	if at := l.cachedTree(); at.End < 1<<30 || at.Size != 0 {
		t.Errorf("the tree ends at %d", at.End)
	}
}

// A line of which bytes were erased counts as it was.
func TestSealOverErasedLine(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("note", 1, 3)...)
	lines := strings.SplitAfter(mustRead(t, path), "\n")
	var want Tree
	for _, line := range lines[:3] {
		want.Add(Leaf(line))
	}
	at, now := int64(len(lines[0])), strings.Replace(lines[1], "line 2", "......", 1)
	lethetest.Must(t, durable.Patch(path, durable.Piece{At: at, Data: []byte(now)}))
	lethetest.Must(t, os.WriteFile(ErasedPath(path), []byte(EncodeErasure(at, Erasure{Leaf(lines[1]), Leaf(now)})), 0o600))
	got, err := l.AppendSealed(sealing)
	lethetest.Must(t, err)
	if root := want.Root(); got[0].Get("root") != Base64(root[:]) {
		t.Error("the seal is over the line as it is now")
	}
}

// A seal that cannot be made writes nothing, and the log goes on; one that is not written is
// made again by the next.
func TestSealFaults(t *testing.T) {
	l, path := newLog(t)
	appendAll(t, l, numbered("boot", 1, 1)...)
	before := mustRead(t, path)
	if _, err := l.AppendSealed(func(int64, tlog.Hash) (Event, error) { return Event{}, os.ErrPermission },
		numbered("epoch", 2, 1)...); err == nil {
		t.Error("sealed without a key")
	}
	if mustRead(t, path) != before {
		t.Error("something was written")
	}
	sealAll(t, l, numbered("epoch", 2, 1)...)
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		durable.Fault = func(at durable.Stage, op, file string) error {
			switch {
			case at != stage || op != "append":
				return nil
			case at == durable.Before: // the seal is cut off
				return &durable.Short{Bytes: 300, Err: os.ErrPermission}
			}
			return os.ErrPermission
		}
		_, err := l.AppendSealed(sealing, numbered("epoch", 3, 2)...)
		durable.Fault = nil
		if err == nil || l.Append(numbered("note", 9, 1)...) == nil {
			t.Errorf("the log takes more: %v", err)
		}
		lethetest.Must(t, l.Close())
		l = mustOpen(t, path)
		sealAll(t, l, numbered("epoch", 5, 1)...)
	}
	sealsHold(t, path)
}

// BenchmarkSeal seals one more line of a log with so many; the first time without the file tree.
func BenchmarkSeal(b *testing.B) {
	for _, n := range []int{10, 1_000_000} {
		l, path := newLog(b)
		for at := 0; at < n; at += 10_000 {
			appendAll(b, l, numbered("note", at, min(n, 10_000))...)
		}
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				l.tree = logTree{}
				os.Remove(l.treeFile())
				sealAll(b, l)
			}
			b.SetBytes(l.Size())
		})
		b.Run(fmt.Sprintf("next/%d", n), func(b *testing.B) {
			for b.Loop() {
				appendAll(b, l, numbered("note", 1, 200)...)
				sealAll(b, l)
			}
		})
		b.Run(fmt.Sprintf("unsealed/%d", n), func(b *testing.B) {
			for b.Loop() {
				appendAll(b, l, numbered("note", 1, 200)...)
				appendAll(b, l, numbered("epoch", 1, 1)...)
			}
		})
		lethetest.Must(b, os.Remove(path))
	}
}
