package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func pipe(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syscall.Mkfifo(path, 0o600)
}

func idle() *chat.Watcher { return chat.NewWatcher(0, nil) }

// Nobody is taken for gone because the list of them cannot be read.
func TestPeersCannotBeListed(t *testing.T) {
	b := open(t)
	b.accept(message("1", "ada", "question"))
	dir := b.file("peers")
	lethetest.Must(t, errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)))
	if keys, err := b.Peers(); err == nil {
		t.Errorf("peers of a file: %q", keys)
	}
	lethetest.Must(t, errors.Join(os.Remove(dir), os.Rename(dir+".away", dir), os.WriteFile(filepath.Join(dir, ".x.json"), nil, 0o600)))
	keys, err := b.Peers()
	lethetest.Must(t, err)
	equal(t, "peers", keys, "p-ada")
}

// Neither a pipe nor a giant in the state keeps a process that asks after a bridge, or opens
// one, waiting.
func TestOddFiles(t *testing.T) {
	home := t.TempDir()
	start(t, home).abandon()
	giant := inState(home, "inbox.jsonl")
	must(0, errors.Join(pipe(inState(home, "peers/a.json")), os.WriteFile(giant, nil, 0o600), os.Truncate(giant, maxState+1)))
	if h := healthOf(t, home); h.State != Dead || h.Error == "" {
		t.Errorf("health %+v", h)
	}
	for _, path := range []string{giant, inState(home, "lock")} {
		must(0, pipe(path))
		if _, err := Open(Config{Home: home, Name: "pager", Watcher: idle()}); !errors.Is(err, durable.ErrNotRegular) &&
			!strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("opened with a pipe for %s: %v", path, err)
		}
		must(0, os.Remove(path))
	}
}

// What an answer may be to: the lines since the last answer, of many the newest.
func TestOpenQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		n := 0
		ask := func(times int) {
			for range times {
				n++
				b.accept(message(fmt.Sprint(n), "ada", fmt.Sprint("question ", n)))
			}
		}
		s := &script{}
		is := func(want ...string) {
			t.Helper()
			b.agentSays(fmt.Sprint("answer after ", n))
			b.catchUp(ada, s)
			var got []string
			for _, o := range s.offered[len(s.offered)-1].Open {
				got = append(got, o.ID)
			}
			equal(t, "open questions", got, want...)
		}
		ask(1)
		is("1")
		ask(2)
		b.catchUp(ada, &script{})
		b.again()
		ask(1)
		is("2", "3", "4")
		ask(20)
		is("9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24")
		ask(1)
		is("25")
	})
}
