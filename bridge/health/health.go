// Package health tells how bridges fare. A bridge that runs keeps health.json in its
// directory through a Recorder; Read tells from that file and from the bridge's lock whether
// the bridge works. docs/bridges.md specifies the file.
package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
)

// State says whether a bridge works.
type State string

// States of a bridge.
const (
	Running State = "running"
	Late    State = "late"    // it runs, and errors have held up a line for five minutes
	Deaf    State = "deaf"    // it runs, and has had no successful exchange for Stale
	Stopped State = "stopped" // it was closed
	Dead    State = "dead"    // its process is gone without having closed it, or it failed: see Recorder.Fail
	Unknown State = "unknown" // a process has it, and what it wrote of itself is missing, damaged or old
)

const (
	// Stale is how long a bridge may be without a successful exchange, and how old its
	// health.json may be.
	Stale = 2 * time.Minute
	// maxAhead is how far a clock may be ahead of ours. A later time was written before a
	// clock was put back, and says nothing.
	maxAhead = time.Minute
	// lateAfter is how long errors may hold up a line before somebody should look.
	lateAfter = 5 * time.Minute
)

// Health is how a bridge fares.
type Health struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Report
	// Out counts what waits to go out over all peers: lines of agents, and lines
	// half sent. 10,000 stands for that and more. In counts the messages in the inbox.
	Out int `json:"out"`
	In  int `json:"in"`
}

// Report is what a bridge writes of itself: the content of health.json.
type Report struct {
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Written   time.Time `json:"written,omitzero"`
	Exchanged time.Time `json:"exchanged,omitzero"` // the newest successful exchange with the other side since Started
	// Listening is where the other side comes to the bridge by itself, and may well stay away.
	Listening string `json:"listening,omitempty"`
	// Late is since when errors hold up a line on its way out or into its room. A line that the
	// other side wants to wait is not late, nor is one for an unreachable peer. Read leaves it
	// out for the first five minutes.
	Late        time.Time `json:"late,omitzero"`
	Stopped     time.Time `json:"stopped,omitzero"`
	Unreachable []string  `json:"unreachable,omitempty"` // keys of the peers that take nothing until somebody acts there
	// Error is the newest error, and ErrorAt its time. One older than Exchanged may be over.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Runs says whether a process has the bridge, or may have it.
func (h Health) Runs() bool { return h.State != Stopped && h.State != Dead }

// Healthy says whether nothing waits for a person to look: the bridge runs, hears
// the other side and gets rid of what it has to say, or it was stopped and nothing
// waits for it.
func (h Health) Healthy() bool { return h.Ailment() == "" }

// Ailment says what a person has to look at, as in "the bridge is …"; empty for nothing.
func (h Health) Ailment() string {
	switch h.State {
	case Running:
		return ""
	case Stopped:
		if h.Out+h.In == 0 {
			return ""
		}
		return "stopped with lines waiting"
	case Unknown:
		return "in an unknown state"
	case Late:
		return "late: errors hold up its lines"
	}
	return string(h.State)
}

// Note shows err as the newest error, unless it is nil.
func (h *Health) Note(err error) {
	if err != nil {
		h.Error, h.ErrorAt = err.Error(), time.Now()
	}
}

// Read reports on the bridge called name, whose directory is dir, without In and Out.
func Read(dir, name string) Health {
	now := time.Now()
	// The lock is asked before the file is read: a bridge writes the file before
	// it lets the lock go.
	locked, pid, lockErr := Holder(filepath.Join(dir, "lock"))
	r, err := readReport(filepath.Join(dir, "health.json"))
	h := Health{Name: name, Report: r}
	switch {
	case lockErr != nil:
		h.State, err = Unknown, lockErr
	case locked && err == nil:
		h.State, err = r.state(now)
	case locked:
		h.State, h.PID = Unknown, pid
	case err == nil && !r.Stopped.IsZero():
		h.State = Stopped
	default:
		h.State = Dead
	}
	h.Note(err)
	if h.State == Running && !h.Late.IsZero() && now.Sub(h.Late) > lateAfter {
		h.State = Late
	} else {
		h.Late = time.Time{}
	}
	return h
}

// readReport reads health.json. It is zero after an error.
func readReport(path string) (r Report, err error) {
	data, _, err := durable.ReadRegular(path, 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && r.Started.IsZero() {
		err = errors.New("it says nothing of a bridge")
	}
	if err != nil {
		return Report{}, fmt.Errorf("read the health of a bridge from %s: %w", path, err)
	}
	return r, nil
}

// state is that of a bridge whose process holds its lock, and why it is Unknown.
func (r Report) state(now time.Time) (State, error) {
	if age := now.Sub(r.Written); age > Stale {
		return Unknown, fmt.Errorf("health.json was written %s ago: its process hangs, or cannot write", age.Round(time.Second))
	}
	heard := r.Exchanged
	if heard.IsZero() {
		heard = r.Started
	}
	if silence := now.Sub(heard); r.Listening == "" && (silence > Stale || silence < -maxAhead) {
		return Deaf, nil
	}
	return Running, nil
}

// Holder says whether a process holds the lock of a bridge at path, and which; 0: not known.
func Holder(path string) (locked bool, pid int, err error) {
	data, _, err := durable.ReadRegular(path, 64)
	if err != nil {
		return false, 0, fmt.Errorf("read which process holds the lock: %w", err)
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data))) // 0 when it is no number
	// The file is not made. The shared lock lasts for an instant, which a bridge that
	// opens waits out.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	lock.Close()
	return err == nil && !free, pid, err
}
