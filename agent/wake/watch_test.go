package wake

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/wake/trigger"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// A change in the step of the file system's clock in which a trigger first looked is noticed, and its absence is not.
func TestTriggerWatchesFromItsFirstLook(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "notes"), time.Now()
	fires := func(r *loaded, after time.Duration) bool {
		_, ok := new(Triggers).watched(r, mind.Firing{}, now.Add(after))
		return ok
	}
	for _, text := range []string{"one", "two"} {
		lethetest.Write(t, path, "one")
		lethetest.Must(t, os.Chtimes(path, now, now))
		r := &loaded{Trigger: trigger.Trigger{Watch: path, Zone: time.UTC}, progress: progress{since: now}}
		if fires(r, 0) {
			t.Error("fires at first")
		}
		lethetest.Write(t, path, text)
		lethetest.Must(t, os.Chtimes(path, now, now))
		if fires(r, settleTime-1) {
			t.Error("fires too soon")
		}
		if fires(r, settleTime) != (text == "two") {
			t.Error("fires with " + text)
		}
	}
}

// What is watched is the same list each time: the loop watches another one anew.
func TestScopesStay(t *testing.T) {
	t.Parallel()
	triggers := &Triggers{there: true, all: map[string]*loaded{}}
	for _, name := range strings.Split("abcdefghij", "") {
		triggers.all[name] = &loaded{Trigger: trigger.Trigger{Watch: "/" + name}}
	}
	for first, n := triggers.Scopes(), 0; n < 10; n++ {
		if again := triggers.Scopes(); !reflect.DeepEqual(again, first) {
			t.Fatalf("%v after %v", again, first)
		}
	}
}

// What is watched says by name what came, changed and went, also while nobody ran, in a directory that was empty, or
// where nothing was; what came and went meanwhile makes no line.
func TestTriggerNamesWhatItSaw(t *testing.T) {
	t.Parallel()
	dir, kept := t.TempDir(), t.TempDir()
	lethetest.Must(t, os.Mkdir(filepath.Join(kept, Dir), 0o700))
	file := func(name string) string { return filepath.Join(dir, name) }
	now := time.Now().Add(time.Hour)
	watch := dir
	started := func() (*Triggers, *loaded) {
		r := &loaded{Trigger: trigger.Trigger{Name: "in", Watch: watch, Zone: time.UTC}, progress: progress{since: now}}
		return &Triggers{Config: Config{Identity: home.Identity{Dir: kept}}}, r
	}
	var fired mind.Firing
	look := func(triggers *Triggers, r *loaded) string {
		t.Helper()
		triggers.watched(r, fired, now)
		now = now.Add(settleTime)
		m, ok := triggers.watched(r, fired, now)
		if !ok {
			return "silent"
		}
		r.changed, r.base = time.Time{}, m.seen
		triggers.keep(r)
		fired = mind.Firing{Seen: m.seen, Last: now}
		return m.changes
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	lethetest.Write(t, file("a b.csv"), "one")
	triggers, r := started()
	expect("as it was made", look(triggers, r), "silent")
	triggers, r = started()
	r.since = now.Add(-3 * time.Hour)
	lethetest.Write(t, file("x"), "one")
	lethetest.Must(t, os.Remove(file("x")))
	expect("came and went while nobody ran", look(triggers, r), "silent")
	lethetest.Write(t, file("c"), "one")
	expect("one came", look(triggers, r), "came: c")
	triggers, r = started()
	r.since = now.Add(-3 * time.Hour)
	lethetest.Write(t, file("c"), "three")
	lethetest.Must(t, os.Remove(file("a b.csv")))
	for i := range 10 {
		lethetest.Write(t, file(fmt.Sprint("n", i)), "")
	}
	expect("after a restart", look(triggers, r), "came: n0, n1, n2, n3, n4, n5, n6, n7, and 2 more; changed: c; went: a b.csv")

	watch, fired = filepath.Join(dir, "later"), mind.Firing{}
	triggers, r = started()
	expect("nothing is there", look(triggers, r), "silent")
	lethetest.Must(t, os.Mkdir(watch, 0o700))
	lethetest.Write(t, file("later/d"), "one")
	expect("it came with a file", look(triggers, r), "came: d")
	lethetest.Must(t, os.RemoveAll(watch))
	triggers, r = started()
	expect("it went with its file", look(triggers, r), "went: d")
	lethetest.Must(t, os.Mkdir(watch, 0o700))
	fired = mind.Firing{}
	triggers, r = started()
	expect("an empty one", look(triggers, r), "silent")
	triggers, r = started()
	r.since = now.Add(-3 * time.Hour)
	lethetest.Write(t, file("later/e"), "one")
	expect("after a restart, its first file", look(triggers, r), "came: e")

	watch, fired = file("n0"), mind.Firing{}
	triggers, r = started()
	expect("one file", look(triggers, r), "silent")
	lethetest.Write(t, watch, "two")
	expect("it changed, which needs no name", look(triggers, r), "")
	lethetest.Must(t, os.Remove(watch))
	expect("it went", look(triggers, r), "went: n0")
	lethetest.Write(t, watch, "two")
	expect("it came", look(triggers, r), "came: n0")
}
