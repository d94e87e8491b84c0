package crashdisk

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/durable"
)

// traced does something in an empty directory and returns its operations, with
// relative paths.
func traced(t *testing.T, do func(dir string) error) []durable.Op {
	t.Helper()
	dir := t.TempDir()
	var ops []durable.Op
	durable.Trace = func(op durable.Op) {
		if op, ok := In(dir, op); ok {
			ops = append(ops, op)
		}
	}
	defer func() { durable.Trace = nil }()
	if err := do(dir); err != nil {
		t.Fatal(err)
	}
	return ops
}

// states returns what power losses after the operations leave.
func states(ops []durable.Op, drop string) []Tree {
	d := New()
	for _, op := range ops {
		if op.Kind != drop {
			d.Do(op)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	out := []Tree{d.PowerLoss(0, nil), d.PowerLoss(1, nil)}
	for range 200 {
		out = append(out, d.PowerLoss(0.5, r))
	}
	return out
}

// Whoever leaves a sync out is found out: each promise of package durable holds
// in all states, and without one of its syncs in some it does not.
func TestEverySyncIsNeeded(t *testing.T) {
	long := strings.Repeat("new ", 1000) + "\n"
	file := func(name, want string) func(Tree) bool {
		return func(s Tree) bool { return string(s[name].Data) == want }
	}
	for _, c := range []struct {
		name  string
		do    func(dir string) error
		holds func(Tree) bool
		syncs string
	}{
		{"write", func(dir string) error {
			f := filepath.Join(dir, "f")
			if err := durable.WriteFile(f, []byte("old"), 0o600); err != nil {
				return err
			}
			return durable.WriteFile(f, []byte(long), 0o600)
		}, file("f", long), "sync syncdir"},
		{"append", func(dir string) error {
			f := filepath.Join(dir, "f")
			if _, _, err := durable.Append(f, []byte("first\n"), 0o600); err != nil {
				return err
			}
			_, _, err := durable.Append(f, []byte(long), 0o600)
			return err
		}, file("f", "first\n"+long), "sync syncdir"},
		{"swap", func(dir string) error {
			f := filepath.Join(dir, "f")
			if err := durable.WriteFile(f, []byte("old"), 0o600); err != nil {
				return err
			}
			_, err := durable.Swap(f, []byte(long), 0o600, func(fs.FileInfo) bool { return true })
			return err
		}, func(s Tree) bool { return file("f", "old")(s) || file("f", long)(s) }, "sync"},
		{"mkdir", func(dir string) error { return durable.MkdirAll(filepath.Join(dir, "a/b"), 0o700) },
			func(s Tree) bool { return s["a/b"].Dir }, "syncdir"},
		{"symlink", func(dir string) error { return durable.Symlink("there", filepath.Join(dir, "l")) },
			func(s Tree) bool { return s["l"].Link == "there" }, "syncdir"},
		{"remove", func(dir string) error {
			f := filepath.Join(dir, "f")
			if err := durable.WriteFile(f, nil, 0o600); err != nil {
				return err
			}
			return durable.Remove(f)
		}, func(s Tree) bool { return len(s) == 0 }, "syncdir"},
	} {
		ops := traced(t, c.do)
		for i, s := range states(ops, "") {
			if !c.holds(s) {
				t.Errorf("%s: state %d has %d names, and f holds %.60q", c.name, i, len(s), s["f"].Data)
			}
		}
		for _, drop := range strings.Fields(c.syncs) {
			lost := 0
			for _, s := range states(ops, drop) {
				if !c.holds(s) {
					lost++
				}
			}
			if lost == 0 {
				t.Errorf("%s without %s is not found out", c.name, drop)
			}
		}
	}
}

// At no moment is a file that is replaced anything but the old one or the new one,
// and every kind of damage to an append that was not synced comes up.
func TestStates(t *testing.T) {
	old, long := strings.Repeat("old\n", 300), strings.Repeat("new ", 1000)+"\n"
	ops := traced(t, func(dir string) error {
		if err := durable.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600); err != nil {
			return err
		}
		return durable.WriteFile(filepath.Join(dir, "f"), []byte(long), 0o600)
	})
	for n := 4; n <= len(ops); n++ {
		for _, s := range states(ops[:n], "") {
			if got := string(s["f"].Data); got != old && got != long {
				t.Fatalf("after %d operations the file holds %.40q", n, got)
			}
		}
	}
	seen := map[string]int{}
	for _, s := range states([]durable.Op{{Kind: "write", Path: "f", Data: []byte(old)}, {Kind: "sync", Path: "f"},
		{Kind: "syncdir", Path: "."},
		{Kind: "write", Path: "f", Data: []byte(long), At: int64(len(old))}}, "") {
		got := string(s["f"].Data)
		switch tail, ok := strings.CutPrefix(got, old); {
		case !ok:
			t.Fatalf("what was synced is damaged: %.40q", got)
		case tail == long:
			seen["whole"]++
		case tail == "":
			seen["nothing"]++
		case strings.Contains(tail, "\x00") && strings.HasSuffix(tail, "new \n"):
			seen["hole"]++
		case strings.HasSuffix(tail, "\x00"):
			seen["size only"]++
		case strings.HasPrefix(long, tail) && len(got)%sector == 0:
			seen["sectors"]++
		case strings.HasPrefix(long, tail):
			seen["bytes"]++
		default:
			t.Fatalf("neither old nor new: %.60q", tail)
		}
	}
	if len(seen) != 6 {
		t.Errorf("states: %v", seen)
	}
}
