package health

import (
	"bytes"
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

// record makes a recorder of a bridge whose process holds its lock, and its log.
func record(t *testing.T, stale time.Duration) (*Recorder, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600))
	log := &bytes.Buffer{}
	return NewRecorder(dir, "pager", stale, slog.New(slog.NewTextHandler(log, nil))), log
}

// shown is the file as the recorder has written it now.
func shown(t *testing.T, r *Recorder) file {
	t.Helper()
	r.Write(true)
	f, err := readFile(r.path)
	lethetest.Must(t, err)
	return f
}

func count(log *bytes.Buffer, s string) int { return strings.Count(log.String(), s) }

func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := record(t, DefaultStale)
		r.Exchanged()
		for range 63 {
			r.Unanswered(errors.New("502 bad gateway"))
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
			r.Unanswered(errors.New("timeout"))
			time.Sleep(time.Second)
			r.Unanswered(errors.New("409 conflict"))
			time.Sleep(time.Second)
		}
		if n := count(log, "still cannot reach pager"); n < 3 || n > 6 {
			t.Errorf("the change is logged %d times:\n%s", n, log)
		}
		r.Exchanged()
		// A trouble that begins and ends all the time.
		before := count(log, "reach pager")
		for range 150 {
			r.Unanswered(errors.New("409 conflict"))
			time.Sleep(time.Second)
			r.Exchanged()
			time.Sleep(time.Second)
		}
		if n := count(log, "reach pager") - before; n > 12 {
			t.Errorf("a trouble that flickers is logged %d times:\n%s", n, log)
		}
	})
}

// Of several troubles, the oldest that blocks says since when lines are late.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := record(t, DefaultStale)
		oops := errors.New("oops")
		r.Trouble("read the settings", false, oops)
		time.Sleep(time.Minute)
		began := time.Now()
		r.Unsent("a", oops)
		time.Sleep(time.Minute)
		r.Unsent("b", oops)
		r.Unsent("a", oops)
		if f := shown(t, r); !f.Late.Equal(began) {
			t.Errorf("late since %s", f.Late)
		}
		r.Sent("a")
		if f := shown(t, r); !f.Late.Equal(began.Add(time.Minute)) {
			t.Errorf("late since %s", f.Late)
		}
		r.Unreachable("b", oops)
		if f := shown(t, r); !f.Late.IsZero() || len(f.Unreachable) != 1 {
			t.Errorf("%+v", f)
		}
		r.Left("b", true)
		if f := shown(t, r); len(f.Unreachable) != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// health.json is written once a second at most, and once a minute at least.
func TestWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := record(t, DefaultStale)
		writes := func(do func()) (n int) {
			for last := r.wrote; time.Since(last) < 10*time.Second || n == 0; {
				do()
				time.Sleep(20 * time.Millisecond)
				before := r.wrote
				if r.Write(false); !r.wrote.Equal(before) {
					n++
				}
				if n > 100 || time.Since(last) > 2*time.Minute {
					break
				}
			}
			return n
		}
		r.Write(true)
		if n := writes(r.Exchanged); n < 9 || n > 12 {
			t.Errorf("written %d times in 10 s", n)
		}
		time.Sleep(2 * time.Second)
		r.Write(false)
		if n := writes(func() {}); n != 1 {
			t.Errorf("written %d times in a minute in which nothing happened", n)
		}
		// A directory in its place: that is told once, and nothing else fails.
		lethetest.Must(t, errors.Join(os.Remove(r.path), os.Mkdir(r.path, 0o700)))
		writes(r.Exchanged)
		if count(log, "health cannot be written") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// The state of a bridge whose process holds the lock, by what its file says.
func TestStates(t *testing.T) {
	now := time.Now()
	lock := filepath.Join(t.TempDir(), "lock")
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
		{-time.Hour, -time.Hour, 0, Deaf},
		{time.Second, -time.Hour, 0, Running},
	} {
		f := file{Started: now.Add(-c.started), Written: now.Add(-c.written), StaleSecs: 120}
		if c.exchanged != 0 {
			f.Exchanged = now.Add(-c.exchanged)
		}
		if got, err := f.state(now, nil, lock); got != c.want || (err != nil) != (got == Unknown) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/bridges.md")
	lethetest.Must(t, err)
	_, example, _ := strings.Cut(string(page), "\n```health.json\n")
	example, _, _ = strings.Cut(example, "```\n")
	var f file
	dec := json.NewDecoder(strings.NewReader(example))
	dec.DisallowUnknownFields()
	lethetest.Must(t, dec.Decode(&f))
	if f.Written.IsZero() || f.Late.IsZero() || f.PID != 4711 || f.StaleSecs != 120 || f.Exchanged.IsZero() || len(f.Unreachable) != 1 || f.Error == "" {
		t.Errorf("the page's health is %+v", f)
	}
}

// Any health.json gives a bridge a state, and one that makes no sense not a good one.
func FuzzHealth(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"started":"2026-11-20T12:57:16Z","stale_seconds":1e300}`, `{"started":"2026-11-20T12:57:16Z","stale_seconds":-1}`,
		`{"started":"2026-11-20T12:57:16Z","stale_seconds":60,"full":"2026-11-20T12:57:16Z"}`, "\x00", strings.Repeat("[", 20000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "health.json")
		lethetest.Must(t, os.WriteFile(path, data, 0o600))
		h, err := readFile(path)
		if state, why := h.state(time.Now(), err, path); err != nil && why == nil && state == Running {
			t.Fatalf("%q: %v, and %v", data, err, state)
		}
		if err == nil && h.stale() <= 0 {
			t.Fatalf("%q: stale after %v", data, h.stale())
		}
	})
}
