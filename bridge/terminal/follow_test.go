package terminal

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// What happened is read from the newest lines of the log on, each event once.
func TestEventsOfALife(t *testing.T) {
	home := t.TempDir()
	out, err := exec.Command("tar", "-xzf", lethetest.Given(t, "agent/testdata/november/home.tar.gz"), "-C", home,
		"--strip-components=1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	store, err := blobs.Open(filepath.Join(home, "blobs"))
	lethetest.Must(t, err)
	dirs, _ := filepath.Glob(filepath.Join(home, "agents", "*"))
	dir := dirs[1] // the longer life
	s := status.Status{Name: "ada", Self: filepath.Base(dir), Rooms: []string{"dev"}}
	lethetest.Must(t, status.Write(dir, s))

	life := filepath.Join(dir, "LIFE.md")
	whole, err := os.ReadFile(life)
	lethetest.Must(t, err)
	cut := slices.Index(whole[len(whole)*9/10:], '\n') + len(whole)*9/10 + 1
	lethetest.Must(t, os.WriteFile(life, whole[:cut], 0o600))

	f := newFiles(Config{Home: home, Store: store, Room: "dev"}.defaults())
	f.open("dev")
	defer f.unfollow()
	n, _ := f.look()
	if len(n.Acts) == 0 || !n.Acts[0].old {
		t.Fatalf("%d events", len(n.Acts))
	}
	got := n.Acts
	lethetest.Must(t, os.WriteFile(life, whole, 0o600))
	n, isNew := f.look()
	if !isNew || len(n.Acts) == 0 || n.Acts[0].old {
		t.Errorf("%d events since, new: %v", len(n.Acts), isNew)
	}
	got = append(got, n.Acts...)

	all, err := events.Open(store, events.Log{Path: life, Name: "ada"}, "")
	lethetest.Must(t, err)
	defer all.Close()
	i := 0
	for ; ; i++ {
		e, err := all.Next()
		if err == io.EOF {
			break
		}
		if err != nil || i == len(got) || e.ID != got[i].ID || e.Type != got[i].Type {
			t.Fatalf("event %d of %d: %s %s, %v", i, len(got), e.ID, e.Type, err)
		}
	}
	lethetest.Equal(t, "events", i, len(got))
	at, _ := strconv.Atoi(recent(life, 30))
	if newest := string(whole[at:]); strings.Count(newest, "\n") < 30 || at < len(whole)/2 || !strings.Contains(newest[:40], "] inbound ") {
		t.Errorf("the newest 30 lines are\n%s", newest)
	}
	if n, _ := f.look(); len(n.Acts) > 0 {
		t.Errorf("%d events twice", len(n.Acts))
	}
}
