package agent

import (
	"os"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// What wakes the identity does so although its line was taken out of the room before it was heard, or
// the whole room was: each line is heard and answered once, and its trigger goes on.
func TestWakesWhoseLineIsGone(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(w *world){
		"the line": func(w *world) {
			w.rewrite(w.path("dev"), func(text string) string { return text[:strings.Index(text, "[AGENT:cron-tick ")] })
		},
		"the room":  func(w *world) { lethetest.Must(w, os.Remove(w.path("dev"))) },
		"all lines": func(w *world) { lethetest.Must(w, os.Truncate(w.path("dev"), 0)) },
		"another room": func(w *world) {
			w.rewrite(w.path("dev"), func(string) string { return "[USER:ann 2026-11-22T07:00:00Z] something else\n" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id, r := start(t, always("yes"))
			r.ask("hello")
			r.stop()
			w.trigger(id, "tick.toml", "every = \"1s\"\nroom = \"dev\"\nsay = \"tick\"\n")
			w.dies(id, "posted", 1)
			edit(w)
			w.dies(id, "fired", 1) // which says so
			r = w.run(id)
			w.eventually("it fires on", func() bool { return len(w.events(id, "fired")) > 2 })
			w.disarm(id, "tick.toml")
			r.finish()
			again := 0
			var ticks []string
			for _, e := range w.events(id, "fired") {
				if e.Get("again") != "" {
					again++
				} else {
					ticks = append(ticks, e.Get("say"))
				}
			}
			heard := slices.DeleteFunc(w.heard(id, "dev"), func(text string) bool { return !strings.HasPrefix(text, "tick") })
			equalSlices(t, "ticks that were heard", heard, ticks)
			equal(t, "lines that were posted again", again, 1)
			equal(t, "unanswered", len(w.fold(id).Wakes), 0)
		})
	}
}
