package bridge

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
	// rewriteHealth is how often health.json is written at most, and beatHealth how
	// often at least: an old one tells nothing.
	rewriteHealth = time.Second
	beatHealth    = time.Minute
	// repeatTrouble is how often a trouble whose text changes is logged at most.
	repeatTrouble = time.Minute
)

// pulse is the content of health.json.
type pulse struct {
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	Written   time.Time `json:"written,omitzero"`
	Exchanged time.Time `json:"exchanged,omitzero"`
	// Late is since when the line waits that errors have held up longest, and Full
	// since when the inbox has been full; zero for none, and for not.
	Late        time.Time `json:"late,omitzero"`
	Full        time.Time `json:"full,omitzero"`
	Stopped     time.Time `json:"stopped,omitzero"`
	StaleSecs   float64   `json:"stale_seconds"`
	Unreachable []string  `json:"unreachable,omitempty"`
	Error       string    `json:"error,omitempty"`
	ErrorAt     time.Time `json:"error_at,omitzero"`
}

// vital is what is known of the bridge's health. Run writes it down.
type vital struct {
	name, path string
	log        *slog.Logger
	changed    chan struct{} // capacity 1: there is something to write
	beat       time.Duration // between two writes at most

	mu      sync.Mutex
	pulse   pulse
	dirty   bool
	urgent  bool // it is a change of state: do not wait for the second to pass
	wrote   time.Time
	other   trouble             // with fetching, and with all that is no sending
	out     sends               // with sending
	full    fullness            // of the inbox
	here    map[string]*trouble // with our own files, by what it concerns
	deafTo  map[string]bool     // peers that are unreachable, by key
	failing bool                // health.json could not be written
	failed  *failure            // the bridge ends with it; nil: none
	lost    bool                // health.json may be another process's
}

// failure is an error that a bridge ends with.
type failure struct {
	text string
	at   time.Time
}

// trouble is an error that goes on.
type trouble struct {
	text   string // of the newest error; empty: none
	began  time.Time
	logged time.Time // when a text was logged
	told   string    // which one
	quiet  bool      // its beginning was not logged, so neither is its end
}

func newVital(dir, name string, stale time.Duration, log *slog.Logger) *vital {
	return &vital{
		name: name, path: filepath.Join(dir, "health.json"), log: log,
		changed: make(chan struct{}, 1), beat: min(beatHealth, stale/2), out: newSends(),
		here: map[string]*trouble{}, deafTo: map[string]bool{},
		pulse: pulse{PID: os.Getpid(), Started: time.Now().UTC(), StaleSecs: stale.Seconds()},
	}
}

// Exchanged records that the other side has just answered successfully. Deliver
// does it for what it sends, unless Config.Listens says that this proves nothing;
// a transport does it for what it fetches.
func (b *Bridge) Exchanged() { b.vital.exchanged(time.Now()) }

// delivered is Exchanged for what Deliver has sent.
func (b *Bridge) delivered() {
	if !b.cfg.Listens {
		b.Exchanged()
	}
}

// Trouble records an error in fetching from the other side; what Deliver meets in
// sending is another trouble, and recorded by itself. It goes on until Exchanged; its
// beginning and its end are logged, and, at most once a minute, that it became
// another.
func (b *Bridge) Trouble(err error) {
	if err != nil {
		b.vital.trouble(time.Now(), err)
	}
}

// Fail says that the bridge ends with err, which it cannot get over by itself: a
// token that was revoked. Close then does not record that the bridge was stopped,
// so that it shows as dead, with err, until it is opened again. Only the first
// error counts; nil is none. It ends nothing: that is up to the caller.
func (b *Bridge) Fail(err error) {
	if err != nil {
		b.vital.fail(time.Now(), err)
	}
}

func (v *vital) fail(now time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = &failure{err.Error(), now.UTC()}
	}
	v.pulse.Error, v.pulse.ErrorAt = v.failed.text, v.failed.at
	v.touch(true)
}

func (v *vital) exchanged(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pulse.Exchanged = now.UTC()
	over, told := v.other.end()
	v.touch(over)
	if told {
		v.log.Info("reaches "+v.name+" again", "after", now.Sub(v.other.began).Round(time.Second))
	}
}

func (v *vital) trouble(now time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	began, tell := v.other.note(now, err.Error())
	v.pulse.Error, v.pulse.ErrorAt = err.Error(), now.UTC()
	v.touch(began)
	switch {
	case tell && began:
		v.log.Warn("cannot reach "+v.name, "err", err)
	case tell:
		v.log.Warn("still cannot reach "+v.name, "for", now.Sub(v.other.began).Round(time.Second), "err", err)
	}
}

// temporary is the name of a temporary file, another one at each attempt.
var temporary = regexp.MustCompile(`\.tmp-[0-9]+`)

// local records how it went with our own files; nil ends a trouble.
func (v *vital) local(what string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	t := v.here[what]
	if err == nil {
		if t == nil {
			return
		}
		if _, told := t.end(); told {
			v.log.Info("goes on", "what", what, "after", now.Sub(t.began).Round(time.Second))
		}
		if now.Sub(t.logged) > repeatTrouble {
			delete(v.here, what)
		}
		return
	}
	if t == nil {
		t = &trouble{}
		v.here[what] = t
	}
	began, tell := t.note(now, temporary.ReplaceAllString(err.Error(), "temporary file"))
	v.pulse.Error, v.pulse.ErrorAt = what+": "+err.Error(), now.UTC()
	v.touch(began)
	if tell {
		v.log.Warn("has to try again", "what", what, "err", err)
	}
}

// note takes an error in; tell says that it is worth a line in the log. One that
// comes and goes, or changes its text, is told once a minute.
func (t *trouble) note(now time.Time, text string) (began, tell bool) {
	began = t.text == ""
	if t.text = text; text == "" {
		t.text = "an error without words"
	}
	lately := !t.logged.IsZero() && now.Sub(t.logged) < repeatTrouble
	if began {
		t.began, t.quiet = now, true
	}
	tell = !lately && (t.quiet || text != t.told)
	if tell {
		t.logged, t.told, t.quiet = now, text, false
	}
	return began, tell
}

// end ends it; told says that its beginning was logged.
func (t *trouble) end() (over, told bool) {
	over = t.text != ""
	t.text = ""
	return over, over && !t.quiet
}

// reach records whether a peer takes anything; err is why not.
func (v *vital) reach(key string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.out.drop(key) // what it was tried again with is not late either
	}
	if v.deafTo[key] == (err != nil) {
		return
	}
	if err == nil {
		delete(v.deafTo, key)
		v.log.Info("a peer can be reached again", "peer", key)
	} else {
		v.deafTo[key] = true
		v.show(key, err)
		v.log.Warn("a peer cannot be reached until somebody acts there", "peer", key, "again", unreachablePause, "err", err)
	}
	v.pulse.Unreachable = slices.Sorted(maps.Keys(v.deafTo))
	v.touch(true)
}

// forget drops a peer that is gone.
func (v *vital) forget(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.deafTo, key)
	delete(v.here, "peer "+key)
	v.out.drop(key)
	v.pulse.Unreachable = slices.Sorted(maps.Keys(v.deafTo))
	v.touch(true)
}

// refused records that the other side will never take something.
func (v *vital) refused(key string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.show(key, err)
	v.touch(true)
	v.log.Warn("a part was refused and is left out", "peer", key, "err", err)
}

// waits records that the other side takes nothing for a peer for some time. That is
// in the order of things, so it is no trouble, but who looks can see it.
func (v *vital) waits(key string, later *LaterError) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.show(key, later.Err)
	v.out.told(time.Now(), key, later.After)
	v.touch(false)
	v.log.Debug("the other side wants to wait", "peer", key, "for", later.After, "err", later.Err)
}

// show makes what happened to a peer the newest error. The caller holds mu.
func (v *vital) show(key string, err error) {
	v.pulse.Error, v.pulse.ErrorAt = fmt.Sprintf("peer %s: %v", key, err), time.Now().UTC()
}

// touch says that there is something to write. The caller holds mu.
func (v *vital) touch(urgent bool) {
	v.dirty = true
	v.urgent = v.urgent || urgent
	nudge(v.changed)
}

// write writes health.json if there is something to write and it is time, or in
// any case when force is set; wait is how long until the next time at least.
func (v *vital) write(force bool) (wait time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost {
		return v.beat
	}
	now := time.Now()
	v.drained(now)
	pause := v.beat
	if v.dirty {
		pause = min(rewriteHealth, pause)
	}
	if age := now.Sub(v.wrote); !force && !v.urgent && age >= 0 && age < pause {
		return pause - age
	}
	v.pulse.Written, v.pulse.Late, v.pulse.Full = now.UTC(), v.late(now), v.full.since.UTC()
	data, err := json.Marshal(v.pulse)
	if err == nil {
		err = durable.Replace(v.path, append(data, '\n'), 0o600)
	}
	if err == nil {
		v.dirty, v.urgent, v.wrote, v.failing = false, false, now, false
		return v.beat
	}
	// Nothing depends on the file but what people see.
	if !v.failing {
		v.failing = true
		v.log.Warn("the bridge's health cannot be written", "err", err)
	}
	v.dirty, v.urgent, v.wrote = true, false, now
	return rewriteHealth
}

// lose ends the writing.
func (v *vital) lose() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lost = true
}

// stop writes down that the bridge was closed, or what it failed with, whatever
// went wrong after that.
func (v *vital) stop() {
	v.mu.Lock()
	if v.failed == nil {
		v.pulse.Stopped = time.Now().UTC()
	} else {
		v.pulse.Error, v.pulse.ErrorAt = v.failed.text, v.failed.at
	}
	v.mu.Unlock()
	v.write(true)
}
