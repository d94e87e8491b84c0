package report

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/life"
)

// How long a person waits at most for a wish, where that is bounded.
const (
	stopTime    = 10 * time.Second
	compactTime = 10 * time.Minute
)

// until looks every 20 milliseconds whether something is done. After a time (0: never) it fails with late.
func until(ctx context.Context, most time.Duration, late error, done func() (bool, error)) error {
	var end <-chan time.Time
	if most > 0 {
		end = time.After(most)
	}
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return late
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Start has an identity be kept running, and waits until it hears its rooms. keep starts a process that runs it, unless
// one does.
func Start(ctx context.Context, id home.Identity, offline bool, keep func() error) error {
	err := id.Start(offline, "")
	if err == nil {
		err = keep()
	}
	if err != nil {
		return err
	}
	late := fmt.Errorf("start %s: it does not run yet; lethe.log in the home tells more", id.Name)
	return until(ctx, stopTime, late, func() (bool, error) {
		if s, _ := id.Started(); s.Failed != "" {
			return false, fmt.Errorf("start %s: %s", id.Name, s.Failed)
		}
		pid, running := home.Running(id)
		live, _ := Live(id)
		ready := live.State != status.Stopped && live.State != status.Starting
		shown := running && pid == strconv.Itoa(live.PID)
		return shown && ready, nil
	})
}

// Stop asks an identity to stop for good, and waits until it has. ran is false where it did not run.
func Stop(ctx context.Context, id home.Identity) (ran bool, err error) {
	if err := id.Unstart(); err != nil { // first: a process that takes the identity up now sees that
		return false, err
	}
	return Halt(ctx, id)
}

// Halt is Stop for the caller, who has taken id.Hold: who was kept running goes on when that is released.
func Halt(ctx context.Context, id home.Identity) (ran bool, err error) {
	pid, ran := home.Running(id)
	if !ran {
		return false, nil
	}
	if err := home.Leave(id, home.WishStop, ""); err != nil {
		return true, err
	}
	late := fmt.Errorf("stop %s: it still runs in process %s", id.Name, pid)
	how := fmt.Sprintf("it has been asked; kill %s ends it at once and loses nothing", pid)
	return true, until(ctx, stopTime, hintedError{late, how}, func() (bool, error) {
		_, running := home.Running(id)
		return !running, nil
	})
}

// StopJob asks a running identity to stop a job, and waits until it has ended.
func StopJob(ctx context.Context, id home.Identity, n int) (job Job, err error) {
	refuse := func(why string) error { return fmt.Errorf("stop job %d of %s: %s", n, id.Name, why) }
	look := func() error {
		s, err := tools.ReadJob(id.Dir, n)
		job = jobOf(id, s)
		return err
	}
	switch err := look(); {
	case err != nil:
		return job, fmt.Errorf("stop job %d of %s: %w", n, id.Name, home.ErrNotFound)
	case job.State == "lost":
		return job, refuse("it was killed together with its daemon")
	case job.State == "ended":
		return job, refuse("it has ended: " + job.End)
	}
	if err := home.Ask(id, home.WishStopJob+home.Wish(strconv.Itoa(n))); err != nil {
		return job, err
	}
	err = until(ctx, stopTime, refuse("it was asked for and still runs"), func() (bool, error) {
		return look() == nil && job.State != "running", nil
	})
	return job, err
}

// Compact asks a running identity to compact its context, and waits until it has, or had nothing to compact. keep is
// what a person says about it, or "".
func Compact(ctx context.Context, id home.Identity, keep string) error {
	wish := home.CompactWish(keep)
	err := home.Ask(id, wish)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = &InvalidError{fmt.Errorf("what a compaction is to keep has %d bytes; say it in 240", len(keep)), ""}
	}
	if err != nil {
		return err
	}
	late := fmt.Errorf("compact %s: no answer within %s; it goes on in the background", id.Name, compactTime)
	return until(ctx, compactTime, late, func() (bool, error) {
		asked := home.Asked(id, wish) // first: it is shown as compacting before the wish goes
		live, running := Live(id)
		if !running {
			return false, fmt.Errorf("compact %s: it stopped meanwhile", id.Name)
		}
		return !asked && !live.Compacting, nil
	})
}

// Branch is Obey for home.WishLabel and home.WishBack.
func (h Home) Branch(ctx context.Context, id home.Identity, wish home.Wish, busy func()) error {
	return Obey(ctx, id, wish, "", busy, func() error { return journal.BranchOffline(h.Home, id, h.Store) })
}

// Obey leaves a wish with an identity, and waits until it is obeyed. here obeys where the identity does not run. busy is
// called when it has to end a turn first. When ctx ends, the wish stays.
func Obey(
	ctx context.Context, id home.Identity, wish home.Wish, text string, busy func(), here func() error,
) error {
	if err := home.Leave(id, wish, text); err != nil {
		return err
	}
	told := false
	return until(ctx, 0, nil, func() (bool, error) {
		if !home.Asked(id, wish) {
			return true, nil
		}
		if live, running := Live(id); running {
			if live.State != "idle" && !told {
				told = true
				busy()
			}
			return false, nil
		}
		err := here()
		switch {
		case errors.As(err, new(*home.RunningError)): // it has just begun to run
			return false, nil
		case err == nil && home.Asked(id, wish):
			err = fmt.Errorf("ask %s: it ended in the middle of a call; "+
				"it is done in its next run, when that turn is over", id.Name)
		}
		return false, err
	})
}

// Switch asks an identity to use another model, and waits for its answer, a line of its LIFE. The answer is zero where
// the identity does not run, or when ctx ends: then it obeys when it runs.
func Switch(ctx context.Context, id home.Identity, model string) (answer life.Event, err error) {
	before, err := os.Stat(id.LIFE())
	if err != nil {
		return answer, err
	}
	wish := home.WishModel + home.Wish(url.PathEscape(model))
	if err := home.Ask(id, wish); err != nil {
		return answer, err
	}
	err = until(ctx, 0, nil, func() (bool, error) {
		_, running := home.Running(id)
		return !running || !home.Asked(id, wish), nil
	})
	if err != nil {
		return answer, err
	}
	err = life.Scan(id.LIFE(), func(e life.Event, at int64) error {
		if e.Kind == "model" && at >= before.Size() {
			answer = e
		}
		return nil
	})
	return answer, err
}

// AwaitListener gives a daemon that was started a moment ago the time to hear a room: a second to take its lock, and
// more to show its status.
func (h Home) AwaitListener(ctx context.Context, room string) {
	began := time.Now()
	_ = until(ctx, stopTime, nil, func() (bool, error) {
		starting := time.Since(began) < time.Second
		for _, id := range h.Hearers(room) {
			live, _ := Live(id)
			pid, running := home.Running(id)
			shown := pid == strconv.Itoa(live.PID)
			if !running {
				continue
			}
			if shown && slices.Contains(live.Rooms, room) {
				return true, nil
			}
			starting = starting || !shown
		}
		return !starting, nil
	})
}

// Fire asks an identity to fire one of its triggers once, now; it does so when it runs.
// The trigger's schedule stays.
func Fire(id home.Identity, name string, all []Trigger) error {
	for _, one := range all {
		hasFile := one.When != "" || one.Error != ""
		switch {
		case one.Name != name, !hasFile:
		case one.When == "":
			return Wrong(id, []Trigger{one})
		case one.Paused:
			return Invalid("%s is paused", name)
		case strings.HasPrefix(one.When, "mail "):
			err := fmt.Errorf("%s fires for a file, not when it is asked to", name)
			return &InvalidError{err, "put one into its directory"}
		default:
			return home.Ask(id, home.WishFire+home.Wish(name))
		}
	}
	return fmt.Errorf("find trigger %s of %s: %w", name, id.Name, home.ErrNotFound)
}
