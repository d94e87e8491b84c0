package agent

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/llm/rehearsal"
)

// An identity that fails and is opened again shows what is tried since when, is
// held meanwhile, and can be stopped.
func TestRetryingIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("the answer")})
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
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Supervise(ctx, []Identity{id}, func(id Identity) (*Agent, error) { return Open(id, w.conf) }, discard())
		close(ended)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	shown := func(state string) (s status.Status) {
		w.eventually("it shows "+state, func() bool {
			s, _ = status.Read(id.Dir)
			return s.State == state
		})
		return s
	}
	shown(status.Idle)
	full.Store(true)
	w.say("dev", "ann", "a question")
	s := shown(status.Retrying)
	contains(t, s.Error, "no space left")
	equal(t, "PID", s.PID, os.Getpid())
	equalSlices(t, "rooms", s.Rooms, []string{"dev"})
	w.eventually("it is held", func() bool { pid, ok := Running(id); return ok && pid == strconv.Itoa(os.Getpid()) })
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
		lethetest.Must(t, Stop(id)) // again: one that is being opened takes it for an old one
		select {
		case err := <-ended:
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Supervise returned %v", err)
			}
			return true
		default:
			return false
		}
	})
	shown(status.Stopped)
}
