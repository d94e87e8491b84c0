package agent

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/tools"
	"lethe/trigger"
)

// triggers is the source of what the files of self/triggers/ say: see trigger_file.go.
// What they have done is in LIFE, and so in State.Fires, by their signers. A moment that has
// passed there never comes again; nothing else is remembered over a restart.
type triggers struct {
	a       *Agent
	looked  look // into it
	entries []fs.DirEntry
	all     map[string]*armed
	ctx     context.Context // of the commands
	cancel  context.CancelFunc
	slots   chan struct{} // how many of them run at once
	runs    sync.WaitGroup
	called  time.Time // when the first of the calls that have ended since the last look began; zero: none
}

// armed is a trigger, and what is known of it beside LIFE.
type armed struct {
	trigger.Trigger
	file    fs.FileInfo // as it was read
	since   time.Time   // it counts from when its file came to be as it is
	noticed time.Time   // when the clock was found to have been wrong, or zero
	own     bool        // the identity wrote it
	version string      // of the file
	heard   string      // the rooms that it was read for
	err     error       // why it cannot run
	failure string      // what keeps it from running now, or how its command failed
	stuck   []string    // the files that LIFE has told of and that cannot be moved, as of its last look
	wake    time.Time   // when it is to be looked at again; zero: at a signal
	request string      // names the file with which a person asks that it fires now, or ""

	run     *run      // of its command, until what it printed has fired, or nil
	checked time.Time // the newest moment for which the command printed nothing
	silent  int       // how often in a row

	look    string    // what is watched, as it looked last
	base    string    // its content then, when no firing tells of one
	changed time.Time // when it began to look so, if nothing has come of that yet
}

// moment is when and why a trigger fires.
type moment struct {
	at     time.Time
	missed int
	manual string // the request for it
	seen   string
}

// run is a command that runs beside the loop; printed and failure are set when done is closed.
type run struct {
	moment
	done             chan struct{}
	printed, failure string
}

const (
	settleTime  = 2 * time.Second // an editor's or a copy's many writes are one change
	mostRuns    = 4               // commands at once
	retryLater  = time.Minute
	leastPause  = time.Minute    // of a trigger that the identity wrote
	clockJumped = 24 * time.Hour // what is so far ahead was told by a clock that was wrong
)

func newTriggers(a *Agent) *triggers {
	t := &triggers{a: a, all: map[string]*armed{}, slots: make(chan struct{}, mostRuns)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// stop ends the commands.
func (t *triggers) stop() {
	t.cancel()
	t.runs.Wait()
}

func (t *triggers) next() (at time.Time) {
	for _, r := range t.all {
		at = sooner(at, r.wake)
	}
	return at
}

func (t *triggers) due(now time.Time) (out []record, err error) {
	if err := inOrder(t.a.subscriptions, t.reload); err != nil { // which rooms its calls have joined and left
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		r := t.all[name]
		if r.err == nil {
			r.wake = time.Time{}
			if r.Mail != "" {
				err = t.mail(r, now)
			} else if m, printed, ok := t.moment(r, now); ok {
				out, err = t.fire(r, m, printed, out)
			}
		}
		if r.err != nil {
			err = t.tell(r)
		}
		if err != nil {
			return nil, err
		}
	}
	t.called = time.Time{}
	return out, nil
}

// moment returns why a trigger fires now, with what its command has printed, if it does.
func (t *triggers) moment(r *armed, now time.Time) (m moment, printed string, ok bool) {
	if c := r.run; c != nil {
		select {
		case <-c.done:
		default:
			return m, "", false
		}
		r.failure = c.failure
		if m, printed, ok = c.moment, c.printed, c.printed != ""; !ok {
			r.run = nil
			t.nothing(r, c.moment)
		}
	}
	fired := t.a.state.Fires[r.Signer()]
	switch {
	case ok:
	case t.a.state.Awaits(r.Signer()) > 0:
	case r.request != "":
		m, ok = moment{at: now, manual: r.request, seen: cmp.Or(r.base, fired.Seen)}, true
	case r.Watch != "":
		m, ok = t.watched(r, fired, now)
	default:
		m, ok = r.scheduled(fired.Last, now)
	}
	if until := r.Loud(now); ok && m.manual == "" && until.After(now) { // it is late
		r.wake, ok = until, false
	}
	if ok && r.Run != "" && r.run == nil {
		t.start(r, m)
		return m, "", false
	}
	return m, printed, ok
}

// scheduled finds the moment that has come, after the last one that fired.
func (r *armed) scheduled(last, now time.Time) (m moment, ok bool) {
	last = r.after(last, now)
	next := r.NextCheck(last, r.silent)
	if next.IsZero() {
		return m, false
	}
	if r.wake = next.Add(r.Delay(next)); now.Before(r.wake) {
		return m, false
	}
	m.missed, m.at = r.Missed(last, now)
	if newest := m.at.Add(r.Delay(m.at)); !m.at.IsZero() && now.Before(newest) { // it counts those before it
		r.wake = newest
		return m, false
	}
	if m.at.IsZero() {
		if next = r.Next(now); !next.IsZero() {
			next = next.Add(r.Delay(next))
		} else if !r.At.IsZero() {
			r.err = fmt.Errorf("its time has passed, longer ago than its grace of %s", tools.Span(r.Grace))
		}
		r.wake = next
		return m, false
	}
	if r.Run != "" { // which of them found nothing is not recorded
		m.missed = 0
	}
	return m, true
}

// after is the moment after which the next one is looked for: the newest that was obeyed, or when
// the trigger was written. What a wrong clock has told counts as now, from when that is noticed.
func (r *armed) after(fired, now time.Time) (newest time.Time) {
	known := []time.Time{fired, r.checked, r.since}
	if !r.At.IsZero() {
		known = known[:2]
	}
	for _, at := range known {
		if at.After(now.Add(clockJumped)) {
			if r.noticed.IsZero() || r.noticed.After(now) {
				r.noticed = now
			}
			at = r.noticed
		}
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// start runs the command of a trigger beside the loop.
func (t *triggers) start(r *armed, m moment) {
	c := &run{moment: m, done: make(chan struct{})}
	r.run, r.changed = c, time.Time{}
	t.runs.Go(func() { // ends a minute after it has a slot, or with t
		defer t.a.stir()
		defer close(c.done)
		select {
		case t.slots <- struct{}{}:
			defer func() { <-t.slots }()
			c.printed, c.failure = t.a.cfg.runTrigger(t.ctx, r.Signer(), r.Run)
		case <-t.ctx.Done():
		}
	})
}

// nothing notes that a command has printed nothing: no line is posted, and none is written.
func (t *triggers) nothing(r *armed, m moment) {
	if m.manual != "" {
		t.remove(r, nowSuffix)
		r.request = ""
		return
	}
	r.silent++
	r.checked, r.base = m.at, m.seen
}

// fire adds the line of a trigger to what is to be recorded.
func (t *triggers) fire(r *armed, m moment, printed string, out []record) ([]record, error) {
	if ok, err := t.enter(r); !ok || err != nil {
		return out, err
	}
	text := r.Say
	if text == "" && r.Watch != "" {
		text = r.Watch + " has changed."
	}
	if m.missed > 0 {
		text += fmt.Sprintf("\n(times before this one that were missed: %d)", m.missed)
	}
	if m.manual != "" {
		text += "\n(a person has had this fire now; its times stay as they are)"
	}
	text = strings.TrimSpace(text + "\n" + printed)
	e := event.Fired{By: r.Signer(), Missed: m.missed, Silent: r.silent, Manual: m.manual, Seen: m.seen}
	r.silent, r.changed, r.base, r.run = 0, time.Time{}, m.seen, nil
	return append(out, t.a.firing(e, text, m.at, r.Room)), nil
}

// enter sees to it that the identity hears the room of a trigger, which its own ones name only when it does.
func (t *triggers) enter(r *armed) (ok bool, err error) {
	a := t.a
	heard := func() bool { return slices.Contains(a.joined(), r.Room) }
	if r.failure = ""; heard() {
		return true, nil
	}
	r.wake = time.Now().Add(retryLater)
	if err := a.cfg.Home.Subscribe(a.id, r.Room); err != nil {
		r.failure = err.Error()
	} else if err := a.subscriptions(); err != nil {
		return false, err
	}
	return heard(), nil
}

// remove removes a file that belongs to a trigger: itself, or a request.
func (t *triggers) remove(r *armed, suffix string) {
	if err := durable.Remove(t.a.files.path(triggerDir + "/" + r.Name + suffix)); err != nil {
		r.failure = err.Error()
	}
}

// status tells when triggers fire next, and what is wrong with them.
func (t *triggers) status() (all []status.Trigger) {
	if t == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		r := t.all[name]
		s := status.Trigger{Name: name, Next: r.wake.UTC(), Error: r.failure}
		if r.err != nil {
			s = status.Trigger{Name: name, Error: r.err.Error()}
		}
		all = append(all, s)
	}
	return all
}
