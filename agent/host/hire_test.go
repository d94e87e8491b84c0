package host

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// role writes a role into a home.
func role(t *testing.T, in home.Home, name, settings string) {
	t.Helper()
	dir := filepath.Join(in.Roles(), name)
	lethetest.Must(t, os.MkdirAll(dir, 0o700))
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "SOUL.md"), []byte("You are a "+name+"."), 0o600))
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "role.toml"), []byte(settings), 0o600))
}

// A hired life runs with the tools, the limits and the wakes of its role; others do not. Nobody takes it for the default
// one.
func TestHired(t *testing.T) {
	h, bot := private(t, "")
	role(t, h.home, "nurse", "tools = [\"SAY\"]\nwake = \"mentions\"\nday_usd = 2\nmonth_usd = 9\n")
	ann, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{"Ann"}})
	lethetest.Must(t, err)
	got, err := h.config(ann)
	lethetest.Must(t, err)
	if ann.Name != "nurse-ann" || !slices.Equal(got.Tools.Only, []string{"SAY"}) || !got.Mentions {
		t.Errorf("%s has the tools %q, only for mentions: %v", ann.Name, got.Tools.Only, got.Mentions)
	}
	if got, err = h.config(bot); err != nil || got.Tools.Only != nil || got.Mentions {
		t.Errorf("another has the tools %q: %v", got.Tools.Only, err)
	}
	if started, kept := ann.Started(); !kept || started.Offline {
		t.Errorf("kept running: %v, %+v", kept, started)
	}
	if id, err := Default(h.home, h.settings); err != nil || id.Name != "bot1" {
		t.Errorf("the default one is %s: %v", id.Name, err)
	}
	limits := func() (limits []budget.USD) {
		home := budget.Limits{Sums: budget.Sums{Day: budget.Of(5)}}
		wallet, err := budget.Open(h.home, h.store, ann, home, budget.Spending{})
		lethetest.Must(t, err)
		for _, line := range wallet.Shown(ann.Name, time.UTC) {
			limits = append(limits, line.Limit)
		}
		return limits
	}
	if got := limits(); !slices.Equal(got, []budget.USD{budget.Of(2), budget.Of(9)}) {
		t.Errorf("limits %v", got)
	}
	lethetest.Must(t, ann.Unstart())
	role(t, h.home, "nurse", "day_usd = 7\n")
	_, err = h.Hire("nurse-ann", "", home.Hired{Role: "nurse", For: []string{"ann"}})
	lethetest.Must(t, err)
	if got := limits(); !slices.Equal(got, []budget.USD{budget.Of(5)}) { // the home's is less
		t.Errorf("hired again: limits %v", got)
	}
	wallet, err := budget.Open(h.home, h.store, ann, budget.Limits{}, budget.Spending{})
	if err != nil || !wallet.Limited() {
		t.Errorf("its role alone does not limit it: %v", err)
	}
}

// What is hired together keeps to the bounds, also when many hire at once.
func TestHireBounds(t *testing.T) {
	h, _ := private(t, "[hire]\nmost = 3\n")
	role(t, h.home, "nurse", "")
	errs := make(chan error)
	for _, name := range []string{"ann", "ben", "cleo", "dan", "eve"} {
		go func() { // ends with Hire
			_, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{name}})
			errs <- err
		}()
	}
	refused := 0
	for range 5 {
		if err := <-errs; errors.Is(err, ErrBound) {
			refused++
		} else {
			lethetest.Must(t, err)
		}
	}
	if refused != 2 {
		t.Errorf("%d of 5 were refused, most = 3", refused)
	}
	h.settings.Hire.Most, h.settings.Hire.Day = 0, 1
	if _, err := h.Hire("six", "", home.Hired{Role: "nurse", For: []string{"fay"}}); !errors.Is(err, ErrBound) {
		t.Errorf("a role without a limit: %v", err)
	}
}

// A damaged hired.toml is told by its path, and blocks nobody else: its identity is neither run nor the default one, and
// counts. Hired again, it is mended.
func TestHiredIsDamaged(t *testing.T) {
	h, bot := private(t, "")
	lethetest.Must(t, h.home.Remove(h.store, bot))
	role(t, h.home, "nurse", "model = \"offline\"\n")
	hire := func(person string) (home.Identity, error) {
		return h.Hire("", "", home.Hired{Role: "nurse", For: []string{person}})
	}
	ann, err := hire("ann")
	lethetest.Must(t, err)
	path := filepath.Join(ann.Dir, "hired.toml")
	for _, damage := range []string{"role = \"nur", "role = 7\n", "\x00\xff"} {
		lethetest.Write(t, path, damage)
		var told lethetest.Log
		h.log = slog.New(slog.NewTextHandler(&told, nil))
		ben, err := hire("ben")
		lethetest.Must(t, err)
		if said := told.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, path) {
			t.Errorf("%q is told as %q", damage, said)
		}
		if _, err := h.config(ann); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("run: %v", err)
		}
		h.settings.Hire.Most = 2
		if _, err := hire("cleo"); !errors.Is(err, ErrBound) {
			t.Errorf("it does not count: %v", err)
		}
		h.settings.Hire.Most = 0
		if id, err := Default(h.home, h.settings); err == nil {
			t.Errorf("the default one is %s", id.Name)
		}
		lethetest.Must(t, h.home.Remove(h.store, ben))
		again, err := hire("ann")
		lethetest.Must(t, err)
		if work, err := again.Hired(); again.Self != ann.Self || err != nil || work.Role != "nurse" {
			t.Errorf("hired again: %v, %+v, %v", again, work, err)
		}
	}
}

// A hire removes what a killed one has left, and no life whose file is damaged and whose name is gone.
func TestHireSparesDamaged(t *testing.T) {
	for _, damage := range []string{"", "garbage\n"} {
		h, _ := private(t, "")
		role(t, h.home, "nurse", "model = \"offline\"\n")
		ann, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{"ann"}})
		lethetest.Must(t, err)
		lethetest.Must(t, os.WriteFile(ann.LIFE(), []byte(damage), 0o600))
		lethetest.Must(t, os.Remove(filepath.Join(h.home.Names(), ann.Name)))
		_, err = h.Hire("", "", home.Hired{Role: "nurse", For: []string{"ben"}})
		lethetest.Must(t, err)
		if _, err := os.Stat(filepath.Join(ann.Dir, home.MemoryFile)); err != nil {
			t.Errorf("LIFE.md %q: %v", damage, err)
		}
	}
}

// A life that goes on elsewhere is none of those who are hired here.
func TestHiredElsewhere(t *testing.T) {
	h, _ := private(t, "[hire]\nmost = 1\n")
	role(t, h.home, "nurse", "")
	ann, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{"ann"}})
	lethetest.Must(t, err)
	hire := func() error { _, err := h.Hire("", "", home.Hired{Role: "nurse", For: []string{"ben"}}); return err }
	if err := hire(); !errors.Is(err, ErrBound) {
		t.Errorf("a second one: %v", err)
	}
	lethetest.Must(t, ann.MarkMirror(1))
	lethetest.Must(t, hire())
}

// A hire for a chat that is cut short at any step is finished by the next line, and makes one life; so do two at once.
// One that was fired stays fired.
func TestEngageIsCutShort(t *testing.T) {
	h, _ := private(t, "notify = [\"telegram:owner\"]\n")
	role(t, h.home, "nurse", "")
	work := home.Hired{Role: "nurse", For: []string{"cleo"}}
	closed := chat.About{Readers: work.For} // by the bridge
	engage := func() error { return h.Engage("telegram-1", work) }
	for last := 1; ; last++ {
		steps := 0
		lethetest.Must(t, closed.Write(h.home.Dir, "telegram-1"))
		durable.Fault = func(durable.Stage, string, string) error {
			if steps++; steps >= last {
				return errors.New("killed")
			}
			return nil
		}
		err := engage()
		durable.Fault = nil
		cut := steps >= last
		if cut && err == nil {
			t.Errorf("step %d fails without an error", last)
		}
		lethetest.Must(t, engage())
		all, err := h.home.List()
		lethetest.Must(t, err)
		id, err := h.home.Find("nurse-cleo")
		lethetest.Must(t, err)
		if _, kept := id.Started(); len(all) != 2 || !kept {
			t.Fatalf("after step %d there are %d lives, and it is kept running: %t", last, len(all), kept)
		}
		rooms, err := chat.Rooms(id.Subs())
		lethetest.Must(t, err)
		if !slices.Equal(rooms, []string{"telegram-1"}) || h.home.Readers("telegram-1").String() != "cleo" {
			t.Fatalf("after step %d it hears %q", last, rooms)
		}
		if dirs, err := os.ReadDir(h.home.Agents()); err != nil || len(dirs) != len(all) {
			t.Errorf("after step %d there are %d directories, %d lives: %v", last, len(dirs), len(all), err)
		}
		if started, err := os.ReadDir(filepath.Join(h.home.Dir, "started")); err != nil || len(started) != 1 {
			t.Errorf("after step %d %d are started: %v", last, len(started), err)
		}
		if !cut {
			break
		}
		lethetest.Must(t, h.home.Remove(h.store, id))
		lethetest.Must(t, os.Remove(h.home.Room("telegram-1")))
	}
	id, err := h.home.Find("nurse-cleo")
	lethetest.Must(t, err)
	lethetest.Must(t, id.Unstart())
	lethetest.Must(t, engage())
	if _, kept := id.Started(); kept {
		t.Error("a line has hired again who was fired")
	}
	var at sync.WaitGroup
	for range 4 {
		at.Go(func() {
			if err := h.Engage("telegram-2", home.Hired{Role: "nurse", For: []string{"dan"}}); err != nil {
				t.Error(err)
			}
		})
	}
	at.Wait()
	if all, err := h.home.List(); err != nil || len(all) != 3 {
		t.Errorf("%d lives: %v", len(all), err)
	}
}

// Whom nobody can be hired for is told once, and so are the people of notify.
func TestEngageRefused(t *testing.T) {
	h, _ := private(t, "notify = [\"telegram:Owner\", \"push\"]\nuser = \"grace\"\n[hire]\nday_usd = 1\n")
	role(t, h.home, "nurse", "")
	for range 2 {
		if err := h.Engage("telegram-1", home.Hired{Role: "nurse", For: []string{"cleo"}}); !errors.Is(err, ErrBound) {
			t.Errorf("hired: %v", err)
		}
	}
	why := "(telegram-1) nurse for cleo cannot be hired: its day_usd is 0"
	for room, text := range map[string]string{
		"notify-owner": why, "notify-grace": why, "telegram-1": "Nobody can answer here now. What you write waits.\n",
	} {
		said, err := os.ReadFile(h.home.Room(room))
		lethetest.Must(t, err)
		if n := strings.Count(string(said), "[AGENT:nurse-cleo "); n != 1 || !strings.Contains(string(said), "] "+text) {
			t.Errorf("%s is told %d times: %s", room, n, said)
		}
	}
	if _, err := os.Stat(chat.AboutPath(h.home.Dir, "telegram-1")); err == nil {
		t.Error("a room was closed")
	}
}
