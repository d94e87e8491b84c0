package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/home"
	"lethe/host"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/journal"
	"lethe/life"
	"lethe/proof"
)

// fsck checks the home, and returns the kinds of what it finds.
func (w *world) fsck() (kinds []string) {
	w.Helper()
	r, err := Home(w.home, w.store, Options{})
	lethetest.Must(w, err)
	for _, f := range r.Findings {
		w.Logf("%s %s: %s %s", f.Level, f.Kind, f.Where, f.What)
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func TestFsckOfWhatIsWhole(t *testing.T) {
	w := newWorld(t)
	if found := w.fsck(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// hurt loses a blob, or damages it.
func (w *world) hurt(h blobs.Hash, lose bool) {
	w.Helper()
	path := w.store.Path(h)
	if lose {
		lethetest.Must(w, os.Remove(path))
		return
	}
	lethetest.Must(w, os.Chmod(path, 0o600))
	lethetest.Must(w, os.Truncate(path, 3))
	lethetest.Must(w, os.Chmod(path, 0o400))
}

// mended repairs the home, after which nothing is left to find.
func (w *world) mended(what string) {
	w.Helper()
	mended, left, err := Repair(w.home, w.store, Options{})
	if err != nil || len(left.Findings) > 0 {
		w.Errorf("%s: %v", what, err)
		for _, f := range append(mended, left.Findings...) {
			w.Logf("%s %s %s", f.Kind, f.Where, f.What)
		}
	}
}

// Whichever text is lost or damaged: after a repair nothing is left to find, the identity goes on and knows.
func TestRepairOfEachBlob(t *testing.T) {
	lethetest.Unraced(t)
	whole := newWorld(t)
	all := whole.verify(whole.id("ada"), nil).Reached
	step := lethetest.Sample(90, 90, 1)
	for i := time.Now().YearDay() % step; i < len(all); i += step {
		w := newWorld(t)
		b, err := w.store.Get(all[i])
		lethetest.Must(t, err)
		w.hurt(b.Hash, i/step%2 == 0)
		if len(w.fsck()) == 0 {
			t.Fatalf("%s %q is lost, and nothing is found", b.Hash, b.Gist)
		}
		w.mended(b.Gist)
		after, err := w.store.Get(b.Hash)
		if torn, _ := filepath.Glob(w.id("ada").LIFE() + ".torn-*"); errors.Is(err, blobs.ErrNotFound) && len(torn) > 0 { // it was of the last append
			continue
		}
		lethetest.Must(t, err)
		s, err := home.Fold(w.id("ada"), w.store)
		lethetest.Must(t, err)
		note := s.Live[len(s.Live)-1]
		if lost := after.Gone != nil; lost != strings.Contains(note.Text, "missing or damaged") {
			t.Errorf("%q is lost: %v, and the newest entry is %q", b.Gist, lost, note.Text)
		}
		lethetest.Must(t, os.RemoveAll(w.home.Dir))
	}
}

// A life that lost an answer, its newest snapshot and what it heard goes on, and its next request says so.
func TestLifeGoesOnAfterRepair(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	for _, kind := range []string{"reply", "inbound", life.Epoch, "result", "joined"} {
		all := refs(t, ada, kind)
		h, err := w.store.Resolve(all[len(all)-1])
		lethetest.Must(t, err)
		w.hurt(h, kind != "reply")
	}
	w.mended("five texts")
	h, err := host.Open(w.home.Dir, host.Options{Offline: true, Limit: 16_000})
	lethetest.Must(t, err)
	defer h.Close()
	again, err := h.Start(t.Context(), home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	if r, err := again.Say(t.Context(), "dev", "what is 12*7?"); err != nil || !strings.Contains(r.Text, "12*7 = 84") {
		t.Errorf("it answers %q, %v", r.Text, err)
	}
	lethetest.Must(t, again.Stop())
	s, err := home.Fold(ada, w.store)
	lethetest.Must(t, err)
	request := fmt.Sprint(s.Messages(""))
	lethetest.Words(t, request, "could not be restored", LostText)
	if found := w.fsck(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// A repair that fails at any step, and is said again, ends the same.
func TestRepairIsCutOff(t *testing.T) {
	lethetest.Unraced(t)
	step := lethetest.Sample(60, 60, 1)
	for n := time.Now().YearDay() % step; ; n += step {
		lethetest.Tried(t, 1)
		w := newWorld(t)
		ada := w.id("ada")
		for i, kind := range []string{"reply", life.Epoch, "result"} {
			all := refs(t, ada, kind)
			h, err := w.store.Resolve(all[len(all)-2])
			lethetest.Must(t, err)
			w.hurt(h, i == 2)
		}
		lethetest.Must(t, os.Remove(filepath.Join(ada.Dir, "SOUL.md")))
		steps := 0
		whole := lethetest.Break(t, w.home.Dir, func(durable.Stage, string, string) error {
			if steps++; steps > n {
				return errors.New("cut off")
			}
			return nil
		})
		_, _, err := Repair(w.home, w.store, Options{})
		whole()
		w.mended(fmt.Sprintf("cut off at step %d", n))
		lethetest.Must(t, os.RemoveAll(w.home.Dir))
		if err == nil {
			return
		}
	}
}

func TestFindings(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for kind, c := range map[string]struct {
		hurt   func(w *world, dir string)
		mended bool
	}{
		"torn end":   {func(w *world, dir string) { add(w, dir+"/LIFE.md", "[2026-11-20T12:57:16.1") }, true},
		"wrong SOUL": {func(w *world, dir string) { lethetest.Must(w, os.Remove(dir+"/SOUL.md")) }, true},
		"no name":    {func(w *world, _ string) { lethetest.Must(w, os.Remove(w.home.Names()+"/ada")) }, true},
		"stray file": {func(w *world, dir string) {
			lethetest.Write(w, dir+"/.tmp-1", "x")
			lethetest.Must(w, os.Chtimes(dir+"/.tmp-1", long, long))
		}, true},
		"wrong mode": {func(w *world, dir string) { lethetest.Must(w, os.Chmod(dir, 0o755)) }, true},
		"open key": {func(w *world, _ string) {
			path := w.home.Dir + "/key"
			lethetest.Must(w, errors.Join(os.Chmod(path, 0o644), os.Chtimes(path, long, long)))
			_, err := home.Open(w.home.Dir) // as another command does, which does not hide it
			lethetest.Must(w, err)
		}, true},
		"damaged file": {func(w *world, _ string) {
			path := w.home.Dir + "/bridges/telegram/health.json"
			lethetest.Write(w, path, "{")
			lethetest.Must(w, os.Chtimes(path, long, long))
		}, true},
		"altered life": {func(w *world, _ string) { lethetest.Must(w, os.Remove(w.home.Dir+"/key")); other(w) }, false},
		"damaged LIFE": {func(w *world, dir string) { swap(w, dir+"/LIFE.md", "why=full", "why=fuel") }, false},
	} {
		w := newWorld(t)
		c.hurt(w, w.id("ada").Dir)
		if found := w.fsck(); len(found) == 0 || slices.ContainsFunc(found, func(f string) bool { return f != kind }) {
			t.Errorf("%s: found %q", kind, found)
		}
		_, left, err := Repair(w.home, w.store, Options{})
		if err != nil || c.mended != (len(left.Findings) == 0) {
			t.Errorf("%s: left %+v, %v", kind, left.Findings, err)
		}
	}
}

// Whatever stands in the place of a text and the key of the home: it is told, and moved out of the way where that helps.
func TestFsckOfWhatIsNoFile(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		w := newWorld(t)
		all := refs(t, w.id("ada"), "reply")
		h, err := w.store.Resolve(all[len(all)/2])
		lethetest.Must(t, err)
		lethetest.Must(t, os.Remove(w.store.Path(h)))
		lethetest.Must(t, put(w.store.Path(h)))
		w.mended(what)
		lethetest.Must(t, os.Remove(w.home.Dir+"/key"))
		if found := w.fsck(); len(found) == 0 || found[0] != "altered life" {
			t.Errorf("the key is gone: found %q", found)
		}
	}
}

// other gives the home another key than the one that its lives are sealed with.
func other(w *world) {
	_, err := proof.LoadKey(w.home.Dir)
	lethetest.Must(w, err)
}

func add(t testing.TB, path, text string) { lethetest.Write(t, path, lethetest.Read(t, path)+text) }

func swap(t testing.TB, path, old, new string) {
	lethetest.Must(t, os.WriteFile(path, []byte(strings.Replace(lethetest.Read(t, path), old, new, 1)), 0o600))
}

func TestRepairRefusesWhatRuns(t *testing.T) {
	w := newWorld(t)
	held, err := journal.Hold(w.home, w.id("bob"), w.store, nil)
	lethetest.Must(t, err)
	defer held.Close()
	if _, _, err := Repair(w.home, w.store, Options{}); !errors.As(err, new(*home.RunningError)) {
		t.Errorf("it repairs: %v", err)
	}
	if _, err := Collect(w.home, w.store, true); !errors.Is(err, ErrInUse) {
		t.Errorf("it collects: %v", err)
	}
}

func TestFindingsOnThePage(t *testing.T) {
	page := strings.Join(strings.Fields(lethetest.Page(t, "check.md")), " ")
	for _, k := range kinds {
		lethetest.Words(t, page, fmt.Sprintf("- %s, *%s*: %s. Repair: %s.", k.Level, k.Kind, k.Means, k.Repair))
	}
}

// What no life refers to goes, and nothing else; what a room names stays, and what was moved can come back.
func TestCollect(t *testing.T) {
	w := newWorld(t)
	long := time.Now().Add(-2 * keepFor)
	put := func(m blobs.Meta, text string) blobs.Hash {
		h, err := w.store.Put(m, []byte(text))
		lethetest.Must(t, err)
		return h
	}
	lost, named := put(blobs.Meta{At: long, Life: w.id("ada").Self}, "left by a crash"), put(blobs.Meta{At: long}, "a file")
	other, upload := put(blobs.Meta{At: long, Life: strings.Repeat("0", 64)}, "of another life"), put(blobs.Meta{At: time.Now()}, "an upload")
	add(t, chat.Path(w.home.Dir, "dev"), "[USER:eve 2026-11-20T12:57:16Z] see hash="+w.store.Short(named)+"\n")
	old := filepath.Join(w.home.Dir, lostFound, long.Format(gcDay))
	lethetest.Write(t, filepath.Join(old, "x"), "x")
	count := func() (n int) {
		lethetest.Must(t, w.store.Each(func(h blobs.Hash) error {
			lethetest.Must(t, os.Chtimes(w.store.Path(h), long, long))
			n++
			return nil
		}))
		return n
	}
	before := count()
	dry, err := Collect(w.home, w.store, false)
	lethetest.Must(t, err)
	if _, err := os.Stat(old); err != nil || count() != before || dry.Blobs != 2 {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	importing, err := os.Open(w.home.Blobs())
	lethetest.Must(t, err)
	lethetest.Must(t, syscall.Flock(int(importing.Fd()), syscall.LOCK_EX))
	if _, err := Collect(w.home, w.store, true); !errors.Is(err, ErrInUse) {
		t.Errorf("it collects under an import: %v", err)
	}
	lethetest.Must(t, importing.Close())
	done, err := Collect(w.home, w.store, true)
	lethetest.Must(t, err)
	if _, err := os.Stat(old); err == nil || count() != before-2 || w.store.Has(lost) || w.store.Has(other) || !w.store.Has(named) || !w.store.Has(upload) || !reflect.DeepEqual(done, dry) {
		t.Errorf("moved %+v of %d, left %d", done, before, count())
	}
	if found := w.fsck(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}
