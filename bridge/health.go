package bridge

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

	"lethe/chat"
	"lethe/internal/durable"
)

// State says whether a bridge works.
type State string

// States of a bridge.
const (
	Running State = "running"
	Deaf    State = "deaf"    // it runs, and has had no successful exchange for Stale
	Stopped State = "stopped" // it was closed
	Dead    State = "dead"    // its process is gone without having closed it, or it failed: see Fail
	Unknown State = "unknown" // a process has it, and what it wrote of itself is missing, damaged or old
)

// maxAhead is how far a clock may be ahead of ours. What is later than that was
// written before a clock was put back, and says nothing.
const maxAhead = time.Minute

// maxCount bounds what Health counts, so that asking costs little.
const maxCount = 10_000

// lateAfter is how long errors may hold up a line before somebody should look.
const lateAfter = 5 * time.Minute

// Health is how a bridge fares.
type Health struct {
	Name      string
	State     State
	PID       int // of its process, or of the last one
	Started   time.Time
	Exchanged time.Time // the newest successful exchange with the other side; zero: none since Started, or by a clock that was put back since
	Stopped   time.Time // zero unless State is Stopped
	Stale     time.Duration

	// Out counts what waits to go out over all peers: lines of agents, and lines
	// half sent. 10,000 stands for that and more. In counts the messages in the
	// inbox.
	Out, In     int
	Unreachable []string // keys of the peers that take nothing until somebody acts there

	// Late is since when a line waits to go out, or into its room, that errors hold up;
	// zero: none has for 5 minutes. A line that the other side wants to wait is not
	// late, nor is one for an unreachable peer.
	Late time.Time
	// Full is since when the inbox has been full, so that nobody is heard; zero: it
	// is not.
	Full time.Time

	// Error is the newest error, and ErrorAt its time. One older than Exchanged may
	// be over.
	Error   string
	ErrorAt time.Time
}

// Runs says whether a process has the bridge, or may have it.
func (h Health) Runs() bool { return h.State != Stopped && h.State != Dead }

// Healthy says whether nothing waits for a person to look: the bridge runs, hears
// the other side and gets rid of what it has to say, or it was stopped and nothing
// waits for it.
func (h Health) Healthy() bool { return h.Ailment() == "" }

// Ailment says what a person has to look at, as in "the bridge is …"; empty for
// nothing.
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
	case !h.Full.IsZero():
		return "full, and hears nobody"
	case !h.Late.IsZero():
		return "late: errors hold up its lines"
	}
	return ""
}

// ReadHealth reports on every bridge of home that was ever opened, by name. A
// bridge whose files cannot be read is reported with that as its Error; the error
// is for the directory of the bridges.
func ReadHealth(home string) ([]Health, error) {
	entries, err := os.ReadDir(filepath.Join(home, "bridges"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list bridges: %w", err)
	}
	var all []Health
	for _, e := range entries {
		dir := filepath.Join(home, "bridges", e.Name())
		if _, err := os.Lstat(filepath.Join(dir, "lock")); err != nil && !errors.Is(err, fs.ErrPermission) || !chat.ValidRoom(e.Name()) {
			continue // never opened, or nothing of ours
		}
		all = append(all, readHealth(home, dir, e.Name(), time.Now()))
	}
	return all, nil
}

func readHealth(home, dir, name string, now time.Time) Health {
	// The lock is asked before the file is read: a bridge writes the file before
	// it lets the lock go.
	lock := filepath.Join(dir, "lock")
	held, pid, lockErr := holder(lock)
	p, err := readPulse(filepath.Join(dir, "health.json"))
	h := Health{
		Name: name, PID: p.PID, Started: p.Started, Exchanged: p.Exchanged, Stale: p.stale(),
		Error: p.Error, ErrorAt: p.ErrorAt, Unreachable: p.Unreachable,
	}
	note := func(err error) {
		if err != nil && h.ErrorAt.Before(now) {
			h.Error, h.ErrorAt = err.Error(), now
		}
	}
	switch {
	case lockErr != nil:
		h.State = Unknown
		note(lockErr)
	case held:
		if pid > 0 && err == nil && (p.PID != pid || !p.Stopped.IsZero()) { // left by an earlier process
			p, err, h = pulse{}, errEarlier, Health{Name: name}
		}
		h.PID = cmp.Or(pid, h.PID)
		h.State, err = p.judge(now, err, lock)
		if h.State == Running && now.Sub(p.Late) > lateAfter && !p.Late.IsZero() {
			h.Late = p.Late
		}
		h.Full = p.Full
		note(err)
	case err == nil && !p.Stopped.IsZero():
		h.State, h.Stopped = Stopped, p.Stopped
	default:
		h.State = Dead
		note(err)
	}
	if h.Exchanged.After(now.Add(maxAhead)) {
		h.Exchanged = time.Time{}
	}
	h.In, err = countIn(filepath.Join(dir, "inbox.jsonl"))
	note(err)
	h.Out, err = countOut(home, dir)
	note(err)
	return h
}

// readPulse reads health.json. It is zero after an error.
func readPulse(path string) (p pulse, err error) {
	data, _, err := durable.ReadRegular(path, 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && (p.stale() <= 0 || p.Started.IsZero()) {
		err = errors.New("it says nothing of a bridge")
	}
	if err != nil {
		return pulse{}, fmt.Errorf("read how the bridge fares from %s: %w", path, err)
	}
	return p, nil
}

// stale is 0 for what makes no sense.
func (p pulse) stale() time.Duration {
	if p.StaleSecs <= 0 || p.StaleSecs > float64(math.MaxInt64/time.Second) {
		return 0
	}
	return time.Duration(p.StaleSecs * float64(time.Second))
}

var errEarlier = errors.New("health.json is of an earlier process: the one that runs hangs, or cannot write")

// judge is the state of a bridge whose process holds lock, and why it is Unknown;
// unread is why p could not be read.
func (p pulse) judge(now time.Time, unread error, lock string) (State, error) {
	if errors.Is(unread, fs.ErrNotExist) || unread == errEarlier {
		// It is what a process writes first after it has written the lock.
		if fi, err := os.Stat(lock); err == nil && now.Sub(fi.ModTime()).Abs() < DefaultStale {
			return Running, nil
		}
	}
	if unread != nil {
		return Unknown, unread
	}
	if age := now.Sub(p.Written); !p.Written.IsZero() && age > min(p.stale(), DefaultStale) {
		return Unknown, fmt.Errorf("health.json was written %s ago: its process hangs, or cannot write", age.Round(time.Second))
	}
	heard := p.Exchanged
	if heard.IsZero() || heard.After(now.Add(maxAhead)) {
		heard = p.Started
	}
	if now.Sub(heard) > p.stale() || heard.After(now.Add(maxAhead)) {
		return Deaf, nil
	}
	return Running, nil
}

// maxPID bounds what is read of a lock.
const maxPID = 64

// holder says whether a process holds the lock at path, and which; 0 is not known.
func holder(path string) (held bool, pid int, err error) {
	data, _, err := durable.ReadRegular(path, maxPID)
	if err != nil {
		return false, 0, fmt.Errorf("look who holds the lock: %w", err)
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data))) // 0 when it is no number
	// Asked without making the file. The shared lock is held for an instant, which
	// Open waits out.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	lock.Close()
	return err == nil && !free, pid, err
}

func countIn(path string) (int, error) {
	data, err := readInbox(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	l, _, err := foldInbox(data)
	if err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return len(l.waiting), err
}

func countOut(home, dir string) (n int, err error) {
	files, err := os.ReadDir(peersDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		st, _, _, rerr := readPeer(filepath.Join(peersDir(dir), f.Name()))
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		if st.Line != nil {
			n++
		}
		more, rerr := countAfter(chat.Path(home, st.Room), st, maxCount-n)
		n, err = n+more, errors.Join(err, rerr)
		if n >= maxCount {
			return maxCount, err
		}
	}
	return n, err
}

// countAfter counts the lines of agents that a peer has before it, up to most.
func countAfter(path string, st peerState, most int) (n int, err error) {
	restarted := false
	for n < most {
		b, err := chat.Read(path, st.Cursor, 0)
		if err != nil {
			return n, err
		}
		restarted = restarted || replaced(b, st)
		for _, l := range b.Lines {
			// See restart: what was said before is not sent.
			if restarted && !fresh(l, st.Newest) {
				continue
			}
			restarted = false
			if l.Agent {
				n++
			}
		}
		if st.Cursor = b.Next; !b.More {
			break
		}
	}
	return min(n, most), nil
}
