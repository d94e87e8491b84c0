// Package health tells how bridges fare. A bridge that runs keeps health.json in its
// directory through a Recorder; Read tells from that file and from the bridge's lock whether
// the bridge works. docs/bridges.md specifies the file.
package health

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
	Deaf    State = "deaf"    // it runs, and has had no successful exchange for Stale
	Stopped State = "stopped" // it was closed
	Dead    State = "dead"    // its process is gone without having closed it, or it failed: see Recorder.Fail
	Unknown State = "unknown" // a process has it, and what it wrote of itself is missing, damaged or old
)

// DefaultStale is how long a bridge may be without a successful exchange before it counts as deaf.
const DefaultStale = 2 * time.Minute

const (
	// maxAhead is how far a clock may be ahead of ours. A later time was written before a
	// clock was put back, and says nothing.
	maxAhead = time.Minute
	// lateAfter is how long errors may hold up a line before somebody should look.
	lateAfter = 5 * time.Minute
)

// Health is how a bridge fares.
type Health struct {
	Name      string
	State     State
	PID       int // of its process, or of the last one
	Started   time.Time
	Exchanged time.Time // the newest successful exchange with the other side; zero: none since Started
	Stopped   time.Time // zero unless State is Stopped
	Stale     time.Duration

	// Out counts what waits to go out over all peers: lines of agents, and lines
	// half sent. 10,000 stands for that and more. In counts the messages in the inbox.
	Out, In     int
	Unreachable []string // keys of the peers that take nothing until somebody acts there

	// Late is since when errors hold up a line on its way out or into its room, if that is
	// more than 5 minutes ago. A line that the other side wants to wait is not late, nor is
	// one for an unreachable peer.
	Late time.Time

	// Error is the newest error, and ErrorAt its time. One older than Exchanged may be over.
	Error   string
	ErrorAt time.Time
}

// Runs says whether a process has the bridge, or may have it.
func (h Health) Runs() bool { return h.State != Stopped && h.State != Dead }

// Healthy says whether nothing waits for a person to look: the bridge runs, hears
// the other side and gets rid of what it has to say, or it was stopped and nothing
// waits for it.
func (h Health) Healthy() bool { return h.Ailment() == "" }

// Ailment says what a person has to look at, as in "the bridge is …"; empty for nothing.
func (h Health) Ailment() string {
	switch {
	case h.State == Stopped && h.Out == 0 && h.In == 0:
		return ""
	case h.State == Stopped:
		return "stopped with lines waiting"
	case h.State == Unknown:
		return "in an unknown state"
	case h.State != Running:
		return string(h.State)
	case !h.Late.IsZero():
		return "late: errors hold up its lines"
	}
	return ""
}

// Note shows err as the newest error, unless it is nil.
func (h *Health) Note(err error) {
	if err != nil {
		h.Error, h.ErrorAt = err.Error(), time.Now()
	}
}

// file is the content of health.json.
type file struct {
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Written     time.Time `json:"written,omitzero"`
	Exchanged   time.Time `json:"exchanged,omitzero"`
	Late        time.Time `json:"late,omitzero"` // since when errors hold up a line
	Stopped     time.Time `json:"stopped,omitzero"`
	StaleSecs   float64   `json:"stale_seconds"`
	Unreachable []string  `json:"unreachable,omitempty"`
	Error       string    `json:"error,omitempty"`
	ErrorAt     time.Time `json:"error_at,omitzero"`
}

// Read reports on the bridge called name, whose directory is dir, without In and Out.
func Read(dir, name string) Health {
	now := time.Now()
	// The lock is asked before the file is read: a bridge writes the file before
	// it lets the lock go.
	lock := filepath.Join(dir, "lock")
	locked, pid, lockErr := Holder(lock)
	f, err := readFile(filepath.Join(dir, "health.json"))
	if locked && pid > 0 && err == nil && (f.PID != pid || !f.Stopped.IsZero()) {
		f, err = file{}, errEarlier
	}
	h := Health{
		Name: name, PID: f.PID, Started: f.Started, Exchanged: f.Exchanged, Stale: f.stale(),
		Error: f.Error, ErrorAt: f.ErrorAt, Unreachable: f.Unreachable,
	}
	switch {
	case lockErr != nil:
		h.State = Unknown
		h.Note(lockErr)
	case locked:
		h.PID = cmp.Or(pid, h.PID)
		h.State, err = f.state(now, err, lock)
		if h.State == Running && !f.Late.IsZero() && now.Sub(f.Late) > lateAfter {
			h.Late = f.Late
		}
		h.Note(err)
	case err == nil && !f.Stopped.IsZero():
		h.State, h.Stopped = Stopped, f.Stopped
	default:
		h.State = Dead
		h.Note(err)
	}
	if h.Exchanged.After(now.Add(maxAhead)) {
		h.Exchanged = time.Time{}
	}
	return h
}

// readFile reads health.json. It is zero after an error.
func readFile(path string) (f file, err error) {
	data, _, err := durable.ReadRegular(path, 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && (f.stale() <= 0 || f.Started.IsZero()) {
		err = errors.New("it says nothing of a bridge")
	}
	if err != nil {
		return file{}, fmt.Errorf("read the health of a bridge from %s: %w", path, err)
	}
	return f, nil
}

// stale is 0 for what makes no sense.
func (f file) stale() time.Duration {
	if f.StaleSecs <= 0 || f.StaleSecs > float64(math.MaxInt64/time.Second) {
		return 0
	}
	return time.Duration(f.StaleSecs * float64(time.Second))
}

var errEarlier = errors.New("health.json is of an earlier process: the one that runs hangs, or cannot write")

// state is that of a bridge whose process holds lock, and why it is Unknown;
// unread is why the file could not be read.
func (f file) state(now time.Time, unread error, lock string) (State, error) {
	if errors.Is(unread, fs.ErrNotExist) || unread == errEarlier {
		// A process writes the lock first, and the file next.
		if fi, err := os.Stat(lock); err == nil && now.Sub(fi.ModTime()).Abs() < DefaultStale {
			return Running, nil
		}
	}
	if unread != nil {
		return Unknown, unread
	}
	if age := now.Sub(f.Written); !f.Written.IsZero() && age > min(f.stale(), DefaultStale) {
		return Unknown, fmt.Errorf("health.json was written %s ago: its process hangs, or cannot write", age.Round(time.Second))
	}
	heard := f.Exchanged
	if heard.IsZero() || heard.After(now.Add(maxAhead)) {
		heard = f.Started
	}
	if now.Sub(heard) > f.stale() || heard.After(now.Add(maxAhead)) {
		return Deaf, nil
	}
	return Running, nil
}

// maxPID bounds what is read of a lock, in bytes.
const maxPID = 64

// Holder says whether a process holds the lock of a bridge at path, and which; 0: not known.
func Holder(path string) (locked bool, pid int, err error) {
	data, _, err := durable.ReadRegular(path, maxPID)
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
