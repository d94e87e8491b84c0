package health

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/internal/durable"
)

const (
	// writeEvery is how often health.json is written at most, and beat how often at least: an
	// old one tells nothing.
	writeEvery = time.Second
	beat       = time.Minute
	// tellEvery is how often a trouble that comes and goes is logged at most.
	tellEvery = time.Minute
)

// Recorder keeps the health.json of a bridge that runs. Its methods may be called from any
// goroutine; all but Write, Run and Close only take notes.
type Recorder struct {
	name, path string
	log        *slog.Logger
	changed    chan struct{} // capacity 1: there is something to write

	mu       sync.Mutex
	report   Report
	failing  bool // the file could not be written
	failed   bool // the bridge ends with an error, which the report has
	troubles map[string]trouble
}

// trouble is an error that goes on, or went on lately.
type trouble struct {
	began  time.Time // zero: it is over
	effect Effect
	logged time.Time // its newest beginning that was
}

// Effect is what an error does to lines.
type Effect int

// Effects.
const (
	NoLines     Effect = iota // it holds up none
	HoldsUp                   // lines wait for it to end
	Unreachable               // a peer takes nothing until somebody acts there
	Waiting                   // the other side takes nothing for some time, which is no trouble
	Refused                   // a part is left out, since the other side will never take it
)

const sending = "send to peer "

// Sending names what a bridge does for a peer, for Trouble.
func Sending(peer string) string { return sending + peer }

// NewRecorder is the recorder of the bridge called name, whose directory is dir.
func NewRecorder(dir, name string, log *slog.Logger) *Recorder {
	return &Recorder{
		changed: make(chan struct{}, 1), name: name, path: filepath.Join(dir, "health.json"), log: log,
		report: Report{PID: os.Getpid(), Started: time.Now().UTC()}, troubles: map[string]trouble{},
	}
}

// Reaching names for Trouble what goes on until Exchanged.
func Reaching(name string) string { return "reach " + name }

// Exchanged records that the other side has just answered successfully.
func (r *Recorder) Exchanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(Reaching(r.name))
	r.report.Exchanged = time.Now().UTC()
	r.touch()
}

// Listening records where the other side comes to the bridge.
func (r *Recorder) Listening(url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Listening = url
	r.touch()
}

// Trouble records how it went with something that the bridge does, as in "cannot <what>":
// err is shown as the newest error, its beginning, at most once a minute, and its end are
// logged; nil ends it.
func (r *Recorder) Trouble(what string, effect Effect, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.end(what)
		return
	case effect == Waiting:
		r.end(what)
		r.show("waiting to "+what, err)
		return
	}
	r.show("cannot "+what, err)
	if effect == Refused {
		r.log.Warn("cannot "+what+": a part was refused and is left out", "err", err)
		return
	}
	now, t := time.Now(), r.troubles[what]
	if t.began.IsZero() || t.effect != effect {
		t.began, t.effect = now, effect
	}
	if t.logged.Before(t.began) && now.Sub(t.logged) >= tellEvery {
		r.log.Warn("cannot "+what, "err", err)
		t.logged = now
	}
	r.troubles[what] = t
}

// end ends a trouble, if it goes on. The caller holds mu.
func (r *Recorder) end(what string) {
	t := r.troubles[what]
	if t.began.IsZero() {
		return
	}
	if !t.logged.Before(t.began) {
		r.log.Info("can "+what+" again", "after", time.Since(t.began).Round(time.Second))
	}
	r.troubles[what] = trouble{logged: t.logged}
	r.touch()
}

// Over records that the bridge does something no more.
func (r *Recorder) Over(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.troubles, what)
	r.touch()
}

// Fail says that the bridge ends with err. Close then does not record that the bridge was
// stopped, so that it shows as dead, with err. Only the first error counts; nil is none.
func (r *Recorder) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.failed {
		r.show("", err)
		r.failed = true
	}
}

// show makes err the newest error. The caller holds mu.
func (r *Recorder) show(what string, err error) {
	if r.failed {
		return
	}
	if what != "" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	r.report.Error, r.report.ErrorAt = err.Error(), time.Now().UTC()
	r.touch()
}

// touch says that there is something to write.
func (r *Recorder) touch() {
	select {
	case r.changed <- struct{}{}:
	default: // one value stands for all
	}
}

// Run writes health.json when there is something to write, at most once a second, and at
// least once a minute, until ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.Write()
		select {
		case <-ctx.Done():
		case <-time.After(writeEvery):
		}
		select {
		case <-ctx.Done():
		case <-r.changed:
		case <-time.After(beat):
		}
	}
	r.Write()
}

// Write writes health.json. Only people depend on it: that it fails is logged, once.
func (r *Recorder) Write() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Written = time.Now().UTC()
	r.count()
	data, err := json.Marshal(r.report)
	if err == nil {
		err = durable.Replace(r.path, append(data, '\n'), 0o600)
	}
	if err != nil && !r.failing {
		r.log.Warn("the bridge's health cannot be written", "err", err)
	}
	r.failing = err != nil
}

// count makes the report's Late and Unreachable. The caller holds mu.
func (r *Recorder) count() {
	r.report.Late, r.report.Unreachable = time.Time{}, nil
	for what, t := range r.troubles {
		switch late := r.report.Late; {
		case t.began.IsZero():
		case t.effect == Unreachable:
			r.report.Unreachable = append(r.report.Unreachable, strings.TrimPrefix(what, sending))
		case t.effect == HoldsUp && (late.IsZero() || t.began.Before(late)):
			r.report.Late = t.began.UTC()
		}
	}
	slices.Sort(r.report.Unreachable)
}

// Close writes down that the bridge was closed, or what it failed with.
func (r *Recorder) Close() {
	r.mu.Lock()
	if !r.failed {
		r.report.Stopped = time.Now().UTC()
	}
	r.mu.Unlock()
	r.Write()
}
