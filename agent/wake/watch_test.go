package wake

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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
