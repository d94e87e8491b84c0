package blobs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// What makes a blob durable is the order of the steps, which no test can try by
// cutting the power: the shard's own name, the bytes, the name.
func TestOrderOfSteps(t *testing.T) {
	defer func() { durable.Fault = nil }()
	s := open(t)
	m, body := Meta{At: at, Gist: "g"}, []byte("body")
	h := Sum(Encode(m, body))
	shard, name := h.String()[:3], h.String()[3:]
	steps := func(s *Store) []string {
		var out []string
		durable.Fault = func(stage durable.Stage, op, path string) error {
			if stage == durable.Before {
				out = append(out, op+" "+filepath.Base(path))
			}
			return nil
		}
		if _, err := s.Put(m, body); err != nil {
			t.Fatal(err)
		}
		durable.Fault = nil
		return out
	}
	reopen := func() *Store {
		s, err := Open(s.dir)
		lethetest.Must(t, err)
		return s
	}
	write := []string{"write " + name, "sync " + name, "rename " + name, "syncdir " + shard}
	for _, c := range []struct {
		what  string
		store *Store
		want  []string
	}{
		{"first in its shard", s, append([]string{"mkdir " + shard, "syncdir blobs"}, write...)},
		{"again", s, []string{"sync " + name, "syncdir " + shard}},
		// Somebody else made shard and blob, and may have died before a sync.
		{"again, by another", reopen(), []string{"mkdir " + shard, "syncdir blobs", "sync " + name, "syncdir " + shard}},
	} {
		if got := steps(c.store); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	// The same for a blob that is new in a shard which somebody else made. One sync of blobs/ is enough for all that were there.
	lethetest.Must(t, os.Remove(s.Path(h)))
	other := reopen()
	if got, want := steps(other), append([]string{"mkdir " + shard, "syncdir blobs"}, write...); !slices.Equal(got, want) {
		t.Errorf("new in another's shard: %q, want %q", got, want)
	}
	lethetest.Must(t, os.Mkdir(filepath.Join(s.dir, "000"), 0o700))
	other = reopen()
	put(t, other, "of another shard")
	if !other.shards[0].Load() || !other.shards[shardOf(h)].Load() || other.shards[1].Load() {
		t.Error("it does not know the shards that were there, or some that were not")
	}
}

// A blob whose syncs are left to a set rests on no sync of another set, which may be under way or fail, and takes the place of
// other bytes only when it is durable.
func TestOrderOfStepsLater(t *testing.T) {
	defer func() { durable.Fault = nil }()
	s := open(t)
	m, body := Meta{At: at, Gist: "g"}, []byte("body")
	h := Sum(Encode(m, body))
	shard, name := h.String()[:3], h.String()[3:]
	var steps []string
	fails := ""
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage != durable.Before {
			return nil
		}
		steps = append(steps, op+" "+filepath.Base(path))
		if steps[len(steps)-1] == fails {
			return syscall.EIO
		}
		return nil
	}
	later := func() *durable.Syncs {
		var l durable.Syncs
		steps = nil
		_, err := s.PutLater(&l, m, body)
		lethetest.Must(t, err)
		return &l
	}
	waits := func(what string, l *durable.Syncs, want ...string) {
		t.Helper()
		if steps = nil; l.Wait() != nil || !slices.Equal(steps, want) {
			t.Errorf("%s: %q, want %q", what, steps, want)
		}
	}
	first, second := later(), later()
	fails = "syncdir blobs"
	if err := first.Wait(); !errors.Is(err, syscall.EIO) {
		t.Errorf("its shard is not synced: %v", err)
	}
	fails = ""
	third := later()
	whole := []string{"syncdir blobs", "sync " + name, "syncdir " + shard}
	waits("beside the one that failed", second, whole...)
	waits("behind it", third, whole...)
	waits("when the shard is durable", later(), whole[1:]...)
	lethetest.Must(t, os.Remove(s.Path(h)))
	lethetest.Must(t, os.WriteFile(s.Path(h), []byte("other"), 0o600))
	later()
	if want := []string{"write " + name, "sync " + name, "rename " + name, "syncdir " + shard}; !slices.Equal(steps, want) {
		t.Errorf("in the place of other bytes: %q, want %q", steps, want)
	}
}
