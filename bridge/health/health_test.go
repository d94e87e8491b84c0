package health

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/lethetest"
)

// record makes a recorder of a bridge called pager, and its log.
func record(t *testing.T) (*Recorder, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	return NewRecorder(t.TempDir(), "pager", slog.New(slog.NewTextHandler(log, nil))), log
}

// shown is the file as the recorder has written it now.
func shown(t *testing.T, r *Recorder) Report {
	t.Helper()
	r.Write()
	f, err := readReport(r.path)
	lethetest.Must(t, err)
	return f
}

func count(log *bytes.Buffer, s string) int { return strings.Count(log.String(), s) }

func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := record(t)
		r.Exchanged()
		for range 63 {
			r.Trouble(Reaching("pager"), NoLines, errors.New("502 bad gateway"))
			time.Sleep(time.Second)
		}
		if f := shown(t, r); f.Error != "cannot reach pager: 502 bad gateway" || time.Since(f.ErrorAt) > 3*time.Second || !f.Late.IsZero() {
			t.Errorf("health %+v", f)
		}
		r.Exchanged()
		if count(log, `"cannot reach pager"`) != 1 || count(log, "can reach pager again") != 1 || count(log, "after=1m3s") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
		// Two errors that alternate, for five minutes.
		for range 150 {
			r.Trouble(Reaching("pager"), NoLines, errors.New("timeout"))
			time.Sleep(time.Second)
			r.Trouble(Reaching("pager"), NoLines, errors.New("409 conflict"))
			time.Sleep(time.Second)
		}
		if n := count(log, `"cannot reach pager"`); n != 2 || count(log, "409") != 0 {
			t.Errorf("the beginning is logged %d times:\n%s", n, log)
		}
		r.Exchanged()
		// A trouble that begins and ends all the time.
		before := count(log, "reach pager")
		for range 150 {
			r.Trouble(Reaching("pager"), NoLines, errors.New("409 conflict"))
			time.Sleep(time.Second)
			r.Exchanged()
			time.Sleep(time.Second)
		}
		if n := count(log, "reach pager") - before; n > 12 {
			t.Errorf("a trouble that flickers is logged %d times:\n%s", n, log)
		}
	})
}

// Of several troubles, the oldest that holds up lines says since when they are late.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := record(t)
		oops := errors.New("oops")
		r.Trouble("read the settings", NoLines, oops)
		time.Sleep(time.Minute)
		began := time.Now()
		r.Trouble(Sending("a"), HoldsUp, oops)
		time.Sleep(time.Minute)
		r.Trouble(Sending("b"), HoldsUp, oops)
		r.Trouble(Sending("a"), HoldsUp, oops)
		if f := shown(t, r); !f.Late.Equal(began) {
			t.Errorf("late since %s", f.Late)
		}
		r.Trouble(Sending("a"), NoLines, nil)
		if f := shown(t, r); !f.Late.Equal(began.Add(time.Minute)) {
			t.Errorf("late since %s", f.Late)
		}
		r.Trouble(Sending("b"), Unreachable, oops)
		if f := shown(t, r); !f.Late.IsZero() || strings.Join(f.Unreachable, " ") != "b" {
			t.Errorf("%+v", f)
		}
		r.Over(Sending("b"))
		if f := shown(t, r); len(f.Unreachable) != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// health.json is written once a second at most, and once a minute at least. That it cannot be
// written is told once, and nothing else fails.
func TestWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := record(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.Run(ctx) }() // ends with ctx
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
		if n := writes(10*time.Second, r.Exchanged); n < 9 || n > 12 {
			t.Errorf("written %d times in 10 s", n)
		}
		if n := writes(3*time.Minute, func() {}); n < 3 || n > 5 {
			t.Errorf("written %d times in three minutes in which nothing happened", n)
		}
		synctest.Wait()
		lethetest.Must(t, errors.Join(os.Remove(r.path), os.Mkdir(r.path, 0o700)))
		writes(10*time.Second, r.Exchanged)
		cancel()
		<-ended
		if count(log, "health cannot be written") != 1 {
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

func TestPage(t *testing.T) {
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
	for _, s := range []string{"", "null", "{}", `{"started":"2026-11-20T12:57:16Z","stale_seconds":120}`, `{"started":7}`, "\x00", strings.Repeat("[", 20000)} {
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
