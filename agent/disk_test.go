package agent

import (
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// causes are what a disk, or the system in front of it, says of a step. The last
// one ends a write in the middle.
var causes = []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EMFILE, &durable.Short{Bytes: 30, Err: syscall.ENOSPC}}

// badDisk lets durable steps of a home fail. A nil one is a good disk.
type badDisk struct {
	mu     sync.Mutex
	fails  func(stage durable.Stage, op, path string) error // nil: never
	steps  int                                              // that were begun
	failed string                                           // the path of the newest step that failed
	spared bool                                             // somebody else writes
	dead   bool                                             // a kill: nothing more is written before the next restart
	kill   func()
}

// put makes it the disk of a home until the test ends, or mended is called.
func (d *badDisk) put(w *world) (mended func()) { return lethetest.Break(w, w.home.Dir, d.ask) }

func (d *badDisk) ask(stage durable.Stage, op, path string) (err error) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if stage == durable.Before {
		d.steps++
	}
	switch {
	case d.spared || d.fails == nil:
		return nil
	case d.dead:
		return syscall.EIO
	}
	if err = d.fails(stage, op, path); err != nil {
		d.failed = path
	}
	return err
}

// failingAt does something while one durable step of the home fails, the first being 0, and reports whether it came so far.
func (w *world) failingAt(step int, do func() error) (failed bool, err error) {
	w.Helper()
	defer lethetest.Break(w, w.home.Dir, func(durable.Stage, string, string) error {
		if step--; step == -1 {
			failed = true
			return errors.New("the disk")
		}
		return nil
	})()
	return failed, do()
}

// once fails the first step that is the one.
func once(cause error, is func(stage durable.Stage, op, path string) bool) *badDisk {
	done := false
	return &badDisk{fails: func(stage durable.Stage, op, path string) error {
		if done || !is(stage, op, path) {
			return nil
		}
		done = true
		if short, ok := cause.(*durable.Short); ok && stage == durable.After {
			return short.Err
		}
		return cause
	}}
}

// nth fails the n-th step, before or after it was done.
func nth(n int, stage durable.Stage, cause error) *badDisk {
	return once(cause, func(at durable.Stage, _, _ string) bool {
		if at == stage {
			n--
		}
		return at == stage && n == 0
	})
}

// filling is full when room writes were made on it, and is emptied when it was found
// full twice, and so again. What is written last is cut off.
func filling(room int) *badDisk {
	writes, hits := 0, 0
	return &badDisk{fails: func(stage durable.Stage, op, _ string) error {
		if stage != durable.Before || op != "write" && op != "append" {
			return nil
		}
		if writes++; writes < room || hits == 4 {
			return nil
		}
		if hits++; hits%2 == 0 {
			writes = 0
		}
		return &durable.Short{Bytes: 3 * room, Err: syscall.ENOSPC}
	}}
}

// failing fails steps with probability p, and half of the time that is a kill.
func failing(r *rand.Rand, p float64) *badDisk {
	d := &badDisk{}
	d.fails = func(stage durable.Stage, _, _ string) error {
		if r.Float64() >= p {
			return nil
		}
		if d.dead = r.IntN(2) == 0; d.dead && d.kill != nil {
			d.kill()
		}
		if stage == durable.Before && r.IntN(3) == 0 {
			return &durable.Short{Bytes: r.IntN(200), Err: syscall.ENOSPC}
		}
		return causes[r.IntN(len(causes)-1)]
	}
	return d
}

// restart ends a kill: what was killed is about to be started again.
func (d *badDisk) restart() { d.set(func() { d.dead, d.kill = false, nil }) }

// isDead reports whether all fails until restart.
func (d *badDisk) isDead() (dead bool) {
	d.set(func() { dead = d.dead })
	return dead
}

// kills ends r with the disk: an identity that only waits for it would live on.
func (d *badDisk) kills(r *running) {
	d.set(func() {
		if d.kill = r.cancel; d.dead {
			r.cancel()
		}
	})
}

// spare does what does not fail.
func (d *badDisk) spare(do func()) {
	d.set(func() { d.spared = true })
	do()
	d.set(func() { d.spared = false })
}

func (d *badDisk) set(change func()) {
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		change()
	}
}
