package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

// hurts are what a power loss makes of a text whose syncs were under way.
var hurts = map[string]func(data string) (left string, there bool){
	"missing": func(string) (string, bool) { return "", false },
	"empty":   func(string) (string, bool) { return "", true },
	"cut off": func(data string) (string, bool) { return data[:len(data)-1], true },
	"a hole":  func(data string) (string, bool) { return strings.Repeat("\x00", len(data)), true },
	"other":   func(data string) (string, bool) { return data + ".", true },
}

// hurt does that to the text of the newest event of a kind.
func (w *world) hurt(id home.Identity, kind, how string) {
	w.Helper()
	all := w.events(id, kind)
	h, err := w.store.Resolve(all[len(all)-1].Refs[0].Hash)
	lethetest.Must(w, err)
	path := w.store.Path(h)
	left, there := hurts[how](w.read(path))
	lethetest.Must(w, os.Remove(path))
	if there {
		w.write(path, left)
	}
}

func (w *world) torn(id home.Identity) []string {
	w.Helper()
	files, err := filepath.Glob(id.LIFE() + ".torn-*")
	lethetest.Must(w, err)
	return files
}

// killedAfter is a life that was killed when its first event of a kind was in the log.
func killedAfter(t *testing.T, kind string) (*world, home.Identity) {
	t.Helper()
	w := newWorld(t, always("yes"))
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "the first line")
	w.dies(id, kind, 1)
	return w, id
}

// A last append of which a text is missing or damaged never happened: whoever looks does not see it, and the identity sets it
// aside and does it again.
func TestTornText(t *testing.T) {
	t.Parallel()
	for how := range hurts {
		w, id := killedAfter(t, "reply")
		equal(t, how+": it owes an answer", w.fold(id).Owed().Answer, false)
		w.hurt(id, "reply", how)
		before := w.read(id.LIFE())
		equal(t, how+": it owes an answer", w.fold(id).Owed().Answer, true)
		equal(t, "LIFE, when somebody looked", w.read(id.LIFE()), before)
		w.run(id).finish()
		if torn := w.torn(id); len(torn) != 1 || !strings.HasSuffix(before, w.read(torn[0])) || !strings.Contains(w.read(torn[0]), " reply e") {
			t.Errorf("%s: set aside: %q", how, torn)
		}
		equalSlices(t, how+": said", w.said("dev"), []string{"yes"})
		w.conserved(id)
	}
}

// A text that is missing before the last append was durable once: that is damage, whatever is missing behind it, and nothing is changed.
func TestLostTextIsNotTorn(t *testing.T) {
	t.Parallel()
	for _, lost := range [][]string{{"inbound"}, {"inbound", "reply"}, {"epoch", "inbound", "reply"}, {"boot"}} {
		w, id := killedAfter(t, "reply")
		for _, kind := range lost {
			w.hurt(id, kind, "missing")
		}
		before := w.read(id.LIFE())
		if _, err := w.try(id); !errors.Is(err, home.ErrCorrupt) {
			t.Errorf("%q lost: %v", lost, err)
		}
		if _, err := home.Fold(id, w.store); lost[0] != "boot" && !errors.Is(err, home.ErrCorrupt) {
			t.Errorf("%q lost: it is read: %v", lost, err)
		}
		equal(t, "LIFE", w.read(id.LIFE()), before)
		equalSlices(t, "set aside", w.torn(id), nil)
	}
	w := newWorld(t)
	id := w.boot("ada", "dev")
	w.hurt(id, "boot", "missing") // which is all of the log
	before := w.read(id.LIFE())
	if _, err := w.try(id); !errors.Is(err, home.ErrCorrupt) {
		t.Errorf("the boot is lost: %v", err)
	}
	equal(t, "LIFE", w.read(id.LIFE()), before)
	log, err := home.View(id, w.store)
	lethetest.Must(t, err)
	defer log.Close()
	equal(t, "bytes of LIFE that count", log.Size(), int64(len(before)))
}
