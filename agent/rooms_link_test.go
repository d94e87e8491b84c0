package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/lethetest"
	"lethe/internal/status"
)

// A file in the place of a link makes the identity deaf in that room, and it says so
// until the link is back.
func TestLinkBecomesFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log lethetest.Log
	w.conf.Log = slog.New(slog.NewTextHandler(&log, nil))
	id := w.boot("ada", "dev", "ops")
	r := w.run(id)
	r.settled()
	link := filepath.Join(id.Subs(), "ops.md")
	w.rewrite(link, func(s string) string { return s + "saved by an editor\n" })
	w.shows(id, "it says that it is deaf", func(s status.Status) bool {
		return len(s.Trouble) == 1 && strings.HasPrefix(s.Trouble[0], "room ops cannot be read: subs/ops.md is not a link; remove it")
	})
	contains(t, w.ask("dev", "/status"), "; room ops cannot be read: subs/ops.md is not a link")
	r.settled()
	equal(t, "warnings", strings.Count(log.String(), "subs/ops.md is not a link"), 1)
	w.say("ops", "ann", "say that you hear me in ops")
	lethetest.Must(t, os.Remove(link))
	lethetest.Must(t, chat.Subscribe(id.Subs(), w.home.Chats(), "ops"))
	w.answered("ops", 1)
	r.settled()
	s := w.status(id)
	equalSlices(t, "trouble", s.Trouble, nil)
	r.stop()
	if heard := w.heard(id, "ops"); !slices.Contains(heard, "say that you hear me in ops") {
		t.Errorf("heard in ops: %q", heard)
	}
}
