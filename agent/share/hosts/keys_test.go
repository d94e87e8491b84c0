package hosts

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
)

// A host that has no new key yet says once what it cannot do and why, takes nothing, and loses nothing: with the key it has all that was
// said meanwhile, others hear what was said at it, and it stands by again. Nobody starts anew.
func TestKeyTurnsWhileHostsRun(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		var said lethetest.Log
		b.log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		a.boot("ada")
		kill := a.serve()
		defer b.serve()()
		say := func(at *host, text string) {
			_, _, err := chat.Append(chat.Path(at.home.Dir, "dev"), []byte("[USER:ann 2026-11-20T12:57:16Z] "+text+"\n"))
			lethetest.Must(t, err)
		}
		time.Sleep(5 * time.Minute)
		say(a, "one")
		time.Sleep(5 * time.Minute)
		lethetest.Must(t, seal.New(a.home.Dir))
		say(a, "two")
		time.Sleep(5 * time.Minute)
		say(b, "three")
		time.Sleep(10 * time.Minute)
		if b.hasRun("ada") {
			t.Error("b has taken ada from a host that is there")
		}
		if lines := strings.Count(said.String(), "\n"); lines != 2 || !strings.Contains(said.String(), "copy share.key from a host") {
			t.Errorf("b says in %d lines:\n%s", lines, said.String())
		}
		key, err := os.ReadFile(seal.File(a.home.Dir))
		lethetest.Must(t, err)
		lethetest.Must(t, durable.WriteFile(seal.File(b.home.Dir), key, 0o600))
		time.Sleep(5 * time.Minute)
		for _, at := range []*host{a, b} {
			text := lethetest.Read(t, chat.Path(at.home.Dir, "dev"))
			for _, word := range []string{"one", "two", "three"} {
				lethetest.Equal(t, word, strings.Count(text, word), 1)
			}
		}
		kill()
		until(t, 45*time.Second, func() bool { return b.hasRun("ada") })
	})
}

// A host that was started before it had share.key of its home says nothing that others cannot read. With the file it does.
func TestNoLeaseForAnotherKey(t *testing.T) {
	a := first(t)
	a.boot("ada")
	b := newHost(t, strings.TrimPrefix(a.conf.URL, "file://"), "b")
	lethetest.Must(t, b.connect())
	if err := b.say(t.Context(), time.Minute, false); !errors.Is(err, seal.ErrKey) {
		t.Errorf("%v", err)
	}
	later := time.Now().Add(time.Second) // both files were written just now, and are as long
	lethetest.Must(t, os.Chtimes(seal.File(b.join(a).home.Dir), later, later))
	_ = b.say(t.Context(), time.Minute, false) // which puts its own key back behind
	lethetest.Must(t, b.say(t.Context(), time.Minute, false))
	seen, err := a.sighted(t.Context(), b.Host.ID, sighting{})
	lethetest.Must(t, err)
	lethetest.Equal(t, "lease", seen.N, 1)
}
