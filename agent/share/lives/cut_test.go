package lives

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// alone has an identity live on at a host whose configuration has no [share].
func (h *host) alone(id home.Identity, f func(*journal.Journal)) {
	h.Helper()
	j, err := journal.Hold(home.Home{Dir: h.Home.Dir}, id, h.store, nil)
	lethetest.Must(h, err)
	defer j.Close()
	f(j)
}

func (h *host) notes(j *journal.Journal, texts ...string) {
	h.Helper()
	for _, text := range texts {
		lethetest.Must(h, j.Commit(note(text)))
	}
}

// sound checks that a host has the whole life, and that nothing was altered.
func (h *host) sound(id home.Identity, holds ...string) {
	h.Helper()
	v, err := check.Verify(h.Home.Identity(id.Self, id.Name), h.store, check.VerifyOptions{})
	if err != nil || v.Fault != nil || v.Reach.Unknown != nil {
		h.Fatalf("%+v, %v, %v", v.Fault, v.Reach.Unknown, err)
	}
	for _, text := range holds {
		if !strings.Contains(h.said(v.Reach.Found), text) {
			h.Fatalf("it has no text %.20q", text)
		}
	}
}

func (h *host) said(all []blobs.Hash) string {
	var b strings.Builder
	for _, hash := range all {
		if text, err := h.store.Get(hash); err == nil {
			b.Write(text.Body)
		}
	}
	return b.String()
}

// cuts has the store answer no more from call k on, with the call carried out or not.
func cuts(store *memstore.Store, k int, done bool, when func(op, stream string) bool) (calls *int) {
	calls = new(int)
	store.Fault = func(op, stream string, _ int) (bool, error) {
		if !when(op, stream) {
			return true, nil
		}
		if *calls++; *calls > k {
			return done && *calls == k+1, share.ErrAway
		}
		return true, nil
	}
	return calls
}

func creates(op, _ string) bool { return op == "create" }

// A first share that is cut short behind any text goes on: nothing is set aside, and nobody takes half a life.
func TestFirstShareCutShort(t *testing.T) {
	t.Parallel()
	for k, whole := 0, false; !whole; k++ {
		store := memstore.New()
		a, b := newHost(t, store, nil, "a"), newHost(t, store, nil, "b")
		told := 0
		a.OnTaken = func(home.Identity, streams.Host, int) { told++ }
		ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada"})
		lethetest.Must(t, err)
		large := strings.Repeat("large ", 100_000)
		a.alone(ada, func(j *journal.Journal) {
			a.notes(j, strings.Repeat("one ", 90_000), strings.Repeat("two ", 90_000), large)
		})
		was := a.life(ada)
		cuts(store, k/2, k%2 == 1, creates)
		j, err := a.hold(ada)
		store.Fault = nil
		if whole = err == nil; whole {
			j.Close()
		} else if err := b.take(ada); err == nil {
			b.sound(ada, "one one", "two two", large) // the answer alone was lost
			continue
		}
		if _, err := b.hold(ada); err == nil {
			t.Fatal("b has it")
		}
		a.held(ada, func(*journal.Journal) {})
		if !strings.HasPrefix(a.life(ada), was) || told == 0 {
			t.Fatalf("cut %d: %d of %d bytes are left; told %d times", k, len(a.life(ada)), len(was), told)
		}
		lethetest.Must(t, b.take(ada))
		b.sound(ada, "one one", "two two", large)
	}
}

// A life that went on alone while [share] was not configured is stored from where it was left, with its texts.
func TestLivedOnAlone(t *testing.T) {
	t.Parallel()
	store, a, b, ada := two(t)
	a.held(ada, func(j *journal.Journal) { a.notes(j, "shared") })
	a.alone(ada, func(j *journal.Journal) {
		a.notes(j, "alone", strings.Repeat("large ", 100_000))
		lethetest.Must(t, j.Stop("request"))
	})
	was := a.life(ada)
	a.held(ada, func(j *journal.Journal) {
		if !strings.HasPrefix(a.life(ada), was) {
			t.Error("it was rolled back")
		}
		a.notes(j, "shared again")
	})
	again := 0
	for n := range 20 {
		again += bytes.Count(store.Bytes(Stream(ada.Self), n), []byte("\nshared\n"))
	}
	if again > 1 {
		t.Errorf("a text that the store had was sent %d times more", again-1)
	}
	lethetest.Must(t, b.take(ada))
	b.sound(ada, "shared", "alone", "large large", "shared again")
	if a.life(ada) != b.life(ada) {
		t.Error("the logs differ")
	}
}

// A store that was emptied, or is another one, is not gone on with, until somebody says so.
func TestAnotherStore(t *testing.T) {
	t.Parallel()
	store, a, ada := one(t)
	a.held(ada, func(j *journal.Journal) { a.notes(j, "one") })
	newest, _ := store.Newest(t.Context(), Stream(ada.Self), 0)
	right := store.Bytes(Stream(ada.Self), newest)
	store.Set(Stream(ada.Self), newest, bytes.Replace(right, []byte(`"nonce":"`), []byte(`"nonce":"x`), 1))
	if _, err := a.hold(ada); !errors.Is(err, streams.ErrLess) {
		t.Errorf("a store with another segment is gone on with: %v", err)
	}
	store.Set(Stream(ada.Self), newest, right)
	a.held(ada, func(*journal.Journal) {})
	lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "work"), "stored\n")
	a.held(ada, func(j *journal.Journal) { lethetest.Must(t, j.Stop("request")) })
	emptied := memstore.New()
	a.Streams.Store = emptied
	_, err := a.hold(ada)
	if !errors.Is(err, streams.ErrLess) {
		t.Fatalf("an emptied store is gone on with: %v", err)
	}
	lethetest.Words(t, err.Error(), "remove "+positionFile(ada))
	lethetest.Must(t, os.Remove(positionFile(ada)))
	a.held(ada, func(j *journal.Journal) {
		a.notes(j, "two")
		lethetest.Must(t, j.Stop("request"))
	})
	b := newHost(t, emptied, nil, "b")
	lethetest.Must(t, b.take(ada))
	b.held(ada, func(*journal.Journal) {})
	lethetest.Holds(t, filepath.Join(b.Home.Identity(ada.Self, "ada").Dir, "workspace", "work"), "stored\n")
	b.sound(ada, "one", "two")
}

// Taking a life that is here changes nothing. One that was cut short is sound, and is settled at its next opening.
func TestTakeCutShort(t *testing.T) {
	t.Parallel()
	store, a, b, ada := two(t, "dev")
	work := filepath.Join(ada.Dir, "workspace", "work")
	lethetest.Write(t, work, "stored\n")
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(t, j.Commit(journal.Told(event.Joined{Room: "dev", First: &event.First{}}, "joined", "You hear dev.")))
		lethetest.Must(t, j.Stop("request"))
	})
	lethetest.Write(t, work, "changed since\n")
	lethetest.Must(t, a.take(ada))
	lethetest.Holds(t, work, "changed since\n")
	_, err := life.LoadKey(b.Home.Dir) // another one than that of the newest seal
	lethetest.Must(t, err)
	lethetest.Must(t, b.take(ada))
	b.sound(ada)
	cuts(store, 0, false, func(op, stream string) bool { return op == "get" && strings.Contains(stream, "/texts/") })
	if _, err := b.hold(ada); !errors.Is(err, share.ErrAway) {
		t.Fatal(err)
	}
	store.Fault = nil
	b.sound(ada)
	there := b.Home.Identity(ada.Self, "ada")
	b.held(ada, func(*journal.Journal) {})
	lethetest.Holds(t, filepath.Join(there.Dir, "workspace", "work"), "stored\n")
	if rooms, _ := chat.Rooms(there.Subs()); len(rooms) != 1 || there.Mirrored() {
		t.Errorf("it hears %v", rooms)
	}
	if _, err := b.Home.Find("ada"); err != nil {
		t.Error(err)
	}
}

// What is in the way of a workspace is renamed, and one file that fails keeps no other one away.
func TestWorkspaceInTheWay(t *testing.T) {
	t.Parallel()
	w := workspace{dir: lethetest.Dir(t), most: 1 << 20}
	texts := map[blobs.Hash][]byte{}
	var list, before bytes.Buffer
	stale := map[string]bool{}
	for _, name := range []string{"file", "changed", "old", "a/b", "dir", "link", "linked/x", "lost"} {
		text := []byte("stored " + name)
		if name != "lost" {
			texts[blobs.Sum(text)] = text
		}
		fmt.Fprintf(&list, "%s 600 %s\n", blobs.Sum(text), name)
	}
	for _, name := range []string{"old", "gone", "gone but changed"} {
		stale[listed{hash: blobs.Sum([]byte("as it was"))}.as(name)] = true
	}
	write := func(name, text string) { lethetest.Write(t, filepath.Join(w.dir, name), text) }
	write("old", "as it was")
	write("gone", "as it was")
	write("gone but changed", "mine")
	write("changed", "mine")
	write("changed.here", "mine before")
	write("a", "a file where a directory is to be")
	write("dir/in", "mine")
	other := lethetest.Dir(t)
	lethetest.Must(t, os.Symlink(other, filepath.Join(w.dir, "link")))
	lethetest.Must(t, os.Symlink(other, filepath.Join(w.dir, "linked")))
	err := w.restore(append(list.Bytes(), before.Bytes()...), stale, func(h blobs.Hash) ([]byte, error) {
		if text, is := texts[h]; is {
			return text, nil
		}
		return nil, share.ErrMissing
	})
	if !errors.Is(err, share.ErrMissing) || strings.Count(err.Error(), "restore") != 1 {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"file": "stored file", "changed": "stored changed", "changed.here": "mine before", "changed.here.here": "mine",
		"old": "stored old", "a/b": "stored a/b", "a.here": "a file where a directory is to be", "dir": "stored dir",
		"dir.here/in": "mine", "link": "stored link", "linked/x": "stored linked/x", "gone but changed": "mine",
	} {
		lethetest.Holds(t, filepath.Join(w.dir, name), want)
	}
	for _, none := range []string{"gone", "old.here", restored} {
		if _, err := os.Lstat(filepath.Join(w.dir, none)); err == nil {
			t.Errorf("%s is there", none)
		}
	}
	if files, _ := os.ReadDir(other); len(files) > 0 {
		t.Error("a link was followed")
	}
}

// A host asks the store before a call, unless it has asked in the last ten seconds, however late the answer came, and
// waits for a store that is away.
func TestCheckWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, a, ada := one(t)
		a.held(ada, func(j *journal.Journal) {
			answer := 9 * time.Second
			asked, away := 0, 0
			store.Fault = func(string, string, int) (bool, error) {
				asked++
				if away--; away >= 0 {
					return false, share.ErrAway
				}
				time.Sleep(answer)
				return true, nil
			}
			a.notes(j, "one")
			answer = 0
			check := func(after time.Duration, waits bool) {
				t.Helper()
				time.Sleep(after)
				asked = 0
				lethetest.Must(t, j.Check(t.Context()))
				if waits != (asked > 0) {
					t.Errorf("%s later it asked %d times", after, asked)
				}
			}
			check(2*time.Second, true) // eleven after the note was sent
			check(9*time.Second, false)
			away = 3
			check(2*time.Second, true)
			if asked != 5 {
				t.Errorf("asked %d times while the store is away three times", asked)
			}
			shown, _ := status.Read(ada.Dir)
			lethetest.Words(t, shown.Error, "waits for the store")
		})
	})
}

// Segments go to the store as they are cut: what a life has is never in memory as a whole.
func TestSegmentsOneByOne(t *testing.T) {
	t.Parallel()
	_, a, ada := one(t)
	a.held(ada, func(j *journal.Journal) {
		one, err := a.store.Put(blobs.Meta{}, bytes.Repeat([]byte("1"), 400_000))
		lethetest.Must(t, err)
		two, err := a.store.Put(blobs.Meta{}, bytes.Repeat([]byte("2"), 400_000))
		lethetest.Must(t, err)
		before := a.last.at.N
		if _, err := a.last.send(t.Context(), []blobs.Hash{one, two, {}}); err == nil || a.last.at.N != before+1 {
			t.Errorf("%d segments before one that fails: %v", a.last.at.N-before, err)
		}
	})
}

// That somebody has stopped a life stands in each segment behind it until it is resumed. It is stored before the
// workspace.
func TestStopped(t *testing.T) {
	t.Parallel()
	store, a, ada := one(t)
	stopped := func(want bool) {
		t.Helper()
		if is, err := a.Lives.Stopped(t.Context(), ada.Self); is != want || err != nil {
			t.Errorf("stopped: %v, %v", is, err)
		}
	}
	lethetest.Write(t, filepath.Join(ada.Dir, "workspace", "work"), "stored\n")
	a.held(ada, func(j *journal.Journal) {
		store.Fault = func(op, stream string, _ int) (bool, error) {
			if strings.Contains(stream, "/texts/") {
				is, err := a.Lives.Stopped(t.Context(), ada.Self)
				if !is || err != nil {
					t.Errorf("the workspace is stored before the line: %v", err)
				}
			}
			return true, nil
		}
		lethetest.Must(t, j.Stop("request"))
		store.Fault = nil
	})
	newest, _ := store.Newest(t.Context(), Stream(ada.Self), 0)
	if !bytes.Contains(store.Bytes(Stream(ada.Self), newest), []byte(workspaceFile)) {
		t.Error("the list of the workspace is not stored")
	}
	stopped(true)
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(t, j.Epoch("erased", nil))
		stopped(true)
		lethetest.Must(t, j.Commit(journal.Record{Event: event.Resumed{Version: "1"}}))
		stopped(false)
		lethetest.Must(t, j.Stop("end"))
	})
	stopped(false)
}

// What this host sent before, and what came late, is not another host's.
func TestOwnComesLate(t *testing.T) {
	t.Parallel()
	_, a, ada := one(t)
	a.held(ada, func(j *journal.Journal) { a.notes(j, "one") })
	a.held(ada, func(j *journal.Journal) {
		s := Segment{Self: ada.Self, Host: a.Host, After: a.last.at.Mark, Nonce: "late"}
		lethetest.Must(t, a.Streams.Create(t.Context(), Stream(ada.Self), a.last.at.N+1, s.encode()))
		err := j.Commit(note("two"))
		if err == nil || errors.As(err, new(*home.ElsewhereError)) {
			t.Errorf("it goes on elsewhere: %v", err)
		}
	})
	a.held(ada, func(j *journal.Journal) { a.notes(j, "three") })
	a.sound(ada, "one", "two", "three")
}

// The store knows which files of a workspace it lacks: the ones that were changed since it was stored, and the ones that
// are never stored. A host that takes the life says which of these are not here.
func TestWorkspaceIsNamed(t *testing.T) {
	t.Parallel()
	_, a, b, ada := two(t)
	a.Most = 100
	write := func(name, text string) { lethetest.Write(t, filepath.Join(ada.Dir, "workspace", name), text) }
	names := func(want ...string) {
		t.Helper()
		lethetest.Equal(t, "names", strings.Join(a.last.at.Unsaved, "|"), strings.Join(want, "|"))
	}
	call := func(j *journal.Journal) {
		t.Helper()
		id := mind.EntryID(j.State.Next) + ".1"
		answer := mind.Answer{Calls: []mind.AnswerCall{mind.RepairCall("BASH", "{}")}}
		lethetest.Must(t, j.Commit(journal.Told(event.Reply{Turn: 1}, "reply", answer.Encode()),
			journal.Record{Event: event.Call{ID: id, Tool: "BASH"}}))
		lethetest.Must(t, j.Commit(journal.Told(event.Result{ID: id, Tool: "BASH", Status: "ok"}, "result", "done")))
	}
	a.held(ada, func(j *journal.Journal) {
		write("stored", "one")
		write(".gitignore", "left\n")
		write("left/x", "object")
		write("large", strings.Repeat("x", 101))
		lethetest.Must(t, os.Symlink("/etc/passwd", filepath.Join(ada.Dir, "workspace", "link")))
		j.Snapshot()
		lethetest.Must(t, j.Commit(note("one")))
		names("large", "left/", "link")
		lethetest.Must(t, j.Commit(note("two")))
		write("stored", "two")
		write("new", "new")
		call(j)
		names("large", "left/", "link") // the result waits
		lethetest.Must(t, j.Commit(note("three")))
		names("large", "left/", "link", "new", "stored")
	})
	lethetest.Must(t, b.take(ada))
	there := filepath.Join(b.Home.Identity(ada.Self, "ada").Dir, "workspace")
	b.held(ada, func(*journal.Journal) {})
	lethetest.Equal(t, "missing", strings.Join(b.last.Missing(), "|"), "large|left/|link|new|stored (an older version is here)")
	lethetest.Holds(t, filepath.Join(there, "stored"), "one")
}

// A workspace of any size names a bounded number of files, and reads a file again only if it looks changed.
func TestWorkspaceIsScannedAgain(t *testing.T) {
	t.Parallel()
	w := &workspace{dir: lethetest.Dir(t), most: 1 << 20}
	old := time.Now().Add(-time.Hour)
	for n := range 2 * mostLeft {
		path := filepath.Join(w.dir, fmt.Sprintf("%03d", n))
		lethetest.Write(t, path, fmt.Sprint(n))
		lethetest.Must(t, os.Chtimes(path, old, old))
	}
	_, err := w.scan(nil, nil)
	lethetest.Must(t, err)
	if left := w.lacking(); len(left) != mostLeft || left[mostLeft-1] != "and others" {
		t.Errorf("%q", left)
	}
	stored := 0
	put := func(blobs.Hash, []byte) error { stored++; return nil }
	list, err := w.scan(nil, put)
	lethetest.Must(t, err)
	lethetest.Equal(t, "stored", stored, 2*mostLeft)
	lethetest.Must(t, os.Chmod(filepath.Join(w.dir, "000"), 0)) // who is not root could not read it
	lethetest.Write(t, filepath.Join(w.dir, "001"), "7")        // as long as before
	again, err := w.scan(list, put)
	lethetest.Must(t, err)
	if stored != 2*mostLeft || bytes.Equal(list, again) || len(w.lacking()) > 0 {
		t.Errorf("%d stored, %q left:\n%s", stored, w.lacking(), again)
	}
}

// What a command may put into a workspace keeps no identity waiting, takes no memory, and hides no other file.
func TestWorkspaceOfOddFiles(t *testing.T) {
	t.Parallel()
	w := &workspace{dir: lethetest.Dir(t), most: 1 << 20}
	lethetest.Must(t, syscall.Mkfifo(filepath.Join(w.dir, ".gitignore"), 0o600))
	lethetest.Write(t, filepath.Join(w.dir, "a/.gitignore"), "")
	lethetest.Must(t, os.Truncate(filepath.Join(w.dir, "a/.gitignore"), 64<<30))
	lethetest.Write(t, filepath.Join(w.dir, "a/x"), "x")
	lethetest.Write(t, filepath.Join(w.dir, "gone/x"), "x")
	lethetest.Write(t, filepath.Join(w.dir, "shut/x"), "x")
	list, err := w.scan(nil, func(blobs.Hash, []byte) error { return nil })
	lethetest.Must(t, err)
	lethetest.Equal(t, "listed", strings.Count(string(list), "\n"), 3)
	lethetest.Equal(t, "lacking", strings.Join(w.lacking(), "|"), ".gitignore|a/.gitignore")

	look := &scan{workspace: w}
	lethetest.Equal(t, "a directory that went", look.visit("gone", nil, fs.ErrNotExist), nil)
	lethetest.Equal(t, "one that is shut", look.visit("shut", nil, fs.ErrPermission), fs.SkipDir)
	lethetest.Equal(t, "lacking", strings.Join(look.left, "|"), "shut/")
}
