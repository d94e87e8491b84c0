package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/durable"
)

// State says whether a bridge works.
type State string

// States of a bridge.
const (
	Running State = "running"
	Late    State = "late"    // it runs, and an error has gone on for five minutes
	Deaf    State = "deaf"    // it runs, and has had no successful exchange for Stale
	Stopped State = "stopped" // it was closed
	Dead    State = "dead"    // its process is gone without having closed it, or it failed: see Fail
	Unknown State = "unknown" // a process has it, and its health.json is missing, damaged or old
)

const (
	// Stale limits the time without a successful exchange, and the age of health.json.
	Stale = 2 * time.Minute
	// maxAhead bounds the difference of clocks. A later time was written before a clock was put back.
	maxAhead = time.Minute
	// lateAfter is the age at which an error needs a person.
	lateAfter = 5 * time.Minute
	// health.json is written at most once in writeEvery, and at least once in beat.
	writeEvery = time.Second
	beat       = time.Minute
	// A trouble that comes and goes is logged at most once in logEvery.
	logEvery = time.Minute
)

// Health is the state of a bridge, with the lines that wait.
type Health struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Report
	// Out counts what waits to go out over all peers: lines of agents, and lines half sent. 10,000 stands for that
	// and more. In counts the messages in the inbox.
	Out int `json:"out"`
	In  int `json:"in"`
}

// Report is the content of health.json, which a bridge writes of itself.
type Report struct {
	PID       int       `json:"pid,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Written   time.Time `json:"written,omitzero"`
	Exchanged time.Time `json:"exchanged,omitzero"` // the newest successful exchange with the other side since Started
	// Listening is the address that the other side calls by itself. It may well stay away.
	Listening string `json:"listening,omitempty"`
	// Late is the time since which an error goes on. A wait that the other side asks for is no error, nor is an
	// unreachable peer.
	Late    time.Time `json:"late,omitzero"`
	Stopped time.Time `json:"stopped,omitzero"`
	// Unreachable has the keys of the peers that take nothing until somebody acts there.
	Unreachable []string `json:"unreachable,omitempty"`
	// Error is the newest error, and ErrorAt its time. One older than Exchanged may be over.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Runs reports whether a process has the bridge, or may have it.
func (h Health) Runs() bool { return h.State != Stopped && h.State != Dead }

// Ailment names the trouble that needs a person, as in "the bridge is …". It is empty where the bridge runs without
// lasting errors and hears the other side, and where it was stopped and nothing waits for it.
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
		return "late: an error goes on"
	}
	return string(h.State)
}

// ReadHealth reports on every bridge of home that was ever opened, by name. A bridge whose files cannot be read is
// reported with that as its Error; the error is for the directory of the bridges.
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
		_, err := os.Lstat(filepath.Join(home, "bridges", e.Name(), "lock"))
		opened := err == nil || errors.Is(err, fs.ErrPermission)
		if opened && chat.ValidRoom(e.Name()) {
			all = append(all, HealthOf(home, e.Name()))
		}
	}
	return all, nil
}

// HealthOf reports on one bridge.
func HealthOf(home, name string) Health {
	dir, now := filepath.Join(home, "bridges", name), time.Now()
	health := Health{Name: name}
	err := health.look(dir, now)
	var inErr, outErr error
	health.In, inErr = countIn(filepath.Join(dir, "inbox.jsonl"))
	health.Out, outErr = countOut(home, dir)
	for _, counting := range []error{inErr, outErr} {
		if counting != nil {
			err = counting
		}
	}
	if err != nil {
		health.Error, health.ErrorAt = err.Error(), now
	}
	return health
}

// look reads the report and the state of a bridge, and returns what is wrong with its files.
func (h *Health) look(dir string, now time.Time) error {
	// The lock is asked before the file is read: a bridge writes the file before it lets the lock go.
	locked, pid, lockErr := Holder(dir)
	report, err := readReport(filepath.Join(dir, "health.json"))
	h.Report = report
	switch {
	case lockErr != nil:
		h.State, err = Unknown, lockErr
	case locked && err != nil:
		h.State, h.PID = Unknown, pid
	case locked:
		h.State, err = report.state(now)
	case !report.Stopped.IsZero():
		h.State = Stopped
	default:
		h.State = Dead
	}
	return err
}

// readReport reads health.json. It is zero after an error.
func readReport(path string) (report Report, err error) {
	data, _, err := durable.ReadRegular(path, 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err == nil && report.Started.IsZero() {
		err = errors.New("it says nothing of a bridge")
	}
	if err != nil {
		return Report{}, fmt.Errorf("read the health of a bridge from %s: %w", path, err)
	}
	return report, nil
}

// state returns the state of a bridge whose process holds its lock. The error says why it is Unknown.
func (r Report) state(now time.Time) (State, error) {
	if age := now.Sub(r.Written).Round(time.Second); age > Stale {
		return Unknown, fmt.Errorf("health.json was written %s ago: its process hangs, or cannot write", age)
	}
	silence := now.Sub(cmp.Or(r.Exchanged, r.Started))
	heard := silence <= Stale && silence >= -maxAhead
	late := !r.Late.IsZero() && now.Sub(r.Late) > lateAfter
	switch {
	case !heard && r.Listening == "":
		return Deaf, nil
	case late:
		return Late, nil
	}
	return Running, nil
}

// Holder reports whether a process has the bridge in dir, and its id, or 0 where that is not known.
func Holder(dir string) (locked bool, pid int, err error) {
	path := filepath.Join(dir, "lock")
	data, _, err := durable.ReadRegular(path, 64)
	if err != nil {
		return false, 0, fmt.Errorf("read which process holds the lock: %w", err)
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data))) // 0 when it is no number
	// The file is not made. The shared lock lasts for an instant, which a bridge that opens waits out.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	lock.Close()
	return err == nil && !free, pid, err
}

func countIn(path string) (int, error) {
	data, err := durable.ReadWhole(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	inbox, _, err := foldInbox(data)
	return len(inbox.waiting), err
}

func countOut(home, dir string) (n int, err error) {
	const most = 10_000 // so that asking costs little
	files, err := filepath.Glob(filepath.Join(peersDir(dir), "[^.]*.json"))
	for _, file := range files {
		st, rerr := readPeer(file)
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		if st.Line != nil {
			n++
		}
		more, rerr := countAfter(chat.Path(home, st.Room), st.Cursor, most-n)
		n, err = n+more, errors.Join(err, rerr)
	}
	return n, err
}

// countAfter counts the lines of agents after a cursor, up to most.
func countAfter(path string, cursor chat.Cursor, most int) (n int, err error) {
	for more := true; more && n < most; {
		batch, err := chat.Read(path, cursor, 0)
		if err != nil {
			return n, err
		}
		for _, l := range batch.Lines {
			if l.Agent {
				n++
			}
		}
		cursor, more = batch.Next, batch.More
	}
	return min(n, most), nil
}

// Working reports whether an identity of home works on something that room waits for, so that a bridge can show that it
// types.
func Working(home, room string) bool {
	for s := range status.All(home) {
		if s.BusyIn(room) {
			return true
		}
	}
	return false
}

// recorder keeps the health.json of a bridge that runs. Its methods write, run and close write the file; the others
// take notes for it.
type recorder struct {
	path    string
	log     *slog.Logger
	changed chan struct{} // capacity 1: there is something to write

	mu        sync.Mutex
	report    Report
	unwritten bool // the file could not be written
	failed    bool // the bridge ends with an error, which the report has
	troubles  map[string]*trouble
}

// trouble is an error that goes on, or went on lately.
type trouble struct {
	began time.Time // zero: it is over
	peer  string    // takes nothing until somebody acts there
	told  bool      // the log has its beginning
	log   rate.Sometimes
}

func newRecorder(dir string, log *slog.Logger) *recorder {
	return &recorder{
		changed: make(chan struct{}, 1), path: filepath.Join(dir, "health.json"), log: log,
		report: Report{PID: os.Getpid(), Started: time.Now().UTC()}, troubles: map[string]*trouble{},
	}
}

// change changes the report, which is written soon.
func (r *recorder) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	select {
	case r.changed <- struct{}{}:
	default: // one value stands for all
	}
}

// trouble records an error of something that the bridge does, as in "cannot <what>", or its end for nil. It shows the
// error as the newest one. It logs the beginning, at most once in logEvery, and the end of a beginning that it has
// logged. A peer is given where nothing but that peer is unreachable.
func (r *recorder) trouble(what, peer string, err error) {
	r.change(func() {
		it := r.troubles[what]
		if it == nil {
			it = &trouble{log: rate.Sometimes{Interval: logEvery}}
			r.troubles[what] = it
		}
		if err == nil {
			if it.told {
				r.log.Info("can "+what+" again", "after", time.Since(it.began).Round(time.Second))
			}
			it.began, it.told = time.Time{}, false
			return
		}
		r.show(fmt.Errorf("cannot %s: %w", what, err))
		if it.began.IsZero() || it.peer != peer {
			it.began, it.peer, it.told = time.Now(), peer, false
		}
		if !it.told {
			it.log.Do(func() {
				r.log.Warn("cannot "+what, "err", err)
				it.told = true
			})
		}
	})
}

// show makes err the newest error. The caller is in change.
func (r *recorder) show(err error) {
	if !r.failed {
		r.report.Error, r.report.ErrorAt = err.Error(), time.Now().UTC()
	}
}

// fail makes err the error that the bridge ends with. Nil does nothing, and only the first error counts.
func (r *recorder) fail(err error) {
	if err != nil {
		r.change(func() { r.show(err); r.failed = true })
	}
}

// run writes health.json when there is something to write, at most once a second, and at least once a minute, until
// ctx ends.
func (r *recorder) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.write()
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
	r.write()
}

// write writes health.json. Only people depend on it, so a failure is logged, once.
func (r *recorder) write() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Written, r.report.Late, r.report.Unreachable = time.Now().UTC(), time.Time{}, nil
	for _, it := range r.troubles {
		oldest := r.report.Late.IsZero() || it.began.Before(r.report.Late)
		switch {
		case it.began.IsZero():
		case it.peer != "":
			r.report.Unreachable = append(r.report.Unreachable, it.peer)
		case oldest:
			r.report.Late = it.began.UTC()
		}
	}
	slices.Sort(r.report.Unreachable)
	data, err := json.Marshal(r.report)
	if err == nil {
		err = durable.Replace(r.path, append(data, '\n'), 0o600)
	}
	if err != nil && !r.unwritten {
		r.log.Warn("the bridge's health cannot be written", "err", err)
	}
	r.unwritten = err != nil
}

// close writes down that the bridge was closed, or what it failed with.
func (r *recorder) close() {
	r.change(func() {
		if !r.failed {
			r.report.Stopped = time.Now().UTC()
		}
	})
	r.write()
}
