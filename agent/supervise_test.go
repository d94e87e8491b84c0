package agent

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// An identity that fails and is opened again shows what is tried since when, is
// held meanwhile, and can be stopped.
func TestRetryingIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("the answer"))
	id := w.boot("ada", "dev")
	var full atomic.Bool
	var tried atomic.Int32
	lethetest.Break(w, w.home.Dir, func(stage durable.Stage, op, path string) error {
		if full.Load() && stage == durable.Before && path == id.LIFE() {
			tried.Add(1)
			return syscall.ENOSPC
		}
		return nil
	})
	lives := w.supervise(id)
	shown := func(state string) (now status.Status) {
		t.Helper()
		w.shows(id, "it shows "+state, func(s status.Status) bool { now = s; return s.State == state })
		return now
	}
	shown(status.Idle)
	full.Store(true)
	w.say("dev", "ann", "a question")
	s := shown(status.Retrying)
	contains(t, s.Error, "no space left")
	equal(t, "PID", s.PID, os.Getpid())
	equalSlices(t, "rooms", s.Rooms, []string{"dev"})
	w.eventually("it is held", func() bool { pid, ok := home.Running(id); return ok && pid == strconv.Itoa(os.Getpid()) })
	attempts := tried.Load()
	w.eventually("another attempt", func() bool { return tried.Load() > attempts })
	if again := shown(status.Retrying); !again.Since.Equal(s.Since) {
		t.Errorf("it fails since %v, and then since %v", s.Since, again.Since)
	}
	full.Store(false)
	equal(t, "the answer", w.answered("dev", 1), "the answer")
	shown(status.Idle)

	full.Store(true)
	w.say("dev", "ann", "a question")
	shown(status.Retrying)
	w.eventually("it stops", func() bool {
		lethetest.Must(t, home.Ask(id, home.WishStop)) // again: one that is being opened takes it for an old one
		select {
		case <-lives.done:
			return true
		default:
			return false
		}
	})
	if !errors.Is(lives.err, syscall.ENOSPC) {
		t.Errorf("Supervise returned %v", lives.err)
	}
	shown(status.Stopped)
}

// Blobs that are moved away while it runs, which is said, and back, cost nothing; what
// is no file in the place of a mark or of the status disturbs nobody.
func TestBlobsAreMovedAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("the answer"))
	id := w.boot("ada", "dev")
	lethetest.Must(t, errors.Join(os.MkdirAll(home.WishStop.Path(id)+"/x", 0o700), os.MkdirAll(home.WishCompact.Path(id)+"/x", 0o700)))
	w.supervise(id)
	w.say("dev", "ann", "a question")
	w.answered("dev", 1)
	away := w.home.Blobs() + ".away"
	lethetest.Must(t, os.Rename(w.home.Blobs(), away))
	w.say("dev", "ann", "another question")
	w.shows(id, "blobs are missing", func(s status.Status) bool {
		return s.State == status.Retrying && strings.Contains(s.Error, w.home.Blobs()+" is missing; move it back")
	})
	lethetest.Must(t, errors.Join(os.Rename(away, w.home.Blobs()), os.Remove(w.own(id, "status.json")),
		os.MkdirAll(w.own(id, "status.json/x"), 0o700)))
	equal(t, "the answer", w.answered("dev", 2), "the answer")
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"a question", "another question"})
}
