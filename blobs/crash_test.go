package blobs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
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
	parent := "syncdir " + filepath.Base(filepath.Dir(s.dir))
	for _, c := range []struct {
		what  string
		store *Store
		want  []string
	}{
		{"first in its shard", s, append([]string{parent, "mkdir " + shard, "syncdir blobs"}, write...)},
		{"again", s, []string{"sync " + name, "syncdir " + shard}},
		// Somebody else made shard and blob, and may have died before a sync.
		{"again, by another", reopen(), []string{"syncdir blobs", "sync " + name, "syncdir " + shard}},
	} {
		if got := steps(c.store); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	// The same for a blob that is new in a shard which somebody else made.
	lethetest.Must(t, os.Remove(s.Path(h)))
	if got, want := steps(reopen()), append([]string{"syncdir blobs"}, write...); !slices.Equal(got, want) {
		t.Errorf("new in another's shard: %q, want %q", got, want)
	}
}
