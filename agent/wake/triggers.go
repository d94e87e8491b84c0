package wake

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"lethe/agent/adopt/shelf"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/wake/trigger"
	"lethe/life/event"
	"lethe/mind"
)

// Triggers is the source of the lines of self/triggers/: see files.go. LIFE holds their firings,
// and View.Fires the newest by its signer. A moment before that never comes again; nothing else
// is remembered over a restart.
type Triggers struct {
	Config
	there  bool // their directory
	all    map[string]*loaded
	ctx    context.Context // of the commands
	cancel context.CancelFunc
	slots  chan struct{} // one for each command that may run at once
	runs   sync.WaitGroup
}

// loaded is a trigger as its file has it.
type loaded struct {
	trigger.Trigger
	file    fs.FileInfo // as it was read
	own     bool        // the identity wrote it
	version string      // of the file
	heard   string      // the rooms that it was read for
	err     error       // why it cannot run
	wake    time.Time   // the time of the next look at it; zero: at a signal
	request string      // names the file of a person who asks that it fires now, or ""
	progress
}

// progress is the state of a trigger that LIFE does not hold.
type progress struct {
	since   time.Time // the time of its file's last change, its beginning
	noticed time.Time // when the clock was found to have been wrong, or zero
	failure string    // why it cannot run now, or why its command failed
	stuck   []string  // files that LIFE has told of and that could not be moved at the last look

	run     *run      // of its command, until its output has fired; or nil
	checked time.Time // the newest moment at which the command printed nothing

	look    string    // how the watched thing looked last
	base    string    // its content then, if no firing tells of one
	list    string    // the watched files at the last look at their content
	changed time.Time // when it began to look so, if nothing has come of that yet

	entered bool // the identity was subscribed to its room
}

// moment is a time at which a trigger fires, with the reason.
type moment struct {
	at     time.Time
	missed int
	manual string // the request for it
	seen   string
	// changes names the files that came, changed and went.
	changes string
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
	clockJumped = 24 * time.Hour // a time so far ahead is of a clock that was wrong
)

// NewTriggers returns the triggers of an identity; Stop ends their commands.
func NewTriggers(c Config) *Triggers {
	t := &Triggers{Config: c, all: map[string]*loaded{}, slots: make(chan struct{}, mostRuns)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// Stop ends the commands. It returns when they have ended.
func (t *Triggers) Stop() {
	t.cancel()
	t.runs.Wait()
}

// Running reports whether a command runs.
func (t *Triggers) Running() bool { return len(t.slots) > 0 }

// Due returns the lines of the triggers that fire now, and the time of the next look.
func (t *Triggers) Due(v View) (out []Commit, next time.Time, err error) {
	if err := t.reload(v); err != nil {
		return nil, next, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		r := t.all[name]
		if r.err == nil {
			r.wake = time.Time{}
			if r.Mail != "" {
				if out, err = t.mail(r, v, out); err != nil {
					return nil, next, err
				}
			} else if m, printed, ok := t.firing(r, v); ok && t.enter(r, v) {
				out = append(out, t.fire(r, m, printed))
			}
		}
		if r.err != nil {
			out = append(out, t.tell(r, v)...)
		}
		next = Sooner(next, r.wake)
	}
	return out, next, nil
}

// firing returns the moment of a trigger that fires now, with the output of its command. ok is false if it does not
// fire.
func (t *Triggers) firing(r *loaded, v View) (m moment, printed string, ok bool) {
	now := v.Now
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
	fired := v.Fires[r.Signer()]
	switch {
	case ok:
	case mind.Awaits(v.Wakes, r.Signer()) > 0:
	case r.request != "":
		m, ok = moment{at: now, manual: r.request, seen: cmp.Or(r.base, fired.Seen)}, true
	case r.Watch != "":
		m, ok = t.watched(r, fired, now)
	default:
		m, ok = r.scheduled(fired.Last, now)
	}
	if !ok {
		return m, "", false
	}
	if until := r.Loud(now); m.manual == "" && until.After(now) { // it is late
		r.wake = until
		return m, printed, false
	}
	if r.Adopt != "" {
		r.failure = ""
		if err := shelf.Ask(t.Identity, r.Signer(), r.Adopt); err != nil {
			r.failure = err.Error()
		}
		t.nothing(r, m)
		return m, "", false
	}
	if r.Run != "" && r.run == nil {
		t.start(r, m)
		return m, "", false
	}
	return m, printed, true
}

// scheduled returns the moment that has come since it last fired.
func (r *loaded) scheduled(last, now time.Time) (m moment, ok bool) {
	last = r.obeyed(last, now)
	if r.wake = r.Next(last); r.wake.IsZero() || now.Before(r.wake) {
		return m, false
	}
	if m.missed, m.at = r.Missed(last, now); m.at.IsZero() { // it is too late for every one
		if r.wake = r.Next(now); !r.At.IsZero() {
			r.err = fmt.Errorf("its time has passed, longer ago than its grace of %s", tools.Span(r.Grace))
		}
		return m, false
	}
	if r.Run != "" { // a time at which the command printed nothing is not recorded, and would count as missed
		m.missed = 0
	}
	return m, true
}

// obeyed returns the moment after which the trigger may fire next: its newest firing, or the time at which the trigger was
// written. A moment in the future, from a wrong clock, counts as the moment at which it was noticed.
func (r *loaded) obeyed(fired, now time.Time) (newest time.Time) {
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
func (t *Triggers) start(r *loaded, m moment) {
	c := &run{moment: m, done: make(chan struct{})}
	r.run, r.changed = c, time.Time{}
	t.runs.Go(func() { // ends a minute after it has a slot, or with t
		defer t.Wake()
		defer close(c.done)
		select {
		case t.slots <- struct{}{}:
			defer func() { <-t.slots }()
			c.printed, c.failure = t.Config.Run(t.ctx, r.Signer(), r.Run)
		case <-t.ctx.Done():
		}
	})
}

// nothing notes that a command has printed nothing. No line is posted or written.
func (t *Triggers) nothing(r *loaded, m moment) {
	if m.manual != "" {
		_ = (home.WishFire + home.Wish(r.Name)).Drop(t.Identity)
		r.request = ""
		return
	}
	r.checked, r.base = m.at, m.seen
	t.keep(r)
}

// fire is the line of a trigger.
func (t *Triggers) fire(r *loaded, m moment, printed string) Commit {
	text := r.Say
	if text == "" && r.Watch != "" {
		text = r.Watch + " has changed."
	}
	if m.changes != "" {
		text += "\n(" + m.changes + ")"
	}
	if m.missed > 0 {
		text += fmt.Sprintf("\n(times before this one that were missed: %d)", m.missed)
	}
	if m.manual != "" {
		text += "\n(a person has had this fire now; its times stay as they are)"
	}
	r.changed, r.base, r.run = time.Time{}, m.seen, nil
	t.keep(r)
	fired := event.Fired{By: r.Signer(), Missed: m.missed, Manual: m.manual, Seen: m.seen}
	return Commit{t.Fire(fired, strings.TrimSpace(text+"\n"+printed), m.at, r.Room)}
}

// enter has the identity hear the room of a trigger of a person's, and reports whether it does already. Its own
// triggers run only while it hears their rooms.
func (t *Triggers) enter(r *loaded, v View) bool {
	r.failure = ""
	if slices.Contains(v.Joined, r.Room) {
		return true
	}
	r.wake = v.Now.Add(retryLater)
	if err := t.Home.Subscribe(t.Identity, r.Room); err != nil {
		r.failure = err.Error()
	}
	if !r.entered { // the next view has the room
		t.Wake()
	}
	r.entered = true
	return false
}

// Status returns the time of each trigger's next firing, or its error.
func (t *Triggers) Status() (all []status.Trigger) {
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
