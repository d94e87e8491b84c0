package agent

import (
	"slices"
	"time"

	"lethe/life/event"
)

// source is something that wakes the identity by itself: its triggers, its jobs. What
// it has to say becomes a line in a room. The goroutine of Run alone calls it.
type source interface {
	// due returns what is to be recorded now, between units; each record goes out by
	// itself. It never waits.
	due(now time.Time) ([]record, error)
	// next is when the clock makes something due; zero when only stir does.
	next() time.Time
}

// startSources returns what wakes the identity, as far as it is configured.
func (a *Agent) startSources() (all []source) {
	a.triggers = newTriggers(a)
	all = append(all, deadlines{a}, &gone{Agent: a}, a.triggers, jobs{a})
	if a.cfg.Reviews.Self != "" {
		all = append(all, &review{a: a, of: a.cfg.Reviews})
	}
	if a.team != nil {
		all = append(all, (*lostChildren)(a))
	}
	return all
}

// stopSources ends what sources run beside the agent; it returns when all has ended.
func (a *Agent) stopSources() {
	for _, s := range a.sources {
		if s, ok := s.(interface{ stop() }); ok {
			s.stop()
		}
	}
}

// stir makes the agent ask its sources soon. Any goroutine may call it.
func (a *Agent) stir() {
	select {
	case a.stirred <- struct{}{}:
	default:
	}
}

// fireDue records what is due. The lines are heard like any others.
func (a *Agent) fireDue() error {
	for _, s := range a.sources {
		records, err := s.due(time.Now())
		if err == nil {
			err = a.fire(records)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fire commits what sources have to say, each for itself.
func (a *Agent) fire(records []record) error {
	for _, r := range records {
		switch e := r.event.(type) { // what was recorded before has changed the number
		case event.Fired:
			e.ID = a.noticeID()
			r.event = e
		case event.Error:
			e.ID = a.noticeID()
			r.event = e
		}
		if err := a.commit(r); err != nil {
			return err
		}
	}
	return nil
}

// nextDue is when the clock makes something due; zero when it does not.
func (a *Agent) nextDue() (at time.Time) {
	for _, s := range a.sources {
		at = sooner(at, s.next())
	}
	return at
}

// sooner is the earlier of two times; a zero one never comes.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// heardFor is a room in which something is told that belongs into room: another one where
// that is no longer heard, and "" where none is.
func (a *Agent) heardFor(room string) string {
	joined := a.joined()
	switch {
	case slices.Contains(joined, room):
		return room
	case len(joined) > 0:
		return joined[0]
	}
	return ""
}

// firing fixes the line that wakes the identity: what e.By signs in a room it hears, with
// the time that it was due. Rooms for notices may follow that.
func (a *Agent) firing(e event.Fired, text string, due time.Time, rooms ...string) record {
	e.Notice = a.notice(text, rooms...)
	e.TS = due.UTC().Truncate(time.Second)
	return record{event: e}
}
