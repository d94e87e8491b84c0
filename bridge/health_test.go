package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func healthOf(t testing.TB, home string) Health {
	t.Helper()
	all, err := ReadHealth(home)
	if err != nil || len(all) != 1 {
		t.Fatalf("health %+v, %v", all, err)
	}
	return all[0]
}

func TestHealthStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPager(t, t.TempDir())
		if all, err := ReadHealth(b.home); len(all) != 0 || err != nil {
			t.Errorf("health of a b.home without bridges: %v, %v", all, err)
		}
		b.start()
		// A directory that the command line made for the policy is no bridge yet.
		lethetest.Must(t, os.MkdirAll(filepath.Join(b.home, "bridges", "other"), 0o700))
		is := func(want State, healthy bool) Health {
			t.Helper()
			h := b.health()
			if h.State != want || (h.Ailment() == "") != healthy || h.PID != os.Getpid() {
				t.Fatalf("health %+v, not %s", h, want)
			}
			return h
		}
		end := b.run()
		is(Running, true)
		time.Sleep(Stale - time.Second)
		is(Running, true)
		time.Sleep(2 * time.Second)
		is(Deaf, false)
		b.Exchanged()
		heard := time.Now()
		time.Sleep(2 * time.Second)
		if h := is(Running, true); !h.Exchanged.Equal(heard) {
			t.Errorf("exchanged at %s, not %s", h.Exchanged, heard)
		}
		time.Sleep(Stale)
		is(Deaf, false)
		end()
		lethetest.Must(t, errors.Join(b.Close(), b.Close()))
		if h := is(Stopped, true); !h.Stopped.Equal(time.Now()) {
			t.Errorf("health %+v", h)
		}
		if err := b.Accept(message("1", "ada", "x")); err == nil {
			t.Errorf("Accept after Close: %v", err)
		}

		b.start()
		is(Running, true)
		b.accept(message("1", "ada", "question"))
		lethetest.Must(t, b.Close())
		b.agentSays("answer")
		if h := is(Stopped, false); h.Out != 1 || h.In != 0 {
			t.Errorf("health %+v", h)
		}
		start(t, b.home).abandon()
		is(Dead, false)
		lethetest.Must(t, os.Remove(b.file("health.json")))
		if h := b.health(); h.State != Dead || h.Error == "" {
			t.Errorf("health without its file: %+v", h)
		}
	})
}

// A bridge that gave up is dead and says why, until it is opened again.
func TestFail(t *testing.T) {
	b := open(t)
	b.Fail(nil)
	b.Fail(errors.New("the token was revoked"))
	b.Fail(errors.New("a consequence"))
	b.Trouble(errors.New("connection reset"))
	b.Exchanged()
	lethetest.Must(t, b.Close())
	if h := b.health(); h.State != Dead || h.Ailment() == "" || h.Error != "the token was revoked" ||
		!h.Stopped.IsZero() || h.ErrorAt.IsZero() {
		t.Errorf("health %+v", h)
	}
	b.again()
	b.Fail(nil)
	lethetest.Must(t, b.Close())
	if h := b.health(); h.State != Stopped || h.Ailment() != "" || h.Error != "" {
		t.Errorf("health after a clean run: %+v", h)
	}
}

func TestOpen(t *testing.T) {
	home := t.TempDir()
	w := chat.NewWatcher(0, nil)
	if _, err := Open(Config{Name: "../x", Watcher: w, Home: home}); err == nil {
		t.Error("opened a bridge outside its directory")
	}
	b := start(t, home)
	_, err := Open(Config{Home: home, Name: "pager", Watcher: w})
	if !errors.Is(err, ErrRunning) || err.Error() != fmt.Sprintf("open bridge pager: another process runs it: process %d", os.Getpid()) {
		t.Fatalf("opened twice: %v", err)
	}
	b.abandon()
	// To ask after the bridge does not keep it from being opened.
	var asking sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	asking.Go(func() {
		for ctx.Err() == nil {
			_, _ = ReadHealth(home)
		}
	})
	for range 20 {
		start(t, home).abandon()
	}
	stop()
	asking.Wait()
	for name, mode := range map[string]os.FileMode{"": 0o700, "peers": 0o700, "lock": 0o600, "health.json": 0o600} {
		if fi, err := os.Stat(inState(home, name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, %v", name, fi.Mode(), err)
		}
	}
}

func TestWorking(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "abc")
	lethetest.Must(t, durable.MkdirAll(dir, 0o700))
	if Working(home, "dev") {
		t.Error("somebody works in an empty home")
	}
	s := status.Status{PID: os.Getpid(), State: status.Thinking, Rooms: []string{"dev", "ops"}}
	for name, c := range map[string]struct {
		change   func(*status.Status)
		dev, ops bool
	}{
		"for all":      {func(*status.Status) {}, true, true},
		"for one":      {func(s *status.Status) { s.Answering = []string{"ops"} }, false, true},
		"acting":       {func(s *status.Status) { s.State = status.Acting; s.Answering = []string{"dev"} }, true, false},
		"idle":         {func(s *status.Status) { s.State = status.Idle }, false, false},
		"elsewhere":    {func(s *status.Status) { s.Rooms = []string{"ops"} }, false, true},
		"dead":         {func(s *status.Status) { s.PID = 1 << 30 }, false, false},
		"never lived":  {func(s *status.Status) { s.PID = 0 }, false, false},
		"other's turn": {func(s *status.Status) { s.Answering = []string{"abc"} }, false, false},
	} {
		changed := s
		c.change(&changed)
		lethetest.Must(t, status.Write(dir, changed))
		if dev, ops := Working(home, "dev"), Working(home, "ops"); dev != c.dev || ops != c.ops {
			t.Errorf("%s: working in dev %v, in ops %v", name, dev, ops)
		}
	}
}

// What the other side asks to wait for is not late, nor is a peer that takes nothing
// until somebody acts there.
func TestWhatIsLate(t *testing.T) {
	gateway, blocked := errors.New("bad gateway"), fmt.Errorf("%w: blocked", ErrUnreachable)
	for name, c := range map[string]struct {
		first, then error
		late        bool
	}{
		"told to wait":                      {nil, &LaterError{4 * time.Minute, errors.New("too many requests")}, false},
		"told to wait, not how long":        {nil, &LaterError{0, errors.New("too many requests")}, false},
		"unreachable":                       {nil, blocked, false},
		"unreachable, with trouble between": {gateway, blocked, false},
		"fails":                             {nil, gateway, true},
		"told to wait, and fails":           {&LaterError{2 * time.Minute, errors.New("too many requests")}, gateway, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t)
				b.run()
				b.accept(message("1", "ada", "question"))
				b.agentSays("answer")
				b.deliver(ada, &script{answer: func(_ context.Context, n int, _ string) error {
					if n == 1 && c.first != nil {
						return c.first
					}
					return c.then
				}})
				look := func(after time.Duration) Health {
					time.Sleep(after)
					b.Exchanged()
					time.Sleep(2 * time.Second)
					return b.health()
				}
				if h := look(4 * time.Minute); h.Ailment() != "" || h.Out != 1 || !strings.Contains(h.Error, "send to peer p-ada: ") {
					t.Errorf("before the time: %+v", h)
				}
				if h := look(27 * time.Minute); h.Late.IsZero() == c.late || (h.Ailment() == "") == c.late {
					t.Errorf("health %+v", h)
				}
				if n := b.log.count("cannot send to peer p-ada"); c.late && n != 1 || strings.HasPrefix(name, "told to wait") && !c.late && n > 0 {
					t.Errorf("the b.log says:\n%s", b.log)
				}
			})
		})
	}
}

// What cannot be known is not healthy.
func TestUnknown(t *testing.T) {
	path := func(home string) string { return inState(home, "health.json") }
	for name, c := range map[string]struct {
		spoil func(home string) error
		want  string // in Error
	}{
		"missing":    {func(home string) error { return os.Remove(path(home)) }, "health.json"},
		"garbage":    {func(home string) error { return os.WriteFile(path(home), []byte("{\x00"), 0o600) }, "invalid character"},
		"empty":      {func(home string) error { return os.WriteFile(path(home), []byte("{}"), 0o600) }, "nothing of a bridge"},
		"a pipe":     {func(home string) error { return pipe(path(home)) }, "not a regular file"},
		"lock, pipe": {func(home string) error { return pipe(inState(home, "lock")) }, "lock: not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			start(t, home)
			lethetest.Must(t, c.spoil(home))
			h := healthOf(t, home)
			if h.State != Unknown || h.Ailment() == "" || !h.Runs() || !strings.Contains(h.Error, c.want) {
				t.Errorf("health %+v, %q", h, h.Error)
			}
		})
	}
}

// A bridge that could not be opened is dead, and says why.
func TestCouldNotOpen(t *testing.T) {
	home := t.TempDir()
	noToken := errors.New("no token")
	Failed(home, "pager", noToken)
	if _, err := os.Stat(inState(home, "")); err == nil {
		t.Error("a bridge that was never opened has a directory")
	}
	lethetest.Must(t, start(t, home).Close())
	Failed(home, "pager", noToken)
	if h := healthOf(t, home); h.State != Dead || h.Error != "no token" {
		t.Errorf("health %+v", h)
	}
	lethetest.Must(t, os.Mkdir(inState(home, "inbox.jsonl"), 0o700))
	if _, err := Open(Config{Home: home, Name: "pager", Watcher: idle()}); err == nil {
		t.Fatal("opened with a directory for an inbox")
	}
	if h := healthOf(t, home); h.State != Dead || !strings.Contains(h.Error, "inbox.jsonl") {
		t.Errorf("health %+v", h)
	}
	lethetest.Must(t, os.Remove(inState(home, "inbox.jsonl")))
	start(t, home)
	Failed(home, "pager", noToken) // another process has it
	if h := healthOf(t, home); h.State != Running || h.Error != "" {
		t.Errorf("health %+v", h)
	}
}

// recording makes a recorder of a bridge called pager, and its log.
func recording(t *testing.T) (*recorder, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	return newRecorder(t.TempDir(), slog.New(slog.NewTextHandler(log, nil))), log
}

// written is the file as the recorder has written it now.
func written(t *testing.T, r *recorder) Report {
	t.Helper()
	r.write()
	f, err := readReport(r.path)
	lethetest.Must(t, err)
	return f
}

func logged(log *bytes.Buffer, s string) int { return strings.Count(log.String(), s) }

func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := recording(t)
		exchanged := func() { r.trouble("reach pager", "", nil) }
		for range 63 {
			r.trouble("reach pager", "", errors.New("502 bad gateway"))
			time.Sleep(time.Second)
		}
		if f := written(t, r); f.Error != "cannot reach pager: 502 bad gateway" || time.Since(f.ErrorAt) > 3*time.Second {
			t.Errorf("health %+v", f)
		}
		exchanged()
		if logged(log, `"cannot reach pager"`) != 1 || logged(log, "can reach pager again") != 1 || logged(log, "after=1m3s") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
		// Two errors that alternate, for five minutes.
		for range 150 {
			r.trouble("reach pager", "", errors.New("timeout"))
			time.Sleep(time.Second)
			r.trouble("reach pager", "", errors.New("409 conflict"))
			time.Sleep(time.Second)
		}
		if n := logged(log, `"cannot reach pager"`); n != 2 || logged(log, "409") != 0 {
			t.Errorf("the beginning is logged %d times:\n%s", n, log)
		}
		exchanged()
		// A trouble that begins and ends all the time.
		before := logged(log, "reach pager")
		for range 150 {
			r.trouble("reach pager", "", errors.New("409 conflict"))
			time.Sleep(time.Second)
			exchanged()
			time.Sleep(time.Second)
		}
		if n := logged(log, "reach pager") - before; n > 12 {
			t.Errorf("a trouble that flickers is logged %d times:\n%s", n, log)
		}
	})
}

// Of several troubles, the oldest says since when something is late; unreachable peers do not count.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := recording(t)
		oops, began := errors.New("oops"), time.Now()
		r.trouble("send to a", "", oops)
		time.Sleep(time.Minute)
		r.trouble("send to b", "", oops)
		r.trouble("send to a", "", oops)
		if f := written(t, r); !f.Late.Equal(began) {
			t.Errorf("late since %s", f.Late)
		}
		r.trouble("send to a", "", nil)
		if f := written(t, r); !f.Late.Equal(began.Add(time.Minute)) {
			t.Errorf("late since %s", f.Late)
		}
		r.trouble("send to b", "b", oops)
		if f := written(t, r); !f.Late.IsZero() || strings.Join(f.Unreachable, " ") != "b" {
			t.Errorf("%+v", f)
		}
	})
}

// health.json is written once a second at most, and once a minute at least. That it cannot be
// written is told once, and nothing else fails.
func TestWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := recording(t)
		touch := func() { r.change(func() {}) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.run(ctx) }() // ends with ctx
		writes := func(during time.Duration, do func()) (n int) {
			var last time.Time
			for began := time.Now(); time.Since(began) < during; time.Sleep(20 * time.Millisecond) {
				do()
				synctest.Wait()
				r.mu.Lock()
				if !r.report.Written.Equal(last) {
					n, last = n+1, r.report.Written
				}
				r.mu.Unlock()
			}
			return n
		}
		if n := writes(10*time.Second, touch); n < 9 || n > 12 {
			t.Errorf("written %d times in 10 s", n)
		}
		if n := writes(3*time.Minute, func() {}); n < 3 || n > 5 {
			t.Errorf("written %d times in three minutes in which nothing happened", n)
		}
		synctest.Wait()
		lethetest.Must(t, errors.Join(os.Remove(r.path), os.Mkdir(r.path, 0o700)))
		writes(10*time.Second, touch)
		cancel()
		<-ended
		if logged(log, "health cannot be written") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// The state of a bridge whose process holds the lock, by what its file says.
func TestStates(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		started, exchanged, written time.Duration // ago
		want                        State
	}{
		{time.Hour, time.Second, 0, Running},
		{time.Second, 0, 0, Running},
		{time.Hour, 0, 0, Deaf},
		{time.Hour, 3 * time.Minute, 0, Deaf},
		{time.Hour, time.Second, 3 * time.Minute, Unknown},
		// A clock was put back since.
		{time.Hour, -maxAhead + time.Second, 0, Running},
		{time.Hour, -time.Hour, 0, Deaf},
		{-time.Hour, 0, -time.Hour, Deaf},
	} {
		r := Report{Started: now.Add(-c.started), Written: now.Add(-c.written)}
		if c.want == Deaf {
			if got, _ := (Report{Started: r.Started, Written: now, Listening: "http://127.0.0.1:8420"}).state(now); got != Running {
				t.Errorf("a bridge that listens is %s", got)
			}
		}
		if c.exchanged != 0 {
			r.Exchanged = now.Add(-c.exchanged)
		}
		if got, err := r.state(now); got != c.want || (err != nil) != (got == Unknown) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

func TestHealthOnPage(t *testing.T) {
	var r Report
	dec := json.NewDecoder(strings.NewReader(lethetest.Blocks(t, "bridges.md", "health.json")[0]))
	dec.DisallowUnknownFields()
	lethetest.Must(t, dec.Decode(&r))
	if r.Written.IsZero() || r.Late.IsZero() || r.PID != 4711 || r.Exchanged.IsZero() || len(r.Unreachable) != 1 || r.Error == "" {
		t.Errorf("the page's health is %+v", r)
	}
}

// A health.json that makes no sense is an error, and says nothing of a bridge.
func FuzzHealth(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"started":"2026-11-20T12:57:16Z","stale_seconds":120}`, `{"started":7}`,
		"\x00", strings.Repeat("[", 20000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "health.json")
		lethetest.Must(t, os.WriteFile(path, data, 0o600))
		if r, err := readReport(path); (err == nil) == r.Started.IsZero() {
			t.Fatalf("%q: %+v, %v", data, r, err)
		}
	})
}
