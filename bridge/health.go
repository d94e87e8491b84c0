package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
)

// maxAhead is how far a clock may be ahead of ours. What is later than that was
// written before a clock was put back, and says nothing.
const maxAhead = time.Minute

// maxCount bounds what Health counts, so that asking costs little.
const maxCount = 10_000

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

	// Error is the newest error, and ErrorAt its time. One older than Exchanged may
	// be over.
	Error   string
	ErrorAt time.Time
}

// Healthy says whether nothing waits for a person to look: the bridge runs and
// hears the other side, or it was stopped and nothing waits for it.
func (h Health) Healthy() bool {
	switch h.State {
	case Running:
		return true
	case Stopped:
		return h.Out == 0 && h.In == 0
	}
	return false
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
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil || !chat.ValidRoom(e.Name()) {
			continue // never opened, or nothing of ours
		}
		all = append(all, readHealth(home, dir, e.Name(), time.Now()))
	}
	return all, nil
}

func readHealth(home, dir, name string, now time.Time) Health {
	h := Health{Name: name}
	note := func(err error) {
		if err != nil && h.ErrorAt.Before(now) {
			h.Error, h.ErrorAt = err.Error(), now
		}
	}
	// The lock is asked before the file is read: a bridge writes the file before
	// it lets the lock go.
	held, pid := holder(filepath.Join(dir, "lock"))
	var p pulse
	data, _, err := durable.ReadRegular(filepath.Join(dir, "health.json"), 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	h.PID, h.Started, h.Exchanged = p.PID, p.Started, p.Exchanged
	h.Stale = time.Duration(p.StaleSecs * float64(time.Second))
	h.Error, h.ErrorAt, h.Unreachable = p.Error, p.ErrorAt, p.Unreachable
	note(err)
	if h.Exchanged.After(now.Add(maxAhead)) {
		h.Exchanged = time.Time{}
	}
	heard := h.Exchanged
	if heard.IsZero() {
		heard = h.Started
	}
	switch {
	case held:
		h.State = Running
		if pid > 0 {
			h.PID = pid
		}
		if h.Stale > 0 && (now.Sub(heard) > h.Stale || heard.After(now.Add(maxAhead))) {
			h.State = Deaf
		}
	case !p.Stopped.IsZero():
		h.State, h.Stopped = Stopped, p.Stopped
	default:
		h.State = Dead
	}
	h.In, err = countIn(filepath.Join(dir, "inbox.jsonl"))
	note(err)
	h.Out, err = countOut(home, dir)
	note(err)
	return h
}

// holder says whether a process holds the lock at path, and which.
func holder(path string) (held bool, pid int) {
	data, err := os.ReadFile(path)
	if err == nil {
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data))) // 0 when it is no number
	}
	// Asked without making the file. The shared lock is held for an instant, which
	// Open waits out.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	lock.Close()
	return err == nil && !free, pid
}

func countIn(path string) (int, error) {
	data, err := os.ReadFile(path)
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
		st, _, rerr := readPeer(filepath.Join(peersDir(dir), f.Name()))
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
