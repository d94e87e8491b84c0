package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// rests is longer than the time after which context.md is written.
const rests = 1200 * time.Millisecond

// keeps runs what is started in a home, until the test or stop ends it. What is hired sleeps after the time.
func keeps(t *testing.T, in home.Home, after time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // ends with ctx
		ended <- Keep(ctx, in, Options{Log: slog.New(slog.DiscardHandler), restAfter: after},
			func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	stop = func() {
		t.Helper()
		if cancel(); ended != nil {
			lethetest.Must(t, <-ended)
			ended = nil
		}
	}
	t.Cleanup(stop)
	return stop
}

// hires hires an identity that runs with the offline model.
func hires(t *testing.T, h *Host, person string) home.Identity {
	t.Helper()
	role(t, h.home, "nurse", "model = \"offline\"\n")
	id, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{person}})
	lethetest.Must(t, err)
	return id
}

// fallsAsleep waits until an identity has fallen asleep since.
func fallsAsleep(t *testing.T, id home.Identity, since time.Time) {
	t.Helper()
	lethetest.Eventually(t, "it sleeps", func() bool {
		fi, err := os.Stat(filepath.Join(id.Dir, "rest.toml"))
		return err == nil && fi.ModTime().After(since)
	})
}

func says(t *testing.T, in home.Home, room, text string) {
	t.Helper()
	_, err := Post(in, room, "ann", text)
	lethetest.Must(t, err)
}

// answers waits until an identity has answered so often in a room.
func answers(t *testing.T, in home.Home, id home.Identity, room string, n int) {
	t.Helper()
	lethetest.Eventually(t, fmt.Sprintf("%d answers", n), func() bool {
		lines, err := chat.Before(chat.Path(in.Dir, room), -1, 1000)
		lethetest.Must(t, err)
		return len(slices.DeleteFunc(lines, func(l chat.Line) bool { return !l.By(id.Name) })) >= n
	})
}

func lifeOf(t *testing.T, id home.Identity) string {
	t.Helper()
	text, err := os.ReadFile(id.LIFE())
	lethetest.Must(t, err)
	return string(text)
}

// A hired life with nothing to do sleeps, and its next line wakes it, in this process and the next one, which does not
// load it before. Meanwhile it counts as running, and nobody else may run it. Another
// identity that is kept running does not sleep.
func TestSleeps(t *testing.T) {
	t.Parallel()
	h, bot := private(t, "")
	lethetest.Must(t, bot.Start(true, ""))
	ann := hires(t, h, "ann")
	began := time.Now()
	stop := keeps(t, h.home, rests)
	fallsAsleep(t, ann, began)
	for n := range 3 {
		said := time.Now()
		says(t, h.home, ann.Name, "hello")
		answers(t, h.home, ann, ann.Name, n+1)
		fallsAsleep(t, ann, said)
	}
	before := lifeOf(t, ann)
	lethetest.Eventually(t, "it is locked", func() bool { _, running := home.Running(ann); return running })
	if _, err := h.OpenAgent(ann); !errors.As(err, new(*home.RunningError)) {
		t.Errorf("another process may run it: %v", err)
	}
	stop()
	if _, running := home.Running(ann); running {
		t.Error("it runs when it was stopped")
	}
	keeps(t, h.home, rests)
	lethetest.Eventually(t, "both run", func() bool {
		_, one := home.Running(ann)
		_, other := home.Running(bot)
		return one && other
	})
	time.Sleep(300 * time.Millisecond)
	if now := lifeOf(t, ann); now != before {
		t.Errorf("it was loaded at the start:\n%s", now[len(before):])
	}
	if _, err := os.Stat(filepath.Join(bot.Dir, "rest.toml")); err == nil {
		t.Error("one that nobody has hired sleeps")
	}
	says(t, h.home, ann.Name, "hello again")
	answers(t, h.home, ann, ann.Name, 4)
}

// A sleeping life is woken by all that concerns it, also by what came while nothing ran.
func TestWakes(t *testing.T) {
	t.Parallel()
	h, _ := private(t, "")
	ann := hires(t, h, "ann")
	began := time.Now()
	stop := keeps(t, h.home, rests)
	fallsAsleep(t, ann, began)
	wakes := func(what string, do func()) {
		t.Helper()
		since := time.Now()
		do()
		lethetest.Eventually(t, what+": its log goes on", func() bool {
			fi, err := os.Stat(ann.LIFE())
			lethetest.Must(t, err)
			return fi.ModTime().After(since)
		})
		fallsAsleep(t, ann, since)
	}
	trigger := fmt.Sprintf("at = %q\nsay = \"a trigger\"\n", time.Now().Add(2*time.Second).Format(time.RFC3339))
	file := filepath.Join(ann.Dir, "triggers", "soon.toml")
	lethetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	wakes("a trigger", func() { lethetest.Must(t, os.WriteFile(file, []byte(trigger), 0o600)) })
	answers(t, h.home, ann, ann.Name, 1)
	lethetest.Must(t, chat.About{Readers: []string{"ann"}}.Write(h.home.Dir, "more"))
	wakes("a room", func() { lethetest.Must(t, h.home.Subscribe(ann, "more")) })
	wakes("a line there", func() { says(t, h.home, "more", "hello") })
	answers(t, h.home, ann, "more", 1)
	wakes("a wish", func() { lethetest.Must(t, home.Ask(ann, home.WishLabel+"here")) })
	stop()
	wakes("a line before the start", func() {
		says(t, h.home, "more", "hello")
		stop = keeps(t, h.home, rests)
	})
	answers(t, h.home, ann, "more", 2)
	lethetest.Must(t, home.Ask(ann, home.WishStop))
	lethetest.Eventually(t, "it has stopped", func() bool { _, running := home.Running(ann); return !running })
}

// No line is missed when it comes while a life falls asleep, or wakes.
func TestSleepMissesNothing(t *testing.T) {
	t.Parallel()
	h, _ := private(t, "")
	ann := hires(t, h, "ann")
	keeps(t, h.home, time.Millisecond)
	const lines = 200
	for n := range lines {
		says(t, h.home, ann.Name, fmt.Sprintf("line-%d.", n))
		time.Sleep(time.Duration(n%40) * time.Millisecond)
	}
	lethetest.Eventually(t, "all are heard", func() bool {
		heard := 0
		for _, batch := range regexp.MustCompile(`\] inbound .* lines=(\d+)`).FindAllStringSubmatch(lifeOf(t, ann), -1) {
			n, _ := strconv.Atoi(batch[1])
			heard += n
		}
		return heard >= lines
	})
}

// Who may read a room that was changed while its life slept is known before its next line is heard.
func TestReadersWhileItSleeps(t *testing.T) {
	t.Parallel()
	h, _ := private(t, "")
	ann := hires(t, h, "ann")
	began := time.Now()
	keeps(t, h.home, rests)
	fallsAsleep(t, ann, began)
	lethetest.Must(t, chat.About{Readers: []string{"ann", "ben"}}.Write(h.home.Dir, ann.Name))
	says(t, h.home, ann.Name, "hello")
	answers(t, h.home, ann, ann.Name, 1)
	both := regexp.MustCompile(`(?s)readers room=nurse-ann reader=ann reader=ben.*\] inbound `)
	if got := lifeOf(t, ann); !both.MatchString(got) {
		t.Errorf("its log does not know them before the line:\n%s", got)
	}
}

// A life that is fired while it falls asleep or wakes has stopped, and does not run again.
func TestFiredWhileItWakes(t *testing.T) {
	t.Parallel()
	h, _ := private(t, "")
	ann := hires(t, h, "ann")
	keeps(t, h.home, time.Millisecond)
	says(t, h.home, ann.Name, "hello")
	answers(t, h.home, ann, ann.Name, 1) // a first opening writes an epoch, before it sees that it is to stop
	for n := range 40 {
		lethetest.Must(t, ann.Start(true, ""))
		says(t, h.home, ann.Name, "hello")
		time.Sleep(time.Duration(n%50) * time.Millisecond)
		if _, err := report.Stop(t.Context(), ann); err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
		before := lifeOf(t, ann)
		says(t, h.home, ann.Name, "hello?")
		time.Sleep(20 * time.Millisecond)
		if now := lifeOf(t, ann); now != before {
			t.Fatalf("round %d: it ran after that:\n%s", n, now[len(before):])
		}
	}
}
