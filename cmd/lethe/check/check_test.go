package check_test

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

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// fsck checks the home, and returns the kinds of what it finds.
func (w *world) fsck() (kinds []string) {
	w.Helper()
	r, err := check.Home(w.home, w.store, check.Options{})
	w.must(err)
	for _, f := range r.Findings {
		w.Logf("%s %s: %s %s", f.Level, f.Kind, f.Where, f.What)
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// sound fails the test if fsck finds anything.
func (w *world) sound() {
	w.Helper()
	if found := w.fsck(); len(found) > 0 {
		w.Errorf("found %q", found)
	}
}

func TestFsckOfWhatIsWhole(t *testing.T) { newWorld(t).sound() }

// What people keep in their own directories has any form and mode; only what others could change is told and closed.
func TestPeoplesOwn(t *testing.T) {
	w := newWorld(t)
	old := time.Now().Add(-time.Hour)
	for dir, mode := range map[string]os.FileMode{"hooks": 0o755, "skills": 0o750, "bin": 0o711, "roles": 0o755, "prompts": 0o700} {
		below := filepath.Join(w.home.Dir, dir, "own")
		for name, text := range map[string]string{"settings.json": "// no JSON\n{}", "a.tmp-b": "x"} {
			path := filepath.Join(below, name)
			lethetest.Write(t, path, text)
			w.must(errors.Join(os.Chmod(path, 0o755), os.Chtimes(path, old, old)))
		}
		w.must(errors.Join(os.Chmod(below, mode), os.Chmod(filepath.Dir(below), mode)))
	}
	for name, mode := range map[string]os.FileMode{"home": 0o700, "home/open": 0o777} { // of a server of tools
		path := filepath.Join(w.home.Dir, "mcp/notes", name)
		w.must(errors.Join(os.MkdirAll(path, 0o700), os.Chmod(path, mode)))
	}
	w.sound()
	file, dir := filepath.Join(w.home.Dir, "bin/own/a.tmp-b"), filepath.Join(w.home.Dir, "hooks/own")
	w.must(errors.Join(os.Chmod(file, 0o775), os.Chmod(dir, 0o757)))
	if found := w.fsck(); !slices.Equal(found, []string{"wrong mode", "wrong mode"}) {
		t.Errorf("found %q", found)
	}
	w.mended("what others could change")
	for _, path := range []string{file, dir} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v %v", path, fi.Mode(), err)
		}
	}
}

// hurt loses a blob, or damages it.
func (w *world) hurt(h blobs.Hash, lose bool) {
	w.Helper()
	path := w.store.Path(h)
	if lose {
		w.must(os.Remove(path))
		return
	}
	w.must(errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 3), os.Chmod(path, 0o400)))
}

// mended repairs the home, after which nothing is left to find.
func (w *world) mended(what string) {
	w.Helper()
	mended, left, err := check.Repair(w.home, w.store, check.Options{})
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
	all := whole.verify(whole.id("ada"), nil).Reach.Found
	step := lethetest.Sample(150, 150, 1)
	for i := lethetest.Day() % step; i < len(all); i += step {
		w := newWorld(t)
		b := w.get(all[i])
		w.hurt(b.Hash, i/step%2 == 0)
		if len(w.fsck()) == 0 {
			t.Fatalf("%s %q is lost, and nothing is found", b.Hash, b.Gist)
		}
		w.mended(b.Gist)
		after, err := w.store.Get(b.Hash)
		// it was of the last append
		if torn, _ := filepath.Glob(w.id("ada").LIFE() + ".torn-*"); errors.Is(err, blobs.ErrNotFound) && len(torn) > 0 {
			continue
		}
		w.must(err)
		s, err := home.Fold(w.id("ada"), w.store)
		w.must(err)
		note := s.Live[len(s.Live)-1]
		if lost := after.Gone != nil; lost != strings.Contains(note.Text, "missing or damaged") {
			t.Errorf("%q is lost: %v, and the newest entry is %q", b.Gist, lost, note.Text)
		}
		w.must(os.RemoveAll(w.home.Dir))
	}
}

// A life that lost an answer, its newest snapshot and what it heard goes on, and its next request says so.
func TestLifeGoesOnAfterRepair(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	for _, kind := range []string{"reply", "inbound", life.Epoch, "result", "joined"} {
		w.hurt(w.newest(ada, kind, 0), kind != "reply")
	}
	w.mended("five texts")
	if b := w.get(w.newest(ada, "inbound", 0)); b.Gone != nil { // the room has its lines
		t.Errorf("what was heard is %+v", b.Meta)
	}
	w.answers()
	s, err := home.Fold(ada, w.store)
	w.must(err)
	request := fmt.Sprint(s.Messages(""))
	lethetest.Words(t, request, "could not be restored", check.LostText)
	w.sound()
}

// A repair that fails at any step, and is said again, ends the same.
func TestRepairIsCutOff(t *testing.T) {
	lethetest.Unraced(t)
	step := lethetest.Sample(100, 100, 1)
	for n := lethetest.Day() % step; ; n += step {
		lethetest.Tried(t, 1)
		w := newWorld(t)
		ada := w.id("ada")
		for i, kind := range []string{"reply", life.Epoch, "result"} {
			w.hurt(w.newest(ada, kind, 1), i == 2)
		}
		w.must(os.Remove(filepath.Join(ada.Dir, "SOUL.md")))
		steps := 0
		whole := lethetest.Break(t, w.home.Dir, func(durable.Stage, string, string) error {
			if steps++; steps > n {
				return errors.New("cut off")
			}
			return nil
		})
		_, _, err := check.Repair(w.home, w.store, check.Options{})
		whole()
		w.mended(fmt.Sprintf("cut off at step %d", n))
		w.must(os.RemoveAll(w.home.Dir))
		if err == nil {
			return
		}
	}
}

// Whatever is left over, open or in the way is found and mended, all at once.
func TestFindings(t *testing.T) {
	w, long := newWorld(t), time.Now().Add(-time.Hour)
	dir := w.id("ada").Dir
	add(t, dir+"/LIFE.md", "[2026-11-20T12:57:16.1")
	w.must(errors.Join(os.Remove(dir+"/SOUL.md"), os.Remove(w.home.Names()+"/ada"), os.Chmod(w.home.Dir+"/key", 0o644)))
	for path, text := range map[string]string{dir + "/.tmp-1": "x", w.home.Dir + "/bridges/telegram/health.json": "{"} {
		lethetest.Write(t, path, text)
		w.must(os.Chtimes(path, long, long))
	}
	w.must(os.Chtimes(w.home.Dir+"/key", long, long))
	all := refs(t, w.id("ada"), "reply") // whatever stands in the place of a text
	for i, put := range []func(path string) error{
		func(path string) error { return os.Mkdir(path, 0o700) },
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
		func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		path := w.store.Path(w.resolve(all[i+2]))
		w.must(errors.Join(os.Remove(path), put(path)))
	}
	_, err := home.Open(w.home.Dir) // as another command does, which does not hide the key
	w.must(errors.Join(err, os.Chmod(dir, 0o755)))
	found := w.fsck()
	slices.Sort(found)
	if got := strings.Join(slices.Compact(found),
		", "); got != "damaged file, missing blob, no name, open key, stray file, torn end, wrong SOUL, wrong mode" {
		t.Errorf("found %s", got)
	}
	w.mended("all of it")
}

// What was read of a life that another host has lacks what only its host needs.
func TestMirrorWithoutSoul(t *testing.T) {
	w := newWorld(t)
	dir := w.id("ada").Dir
	w.must(w.id("ada").MarkMirror(1))
	w.must(errors.Join(os.Remove(dir+"/SOUL.md"), os.Remove(w.home.Names()+"/ada")))
	w.sound()
}

// What no repair can mend is told, and left.
func TestFaultsThatStay(t *testing.T) {
	for kind, hurt := range map[string]func(w *world, dir string){
		"altered life": func(w *world, _ string) { w.must(os.Remove(w.home.Dir + "/key")); other(w) },
		"damaged LIFE": func(w *world, dir string) { swap(w, dir+"/LIFE.md", "why=full", "why=fuel") },
		"damaged LIFE ": func(w *world, dir string) { // and nobody says its name any more
			swap(w, dir+"/LIFE.md", "[", "{")
			w.must(os.Remove(w.home.Names() + "/ada"))
		},
	} {
		w := newWorld(t)
		hurt(w, w.id("ada").Dir)
		_, left, err := check.Repair(w.home, w.store, check.Options{})
		if w.must(err); len(left.Findings) == 0 || left.Findings[0].Kind != strings.TrimSpace(kind) {
			t.Errorf("%s: left %+v", kind, left.Findings)
		}
	}
}

// other gives the home another key than the one that its lives are sealed with.
func other(w *world) {
	_, err := life.LoadKey(w.home.Dir)
	w.must(err)
}

func add(t testing.TB, path, text string) { lethetest.Write(t, path, lethetest.Read(t, path)+text) }

func swap(t testing.TB, path, old, new string) {
	lethetest.Must(t, os.WriteFile(path, []byte(strings.Replace(lethetest.Read(t, path), old, new, 1)), 0o600))
}

func TestRepairRefusesWhatRuns(t *testing.T) {
	w := newWorld(t)
	w.held(w.id("bob"), func(*journal.Journal) {
		if _, _, err := check.Repair(w.home, w.store, check.Options{}); !errors.As(err, new(*home.RunningError)) {
			t.Errorf("it repairs: %v", err)
		}
		w.inUse()
	})
}

// inUse fails the test if gc collects.
func (w *world) inUse() {
	w.Helper()
	if _, err := check.Collect(w.home, w.store, true); !errors.Is(err, check.ErrInUse) {
		w.Errorf("it collects: %v", err)
	}
}

func TestFindingsOnThePage(t *testing.T) {
	page := strings.Join(strings.Fields(lethetest.Page(t, "check.md")), " ")
	for _, k := range check.Kinds {
		lethetest.Words(t, page, fmt.Sprintf("- %s, *%s*: %s.", k.Level, k.Kind, k.Means))
	}
}

// What no life refers to goes, and nothing else; what a room names stays, and what was moved can come back.
func TestCollect(t *testing.T) {
	w := newWorld(t)
	long := time.Now().Add(-2 * check.KeepFor)
	put := func(m blobs.Meta, text string) blobs.Hash {
		h, err := w.store.Put(m, []byte(text))
		w.must(err)
		return h
	}
	lost, named := put(blobs.Meta{At: long, Life: w.id("ada").Self}, "left by a crash"), put(blobs.Meta{At: long}, "a file")
	other, upload := put(blobs.Meta{At: long, Life: strings.Repeat("0", 64)}, "of another life"), put(blobs.Meta{At: time.Now()}, "an upload")
	add(t, chat.Path(w.home.Dir, "dev"), "[USER:eve 2026-11-20T12:57:16Z] see hash="+w.store.Short(named)+"\n")
	old := filepath.Join(w.home.Dir, check.LostFound, long.Format(check.GcDay))
	lethetest.Write(t, filepath.Join(old, "x"), "x")
	before := w.age()
	dry, err := check.Collect(w.home, w.store, false)
	w.must(err)
	if _, err := os.Stat(old); err != nil || w.age() != before || dry.Blobs != 2 {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	importing, err := os.Open(w.home.Blobs())
	w.must(err)
	w.must(syscall.Flock(int(importing.Fd()), syscall.LOCK_EX))
	w.inUse()
	w.must(importing.Close())
	done, err := check.Collect(w.home, w.store, true)
	w.must(err)
	if _, err := os.Stat(old); err == nil || w.age() != before-2 || w.store.Has(lost) || w.store.Has(other) ||
		!w.store.Has(named) || !w.store.Has(upload) || !reflect.DeepEqual(done, dry) {
		t.Errorf("moved %+v of %d, left %d", done, before, w.age())
	}
	w.sound()
}

// Nothing goes while lines of a life are gone: its log was emptied, overwritten with zeros, or cut behind any line.
func TestCollectKeepsTextsOfACutLife(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	w.age()
	text := lethetest.Read(t, ada.LIFE())
	lines := strings.SplitAfter(text, "\n")
	for name, left := range map[string]string{
		"emptied": "", "zeros": strings.Repeat("\x00", 4096), "one line": lines[0], "cut": strings.Join(lines[:len(lines)/2], ""),
	} {
		write(t, ada, left)
		if g, err := check.Collect(w.home, w.store, false); err == nil {
			t.Errorf("%s: it would move %d blobs", name, g.Blobs)
		}
	}
	write(t, ada, text)
	_, err := check.Collect(w.home, w.store, false)
	w.must(err)
}

// Nothing that a fork needs goes, whether its log names it or not: texts of its ancestor, which is gone, and of a line
// that was taken out.
func TestCollectKeepsTextsOfAnAlteredFork(t *testing.T) {
	w := newWorld(t)
	bea := w.fork()
	w.must(w.home.Remove(w.store, w.id("ada")))
	note := func(count int) {
		t.Helper()
		w.held(bea, func(held *journal.Journal) {
			for range count {
				note := event.Note{N: held.State.Next, Why: "test"}
				w.must(held.Commit(journal.Told(note, "a note", fmt.Sprint("note ", note.N))))
			}
			w.must(held.Epoch("count", nil))
		})
	}
	note(0)
	note(3)
	w.age()
	whole, err := check.Collect(w.home, w.store, false)
	w.must(err)
	text := lethetest.Read(t, bea.LIFE())
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	for _, without := range []string{"] epoch ", "] note "} {
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, without) })
		if without == "] note " {
			at += slices.IndexFunc(lines[at+1:], func(l string) bool { return strings.Contains(l, without) }) + 1
		}
		write(t, bea, forged(t, bea.Self, nil, slices.Delete(slices.Clone(lines), at, at+1)))
		if g, err := check.Collect(w.home, w.store, false); err == nil {
			t.Errorf("without %q it would move %d blobs, and whole %d", lines[at], g.Blobs, whole.Blobs)
		}
	}
	write(t, bea, text)
	w.must(os.Remove(filepath.Join(w.home.Dir, "key")))
	note(3) // by another key; the lines are as they were
	w.fails(bea, nil, "by another key")
	if g, err := check.Collect(w.home, w.store, false); err != nil || !reflect.DeepEqual(g, whole) {
		t.Errorf("sealed by another key: %+v, %v, want %+v", g, err, whole)
	}
}
