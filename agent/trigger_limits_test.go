package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

// A trigger of a room that its identity has left does not run its command, says so once, and goes on when
// the identity is there again.
func TestTriggerOfARoomThatWasLeft(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	w := newWorld(t,
		on("go", calls(
			"WRITE_FILE", fmt.Sprintf(`{"path":"self/triggers/once.toml","content":"at = \"%s\"\nroom = \"ops\"\nrun = \"echo ran `+
				`>> ran; echo done\"\n"}`, soon),
			"LEAVE", `{"room":"ops"}`)),
		on("back", calls("JOIN", `{"room":"ops"}`)), always("well"))
	w.conf.Notify = []string{"notify-ada"}
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	r.ask("go")
	w.until(id, 1, "note", "why", "trigger")
	for range 5 {
		r.ask("a turn")
	}
	equal(t, "the command has run", r.agent.there("workspace/ran"), false)
	w.has(id, 1, "note", "why", "trigger")
	contains(t, w.answered("notify-ada", 1), `trigger once does not run: room = "ops": you are not in it`)
	r.ask("back")
	w.eventually("it fires", func() bool { return len(w.by("ops", "cron-once")) == 1 })
	r.finish()
	equal(t, "runs", w.read(w.own(id, "workspace/ran")), "ran\n")
	w.has(id, 1, "note", "why", "trigger")
}

// What the daemon writes is not watched: each line would be a reason for the next.
func TestTriggerWatchesNothingOfLethe(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	w.trigger(id, "notices.toml", "every = \"1s\"\nroom = \"notify-ann\"\nrun = \"touch ran\"\n")
	w.trigger(id, "rooms.toml", fmt.Sprintf("watch = %q\n", w.home.Chats()))
	w.until(id, 2, "note", "why", "trigger")
	r.ask("hello")
	r.finish()
	equal(t, "a command has run for a room that it may not hear", r.agent.there("workspace/ran"), false)
	w.has(id, 0, "fired")
	link := filepath.Join(t.TempDir(), "link")
	lethetest.Must(t, os.Symlink(w.home.Chats(), link))
	home, config := w.home.Dir, r.agent.caller.reach.Config
	for path, refused := range map[string]bool{
		home: true, w.home.Chats(): true, link: true, w.path("new"): true, w.path("dev"): true, home + "/agents": true, id.Dir: true,
		id.LIFE(): true, home + "/blobs": true, home + "/names/ada": true, home + "/ledger": true, "../sandbox": true,
		w.own(id, "workspace"): false, home + "/names/ada/workspace/new": false, "new": false, home + "/config.toml": true,
		filepath.Dir(home): false,
	} {
		_, err := config.Parse("x", fmt.Appendf(nil, "watch = %q\nroom = \"dev\"\n", path), []string{"dev"}, false)
		if (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A line that is late waits for the end of the quiet hours, too, and comes then, once.
func TestLateLineIsQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	now := time.Now().UTC().Truncate(time.Minute)
	hour := func(at time.Time) string { return at.Format("15:04") }
	end := now.Add(3 * time.Hour)
	w.trigger(id, "late.toml", fmt.Sprintf("at = %q\ntz = \"UTC\"\nquiet = \"%s-%s\"\nsay = \"x\"\n",
		now.Add(-5*time.Minute).Format(time.RFC3339), hour(now.Add(-time.Minute)), hour(end)))
	r := w.run(id)
	w.shows(id, "it waits", func(s status.Status) bool { return len(s.Triggers) == 1 && s.Triggers[0].Next.Equal(end) })
	r.finish()
	equal(t, "lines", len(w.by("dev", "cron-late")), 0)
}
