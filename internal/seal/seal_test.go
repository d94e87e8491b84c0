package seal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
)

// A file that has lost a key while no process ran is refused, by the name of the key, and no file takes its place. The
// whole one is never refused, whichever write of a load failed.
func TestLoadKnowsWhatItHad(t *testing.T) {
	home := lethetest.Dir(t)
	load := func() error {
		keys, err := seal.Load(home, nil, true)
		if err != nil {
			return err
		}
		text, err := keys.Seal([]byte("a text"))
		if err == nil {
			_, err = keys.Open(text)
		}
		return err
	}
	lethetest.Must(t, load())
	if _, err := os.Stat(filepath.Join(home, "share", "keys")); err != nil {
		t.Fatal(err)
	}
	old := lethetest.Read(t, seal.File(home))
	lethetest.Must(t, seal.New(home))
	whole := lethetest.Read(t, seal.File(home))
	for fails, n := true, 0; fails; n++ {
		lethetest.Must(t, os.RemoveAll(filepath.Join(home, "share", "keys")))
		k := 0
		fails = false
		mended := lethetest.Break(t, home, func(durable.Stage, string, string) error {
			if k++; k > n {
				fails = true
				return syscall.EIO
			}
			return nil
		})
		_ = load()
		mended()
		if err := load(); err != nil {
			t.Fatalf("fault %d: %v", n, err)
		}
	}
	for _, what := range []string{old, strings.Split(whole, "\n")[0] + "\n"} {
		lethetest.Write(t, seal.File(home), what)
		if err := load(); !errors.Is(err, seal.ErrLost) || !strings.Contains(err.Error(), "lethe-") {
			t.Errorf("%v", err)
		}
	}
	lethetest.Must(t, os.Remove(seal.File(home)))
	if err := load(); !errors.Is(err, seal.ErrLost) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(seal.File(home)); err == nil {
		t.Error("another key is made")
	}
	lethetest.Write(t, seal.File(home), whole)
	lethetest.Must(t, load())

	alone := lethetest.Dir(t) // which shares nothing yet
	lethetest.Write(t, seal.File(alone), whole)
	if _, err := seal.Load(alone, nil, false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(alone, "share")); err == nil {
		t.Error("it seems to share")
	}
}

// A host that was started without share.key makes one, and seals a lease for it. It can be given that of its home.
func TestLoadForgetsWhatOpensNothing(t *testing.T) {
	home, other := lethetest.Dir(t), lethetest.Dir(t)
	lethetest.Must(t, os.MkdirAll(filepath.Join(other, "share"), 0o700))
	there, err := seal.Load(home, nil, true)
	lethetest.Must(t, err)
	text, err := there.Seal([]byte("a text"))
	lethetest.Must(t, err)
	recipient, err := age.GenerateX25519Identity()
	lethetest.Must(t, err)
	here, err := seal.Load(other, []string{recipient.Recipient().String()}, true)
	lethetest.Must(t, err)
	_, err = here.Seal([]byte("a lease"))
	lethetest.Must(t, err)
	if _, err := here.Open(text); !errors.Is(err, seal.ErrOther) {
		t.Errorf("%v", err)
	}
	lethetest.Write(t, seal.File(other), lethetest.Read(t, seal.File(home)))
	here, err = seal.Load(other, nil, true)
	lethetest.Must(t, err)
	_, err = here.Open(text)
	lethetest.Must(t, err)
	lethetest.Must(t, seal.New(other)) // and what was added since then
	lethetest.Write(t, seal.File(other), lethetest.Read(t, seal.File(home)))
	if _, err = seal.Load(other, nil, true); !errors.Is(err, seal.ErrLost) {
		t.Errorf("%v", err)
	}
	lethetest.Must(t, os.Remove(seal.File(other))) // what has opened a text is needed
	if _, err = seal.Load(other, nil, true); !errors.Is(err, seal.ErrLost) {
		t.Errorf("%v", err)
	}
}
