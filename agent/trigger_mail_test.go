package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// told are the firings whose line has a text.
func (w *world) told(id home.Identity, text string) (out []life.Event) {
	w.Helper()
	for _, e := range w.events(id, "fired") {
		if strings.Contains(e.Get("say"), text) {
			out = append(out, e)
		}
	}
	return out
}

// A file that cannot be moved is told once, whatever else comes, from whom, into which drop, and over a restart.
func TestMailThatStays(t *testing.T) {
	slow(t)
	w := newWorld(t)
	id := w.boot("ada", "dev")
	drops := map[string]string{"one": t.TempDir(), "two": t.TempDir()}
	put := func(drop, name string) { w.write(filepath.Join(drops[drop], name), "a letter\n") }
	for name, dir := range drops {
		w.trigger(id, name+".toml", fmt.Sprintf("mail = %q\n", dir))
		put(name, "first-"+name)
	}
	put("one", "processed") // where files would go
	r := w.run(id)
	told := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.eventually(name+" is told", func() bool { return len(w.told(id, name+",")) > 0 })
		}
	}
	told("first-one", "first-two", "processed")
	put("two", "second-two")
	put("one", "second-one")
	told("second-one", "second-two")
	w.shows(id, "what is wrong", func(s status.Status) bool {
		return len(s.Triggers) == 2 && strings.Contains(s.Triggers[0].Error, "processed")
	})
	r = r.again()
	put("two", "third-two")
	told("third-two")
	r.settled()
	lethetest.Must(t, os.Remove(filepath.Join(drops["one"], "processed")))
	put("two", "fourth-two")
	told("fourth-two")
	w.eventually("they are moved", func() bool {
		moved, _ := filepath.Glob(filepath.Join(drops["one"], "processed", "*-one"))
		return len(moved) == 2
	})
	r.finish()
	w.has(id, 7, "fired")
	equal(t, "turns that a letter opens twice", len(w.told(id, "first-one,"))+len(w.told(id, "second-one,")), 2)
	w.conserved(id)
}
