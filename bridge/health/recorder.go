package health

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"lethe/internal/durable"
)

const (
	// writeEvery is how often health.json is written at most, unless the state changes,
	// and beat how often at least: an old one tells nothing.
	writeEvery = time.Second
	beat       = time.Minute
	// tellEvery is how often a trouble that comes and goes, or whose text changes, is logged at most.
	tellEvery = time.Minute
)

// Recorder keeps the health.json of a bridge that runs. Its methods may be called from any
// goroutine; all but Write only take notes.
type Recorder struct {
	// Changed has a value when there is something to write.
	Changed chan struct{}

	name, path string
	log        *slog.Logger
	beat       time.Duration

	mu       sync.Mutex
	f        file
	dirty    bool
	urgent   bool // the state changes: do not wait for the second to pass
	wrote    time.Time
	failing  bool // the file could not be written
	failed   bool // the bridge ends with an error, which f has
	troubles map[string]*trouble
	deaf     map[string]bool // keys of the peers that are unreachable
}

// trouble is an error that goes on.
type trouble struct {
	text   string // of the newest error; empty: it is over
	began  time.Time
	logged time.Time
	told   string // the text that was logged; empty: its beginning was not
	blocks bool   // it holds up lines
}

// NewRecorder is the recorder of the bridge called name, whose directory is dir.
func NewRecorder(dir, name string, stale time.Duration, log *slog.Logger) *Recorder {
	return &Recorder{
		Changed: make(chan struct{}, 1), name: name, path: filepath.Join(dir, "health.json"), log: log, beat: min(beat, stale/2),
		f:        file{PID: os.Getpid(), Started: time.Now().UTC(), StaleSecs: stale.Seconds()},
		troubles: map[string]*trouble{}, deaf: map[string]bool{},
	}
}

// Exchanged records that the other side has just answered successfully.
func (r *Recorder) Exchanged() {
	r.Trouble(r.reaching(), false, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.f.Exchanged = time.Now().UTC()
	r.touch(false)
}

// Unanswered records that the other side could not be reached. It goes on until Exchanged.
func (r *Recorder) Unanswered(err error) { r.Trouble(r.reaching(), false, err) }

func (r *Recorder) reaching() string { return "reach " + r.name }

// temporary is the name of a temporary file, another one at each attempt.
var temporary = regexp.MustCompile(`\.tmp-[0-9]+`)

// Trouble records how it went with something that the bridge does, as in "cannot <what>":
// err is shown as the newest error, its beginning and its end are logged, and at most once a
// minute that it became another; nil ends it. While one goes on that blocks, lines are late.
func (r *Recorder) Trouble(what string, blocks bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, t := time.Now(), r.troubles[what]
	if err == nil {
		r.end(now, what, t)
		return
	}
	if t == nil {
		t = &trouble{}
		r.troubles[what] = t
	}
	r.show("cannot "+what, err)
	began := t.text == ""
	if began {
		t.began, t.told = now, ""
	}
	t.text, t.blocks = "error: "+temporary.ReplaceAllString(err.Error(), "temporary file"), blocks
	r.touch(began)
	if t.text == t.told || now.Sub(t.logged) < tellEvery {
		return
	}
	if t.told == "" {
		r.log.Warn("cannot "+what, "err", err)
	} else {
		r.log.Warn("still cannot "+what, "for", now.Sub(t.began).Round(time.Second), "err", err)
	}
	t.logged, t.told = now, t.text
}

// end ends a trouble, if it goes on. The caller holds mu.
func (r *Recorder) end(now time.Time, what string, t *trouble) {
	if t == nil {
		return
	}
	if t.text != "" {
		r.touch(true)
		if t.told != "" {
			r.log.Info("can "+what+" again", "after", now.Sub(t.began).Round(time.Second))
		}
	}
	t.text = ""
	if now.Sub(t.logged) >= tellEvery {
		delete(r.troubles, what)
	}
}

func sending(peer string) string { return "send to peer " + peer }

// Unsent records that an error holds up the lines for a peer.
func (r *Recorder) Unsent(peer string, err error) { r.Trouble(sending(peer), true, err) }

// Sent records that nothing holds up the lines for a peer any more.
func (r *Recorder) Sent(peer string) {
	r.Trouble(sending(peer), true, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf[peer] {
		r.log.Info("a peer can be reached again", "peer", peer)
		r.setDeaf(peer, false)
	}
}

// Waits records that the other side takes nothing for a peer for some time, by err. That is
// no trouble.
func (r *Recorder) Waits(peer string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(time.Now(), sending(peer), r.troubles[sending(peer)])
	r.show("waiting to "+sending(peer), err)
	r.touch(false)
}

// Unreachable records that a peer takes nothing until somebody acts there.
func (r *Recorder) Unreachable(peer string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.troubles, sending(peer))
	if r.deaf[peer] {
		return
	}
	r.show("cannot "+sending(peer), err)
	r.log.Warn("a peer cannot be reached until somebody acts there", "peer", peer, "err", err)
	r.setDeaf(peer, true)
}

// Refused records that the other side will never take something.
func (r *Recorder) Refused(peer string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show("cannot "+sending(peer), err)
	r.touch(true)
	r.log.Warn("a part was refused and is left out", "peer", peer, "err", err)
}

// Left records that nothing is sent to a peer any more; gone says that the peer is forgotten.
func (r *Recorder) Left(peer string, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.troubles, sending(peer))
	if gone {
		r.setDeaf(peer, false)
	}
	r.touch(gone)
}

// setDeaf marks a peer as unreachable or not. The caller holds mu.
func (r *Recorder) setDeaf(peer string, deaf bool) {
	delete(r.deaf, peer)
	if deaf {
		r.deaf[peer] = true
	}
	r.f.Unreachable = slices.Sorted(maps.Keys(r.deaf))
	r.touch(true)
}

// Fail says that the bridge ends with err. Close then does not record that the bridge was
// stopped, so that it shows as dead, with err. Only the first error counts; nil is none.
func (r *Recorder) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.failed {
		r.show("", err)
		r.failed = true
		r.touch(true)
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
	r.f.Error, r.f.ErrorAt = err.Error(), time.Now().UTC()
}

// touch says that there is something to write. The caller holds mu.
func (r *Recorder) touch(urgent bool) {
	r.dirty, r.urgent = true, r.urgent || urgent
	select {
	case r.Changed <- struct{}{}:
	default: // one value stands for all
	}
}

// Write writes health.json if there is something to write and it is time, or in any case
// when force is set; wait is how long until the next time at least.
func (r *Recorder) Write(force bool) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, pause := time.Now(), r.beat
	if r.dirty {
		pause = min(writeEvery, pause)
	}
	if age := now.Sub(r.wrote); !force && !r.urgent && age >= 0 && age < pause {
		return pause - age
	}
	r.f.Written, r.f.Late = now.UTC(), r.late()
	data, err := json.Marshal(r.f)
	if err == nil {
		err = durable.Replace(r.path, append(data, '\n'), 0o600)
	}
	if err != nil && !r.failing { // only people depend on the file
		r.log.Warn("the bridge's health cannot be written", "err", err)
	}
	r.failing, r.dirty, r.urgent, r.wrote = err != nil, err != nil, false, now
	if r.failing {
		return writeEvery
	}
	return r.beat
}

// late is since when errors hold up a line; zero: none does. The caller holds mu.
func (r *Recorder) late() (oldest time.Time) {
	for _, t := range r.troubles {
		if t.blocks && t.text != "" && (oldest.IsZero() || t.began.Before(oldest)) {
			oldest = t.began.UTC()
		}
	}
	return oldest
}

// Close writes down that the bridge was closed, or what it failed with.
func (r *Recorder) Close() {
	r.mu.Lock()
	if !r.failed {
		r.f.Stopped = time.Now().UTC()
	}
	r.mu.Unlock()
	r.Write(true)
}
