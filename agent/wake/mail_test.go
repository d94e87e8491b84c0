package wake

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/wake/trigger"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// Letters that no line may tell of yet ask for no look: that would come at once, again and again.
func TestMailThatWaits(t *testing.T) {
	drop, wakes := t.TempDir(), 0
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(drop, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := Config{Identity: home.Identity{Name: "ada"}, Wake: func() { wakes++ }}
	config.Notice = func(string, ...string) (n event.Notice) { return n }
	config.Put = func(blobs.Meta, []byte) (mind.Ref, error) { return mind.Ref{}, nil }
	triggers := NewTriggers(config)
	r := &loaded{Trigger: trigger.Trigger{Name: "box", Mail: drop, Room: "dev", Zone: time.UTC}}
	first, err := os.Stat(filepath.Join(drop, "a"))
	if err != nil {
		t.Fatal(err)
	}
	by := triggers.sender(r, first)
	view := View{Now: time.Now().Add(time.Hour), Joined: []string{"dev"}}
	for i, want := range []string{"lines 1, wakes 1", "lines 0, wakes 0"} {
		wakes = 0
		if both, err := triggers.mail(r, view, []Commit{{}}); i == 0 && (len(both) != 1 || wakes != 1 || err != nil) {
			t.Errorf("behind another record: %d records, wakes %d: %v", len(both), wakes, err)
		}
		wakes = 0
		records, err := triggers.mail(r, view, nil)
		if got := fmt.Sprintf("lines %d, wakes %d", len(records), wakes); got != want || err != nil {
			t.Errorf("look %d: %s, want %s: %v", i, got, want, err)
		}
		for range mostMail {
			view.Wakes = append(view.Wakes, mind.Wake{By: by})
		}
	}
}

// A letter that takes the name of an earlier one, which is about to be moved, stays until it is told.
func TestMailOverMail(t *testing.T) {
	drop := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		lethetest.Must(t, os.WriteFile(filepath.Join(drop, ".new"), []byte(text), 0o600))
		lethetest.Must(t, os.Rename(filepath.Join(drop, ".new"), filepath.Join(drop, name)))
		fi, err := os.Stat(filepath.Join(drop, name))
		lethetest.Must(t, err)
		return identify(fi)
	}
	seen := put("a", "the first") + " " + put("b", "the second")
	triggers := NewTriggers(Config{Identity: home.Identity{Name: "ada"}, Wake: func() {}})
	r := &loaded{Trigger: trigger.Trigger{Name: "box", Mail: drop, Room: "dev", Zone: time.UTC}}
	fi, err := os.Stat(drop)
	lethetest.Must(t, err)
	view := View{Now: time.Now().Add(-time.Hour), Fires: map[string]mind.Firing{triggers.sender(r, fi) + " box": {Seen: seen}}}
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if stage == durable.Before && op == "rename" && filepath.Base(path) == "a" {
			put("b", "another one")
		}
		return nil
	}
	defer func() { durable.Fault = nil }()
	_, err = triggers.mail(r, view, nil)
	lethetest.Must(t, err)
	for name, want := range map[string]string{"processed/a": "the first", "b": "another one"} {
		if text, err := os.ReadFile(filepath.Join(drop, name)); string(text) != want {
			t.Errorf("%s: %q, want %q: %v", name, text, want, err)
		}
	}
}
