package blobs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lethe/internal/durable"
)

// The test binary runs itself as the process that is killed: dirEnv is the store
// it puts into, stepEnv the durable step at which it kills itself.
const (
	dirEnv  = "LETHE_BLOBS_TEST_DIR"
	stepEnv = "LETHE_BLOBS_TEST_STEP"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		putUntilKilled(dir, os.Getenv(stepEnv))
		return
	}
	code := m.Run()
	removeCrowd()
	os.Exit(code)
}

var crashBodies = []string{"first body", strings.Repeat("second body\n", 2000), "third body", "first body"}

// putUntilKilled puts the bodies and prints each address that Put has promised.
func putUntilKilled(dir, step string) {
	die, err := strconv.Atoi(step)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	n := 0
	durable.Fault = func(durable.Stage, string, string) error {
		if n++; n == die {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	s, err := Open(dir)
	for _, body := range crashBodies {
		var h Hash
		if err == nil {
			h, err = s.Put(Meta{At: at, Gist: "g"}, []byte(body))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(h)
	}
}

// kill -9 at every step in turn: what was promised is there, every name in the
// store is that of its bytes, and the puts can be done again.
func TestKilledAtEveryStep(t *testing.T) {
	killed := 0
	for step := 1; ; step++ {
		dir := filepath.Join(t.TempDir(), "blobs")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), dirEnv+"="+dir, fmt.Sprintf("%s=%d", stepEnv, step))
		out, err := cmd.Output()
		done := err == nil
		var exit *exec.ExitError
		if !done && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
			t.Fatalf("step %d: %v: %s", step, err, out)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Fields(string(out)) {
			h, err := ParseHash(line)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(h); err != nil {
				t.Errorf("step %d: promised, but %v", step, err)
			}
		}
		if err := s.Each(func(h Hash) error { _, err := s.Get(h); return err }); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		for _, body := range crashBodies {
			h, err := s.Put(Meta{At: at, Gist: "g"}, []byte(body))
			if err != nil {
				t.Fatalf("step %d: put again: %v", step, err)
			}
			if r, err := s.Resolve(h.String()[:16]); err != nil || r != h {
				t.Errorf("step %d: resolve after a crash: %s %v", step, r, err)
			}
		}
		if done {
			break
		}
		killed++
	}
	if killed < 20 {
		t.Errorf("killed only %d times", killed)
	}
}

// Every step fails in turn, once lost and once done all the same, with the error
// of a full disk and with that of a read-only one.
func TestFaultAtEveryStep(t *testing.T) {
	defer func() { durable.Fault = nil }()
	for _, cause := range []error{syscall.ENOSPC, syscall.EROFS} {
		for step := 1; ; step++ {
			dir := filepath.Join(t.TempDir(), "blobs")
			n, hit := 0, ""
			durable.Fault = func(stage durable.Stage, op, path string) error {
				if n++; n == step {
					hit = string(stage) + " " + op
					return cause
				}
				return nil
			}
			err := putOne(dir)
			durable.Fault = nil
			if hit == "" {
				if err != nil {
					t.Fatal(err)
				}
				if step < 8 {
					t.Fatalf("only %d steps", step)
				}
				break
			}
			if !errors.Is(err, cause) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %q, want one line with %v", hit, err, cause)
			}
			left, gerr := filepath.Glob(filepath.Join(dir, "*", ".tmp-*"))
			if gerr != nil || len(left) > 0 {
				t.Errorf("%s: left %v %v", hit, left, gerr)
			}
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Each(func(h Hash) error { _, err := s.Get(h); return err }); err != nil {
				t.Errorf("%s: %v", hit, err)
			}
			if err := putOne(dir); err != nil {
				t.Errorf("%s: second try: %v", hit, err)
			}
		}
	}
}

func putOne(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	h, err := s.Put(Meta{At: at, Gist: "g"}, []byte("body"))
	if err != nil {
		return err
	}
	_, err = s.Get(h)
	return err
}

// A disk that fills in the middle of the write leaves nothing behind.
func TestPartialWriteLeavesNothing(t *testing.T) {
	defer func() { durable.Fault = nil }()
	s := open(t)
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage != durable.Before || op != "write" {
			return nil
		}
		tmp, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".tmp-*"))
		if err != nil || len(tmp) != 1 {
			t.Errorf("temporary files %v %v", tmp, err)
			return nil
		}
		if err := os.WriteFile(tmp[0], []byte("---\nat: 2026"), 0o600); err != nil {
			t.Error(err)
		}
		return syscall.ENOSPC
	}
	h, err := s.Put(Meta{At: at}, []byte("body"))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error %v", err)
	}
	names, err := os.ReadDir(filepath.Dir(s.Path(h)))
	if err != nil || len(names) != 0 {
		t.Errorf("the shard holds %v %v", names, err)
	}
}

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
		if err != nil {
			t.Fatal(err)
		}
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
	if err := os.Remove(s.Path(h)); err != nil {
		t.Fatal(err)
	}
	if got, want := steps(reopen()), append([]string{"syncdir blobs"}, write...); !slices.Equal(got, want) {
		t.Errorf("new in another's shard: %q, want %q", got, want)
	}
}

// A shard whose sync failed is synced by the next put into it.
func TestShardIsSyncedAfterFault(t *testing.T) {
	defer func() { durable.Fault = nil }()
	s := open(t)
	synced := 0
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage == durable.Before && op == "syncdir" && path == s.dir {
			if synced++; synced == 1 {
				return syscall.EIO
			}
		}
		return nil
	}
	if _, err := s.Put(Meta{At: at}, nil); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Put(Meta{At: at}, nil); err != nil || synced != 2 {
		t.Errorf("second put: %v, the store's directory was synced %d times, want 2", err, synced)
	}
}
