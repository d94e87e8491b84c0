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
