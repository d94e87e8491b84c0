package check_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/cmd/lethe/check"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/mind"
)

// olderWorld is a home that an older program wrote.
func olderWorld(t testing.TB, archive string) *world {
	t.Helper()
	dir := lethetest.Dir(t)
	lethetest.Unpack(t, archive, dir)
	return open(t, filepath.Join(dir, "home"))
}

func older(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/older/*.tar.gz")
	if err != nil || len(all) < 3 {
		t.Fatalf("%d homes, %v", len(all), err)
	}
	return all
}

// A home that an older program wrote is as it was written, and so is what this one makes of it.
func TestFsckOfOlderPrograms(t *testing.T) {
	for _, archive := range older(t) {
		w := olderWorld(t, archive)
		sound := func(when string) {
			t.Helper()
			found := w.fsck()
			v, err := check.Verify(w.id("ada"), w.store, check.VerifyOptions{})
			if len(found) > 0 || v.Fault != nil || err != nil {
				t.Errorf("%s, %s: found %q, %v, %v", archive, when, found, v.Fault, err)
			}
		}
		sound("as it was")
		for range 2 { // the first one seals it
			w.answers()
			sound("after a run")
		}
	}
}

// alter changes the first place that fits in the snapshot of the newest epoch made for a reason, and all checksums with
// it.
func (w *world) alter(id home.Identity, why, place, with string) (changed bool) {
	w.Helper()
	lines := slices.Collect(strings.Lines(lethetest.Read(w, id.LIFE())))
	for i, line := range slices.Backward(lines) {
		e, err := life.ParseLine(line)
		w.must(err)
		if e.Kind != life.Epoch || e.Get("why") != why {
			continue
		}
		h := w.resolve(e.Refs[0].Hash)
		b := w.get(h)
		at := regexp.MustCompile(place).FindSubmatchIndex(b.Body)
		if at == nil {
			return false
		}
		body := slices.Concat(b.Body[:at[2]], []byte(with), b.Body[at[3]:])
		if string(body) == string(b.Body) {
			w.Fatalf("%s is %q already", place, with)
		}
		h, err = w.store.Put(b.Meta, body)
		w.must(err)
		lines[i] = strings.Replace(line, e.Refs[0].Hash, w.store.Short(h), 1)
		lethetest.Write(w, id.LIFE(), forged(w, id.Self, nil, lines))
		return true
	}
	return false
}

// An epoch that was altered is found, in each member.
func TestAlteredEpoch(t *testing.T) {
	found := func(w *world, place, why string) {
		t.Helper()
		if !w.alter(w.id("ada"), why, place, "77") {
			t.Errorf("epoch %s has no %s", why, place)
		} else if kinds := w.fsck(); !slices.Contains(kinds, "differing epoch") {
			t.Errorf("%s of epoch %s was altered: found %q", place, why, kinds)
		}
	}
	for _, place := range []string{`"turn": (\d+)`, `(?s)"live": \[.*"gist": "()`, `"posted": \[\s+"(..)`} {
		found(newWorld(t), place, "stop")
	}
}

// A life that an older program had go back lacks what had faded since. That is found, and comes back as the page says.
func TestLostEntries(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	before, err := home.At(ada, w.store, home.Moment{})
	w.must(err)
	w.held(ada, func(held *journal.Journal) {
		w.must(held.Epoch("branch", func(s *mind.State) error {
			s.Faded = slices.Delete(slices.Clone(s.Faded), 1, 2)
			return nil
		}))
	})
	if found := w.fsck(); len(found) != 1 || found[0] != "lost entry" {
		t.Errorf("found %q", found)
	}
	bad, err := home.At(ada, w.store, home.Moment{})
	w.must(err)
	for _, to := range []int64{before.End, bad.End} {
		w.must(home.Ask(ada, home.WishBack+home.Wish(fmt.Sprint(to))))
		w.must(journal.BranchOffline(w.home, ada, w.store))
		w.sound()
	}
}
