package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lethe/internal/lethetest"
	"lethe/life"
	"lethe/llm/rehearsal"
)

// short is a life of one turn, stopped without the epoch of a clean stop.
func (w *world) short() Identity {
	w.Helper()
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "the first line")
	w.run(id, dieAt("posted", 1)).killed()
	return id
}

func TestTornLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("yes")})
	id := w.short()
	f, err := os.OpenFile(id.LIFE(), os.O_WRONLY|os.O_APPEND, 0)
	lethetest.Must(t, err)
	_, err = f.WriteString("[2026-11-20T12:57:16.000000Z] inbound e9 room=d")
	lethetest.Must(t, errors.Join(err, f.Close()))
	r := w.run(id)
	w.ask("dev", "the second line")
	r.finish()
	torn, err := filepath.Glob(id.LIFE() + ".torn-*")
	lethetest.Must(t, err)
	equal(t, "torn ends", len(torn), 1)
	equalSlices(t, "heard", w.heard(id, "dev"), []string{"the first line", "the second line"})
}

// A blob of the context that is not what it was is not lived with.
func TestAlteredBlob(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("yes")})
		id := w.short()
		h := w.fold(id).Live[1].Ref.Hash
		path := w.store.Path(h)
		if gone {
			lethetest.Must(t, os.Remove(path))
		} else {
			w.rewrite(path, replace("first line", "FIRST LINE"))
		}
		before := w.read(id.LIFE())
		_, err := w.try(id)
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("gone %v: it is opened: %v", gone, err)
		}
		contains(t, err.Error(), h.String()[:16])
		equal(t, "LIFE", w.read(id.LIFE()), before)
	}
}

func TestAlteredLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("yes")})
	id := w.short()
	w.rewrite(id.LIFE(), replace("lines=1", "lines=2"))
	before := w.read(id.LIFE())
	if _, err := w.try(id); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("it is opened: %v", err)
	}
	equal(t, "LIFE", w.read(id.LIFE()), before)
}

// A clock that has jumped back does not turn a life around.
func TestClockJumpsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Answer: text("yes")})
	id := w.short()
	log, err := life.Open(id.LIFE())
	lethetest.Must(t, err)
	later := time.Now().Add(time.Hour)
	lethetest.Must(t, errors.Join(log.Append(life.New(later, "stopped", nil, "why", "signal")), log.Close()))
	r := w.run(id)
	w.ask("dev", "the second line")
	r.finish()
	w.run(id).stop()
	var last time.Time
	for _, e := range w.life(id) {
		if e.At.Before(last) {
			t.Fatalf("%s happened before what it follows", e)
		}
		last = e.At
	}
	line := w.lines("dev")[3]
	if d := time.Until(line.At); d > time.Minute {
		t.Errorf("what is said in rooms goes by the clock, not by the life: %v", line.At)
	}
}
