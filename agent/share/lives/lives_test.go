package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
	"lethe/life/event"
)

func TestMain(m *testing.M) {
	packEvery = 3
	os.Exit(m.Run())
}

// host is one of the hosts of a home, as its Sharing.
type host struct {
	testing.TB
	*Lives
	store *blobs.Store
	last  *Tenure // that was held
}

func (h *host) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (home.Tenure, error) {
	c, err := h.Lives.Hold(ctx, id, store)
	h.last = c
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (h *host) Room(room string) string { return chat.Path(h.Home.Dir, room) }

func (h *host) Post(room string, line []byte, from chat.Mark) (int64, int64, error) {
	return chat.Post(h.Room(room), line, from)
}

func (h *host) Elsewhere() []*home.ElsewhereError { return nil }

func (h *host) Away() bool { return false }

func (h *host) Removed(home.Identity) error { return nil }

func (h *host) Ledger() home.Ledger { return nil }

func newHost(t testing.TB, store share.Store, keys *seal.Keys, name string) *host {
	t.Helper()
	dir, err := home.Open(filepath.Join(lethetest.Dir(t), name))
	lethetest.Must(t, err)
	texts, err := blobs.Open(dir.Blobs())
	lethetest.Must(t, err)
	l := &Lives{
		Streams: &streams.Streams{Store: store, Keys: keys}, Host: streams.Host{ID: name, Label: name}, Most: 1 << 20,
		Log: slog.New(slog.DiscardHandler),
	}
	h := &host{TB: t, Lives: l, store: texts}
	dir.Shared = h
	l.Home = dir
	return h
}

// one returns a store, and a host with an identity, which hears rooms.
func one(t testing.TB, rooms ...string) (store *memstore.Store, a *host, ada home.Identity) {
	t.Helper()
	store = memstore.New()
	a = newHost(t, store, nil, "a")
	ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada", Rooms: rooms})
	lethetest.Must(t, err)
	return store, a, ada
}

// two is one, and another host.
func two(t testing.TB, rooms ...string) (store *memstore.Store, a, b *host, ada home.Identity) {
	t.Helper()
	store, a, ada = one(t, rooms...)
	return store, a, newHost(t, store, nil, "b"), ada
}

func (h *host) hold(id home.Identity) (*journal.Journal, error) {
	return journal.Hold(h.Home, h.Home.Identity(id.Self, id.Name), h.store, nil)
}

func (h *host) held(id home.Identity, f func(*journal.Journal)) {
	h.Helper()
	j, err := h.hold(id)
	lethetest.Must(h, err)
	defer j.Close()
	f(j)
}

func (h *host) take(id home.Identity) error {
	id = h.Home.Identity(id.Self, id.Name)
	if err := os.MkdirAll(id.Dir, 0o700); err != nil {
		return err
	}
	lock, err := home.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Close()
	return h.Lives.Take(context.Background(), id, h.store, "")
}

func (h *host) life(id home.Identity) string {
	text, _ := os.ReadFile(h.Home.Identity(id.Self, id.Name).LIFE())
	return string(text)
}

func note(text string) journal.Record {
	return journal.Told(event.Note{Why: "lost"}, "note", text)
}

func testKeys(t testing.TB) *seal.Keys {
	t.Helper()
	k, err := seal.Load(lethetest.Dir(t), nil, true)
	lethetest.Must(t, err)
	return k
}

// A life goes to another host and comes back, with all that it is: its texts, large ones too, its files, its workspace;
// and each host's log is the same to the byte.
func TestTake(t *testing.T) {
	t.Parallel()
	store, keys := memstore.New(), testKeys(t)
	a, b := newHost(t, store, keys, "a"), newHost(t, store, keys, "b")
	ada, err := home.Boot(a.Home, a.store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	large := strings.Repeat("what happened ", 100_000)
	lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), "remember\n")
	lethetest.Write(t, filepath.Join(ada.Dir, "triggers", "brief.toml"), "at = \"09:00\"\n")
	work := filepath.Join(ada.Dir, "workspace")
	lethetest.Write(t, filepath.Join(work, "src", "a b.txt"), "work\n")
	lethetest.Write(t, filepath.Join(work, "out", "x.o"), "object\n")
	lethetest.Write(t, filepath.Join(work, ".gitignore"), "*.o\n")
	lethetest.Must(t, os.Symlink("/etc/passwd", filepath.Join(work, "link")))
	a.held(ada, func(j *journal.Journal) {
		lethetest.Must(t, j.Commit(journal.Told(event.Joined{Room: "dev", First: &event.First{}}, "joined", "You hear dev.")))
		lethetest.Must(t, j.Commit(note("small")))
		lethetest.Must(t, j.Commit(note(large)))
		lethetest.Must(t, j.Stop("request"))
	})
	for n := range 9 {
		if bytes.Contains(store.Bytes(Stream(ada.Self), n), []byte("remember")) {
			t.Error("what is stored can be read")
		}
	}
	lethetest.Must(t, b.take(ada))
	if _, err := a.hold(ada); !errors.As(err, new(*home.ElsewhereError)) || !strings.Contains(err.Error(), "at b") {
		t.Errorf("a life is held at a host that it has left: %v", err)
	}
	there := b.Home.Identity(ada.Self, "ada")
	b.held(ada, func(j *journal.Journal) {
		if j.State.Custody != 1 || !j.State.Rooms["dev"].Joined {
			t.Errorf("%+v", j.State)
		}
		lethetest.Must(t, os.Remove(filepath.Join(there.Dir, "workspace", "src", "a b.txt")))
		lethetest.Must(t, j.Commit(note("at b")))
		lethetest.Must(t, j.Stop("request"))
	})
	lethetest.Holds(t, filepath.Join(there.Dir, "MEMORY.md"), "remember\n")
	lethetest.Holds(t, filepath.Join(there.Dir, "triggers", "brief.toml"), "at = \"09:00\"\n")
	lethetest.Holds(t, filepath.Join(there.Dir, "workspace", ".gitignore"), "*.o\n")
	for _, none := range []string{"out/x.o", "link"} {
		if _, err := os.Lstat(filepath.Join(there.Dir, "workspace", none)); err == nil {
			t.Errorf("%s came along", none)
		}
	}
	if rooms, _ := chat.Rooms(there.Subs()); len(rooms) != 1 {
		t.Errorf("it hears %v", rooms)
	}
	if found, err := b.Home.Find("ada"); err != nil || found.Self != ada.Self {
		t.Errorf("it has no name: %v", err)
	}
	v, err := check.Verify(there, b.store, check.VerifyOptions{})
	if err != nil || v.Fault != nil {
		t.Errorf("%+v, %v", v.Fault, err)
	}
	lethetest.Must(t, a.take(ada))
	a.held(ada, func(j *journal.Journal) {
		if j.State.Custody != 2 {
			t.Errorf("custody %d", j.State.Custody)
		}
	})
	if _, err := os.Stat(filepath.Join(work, "src", "a b.txt")); err == nil {
		t.Error("a file that was removed elsewhere is back")
	}
	lethetest.Holds(t, filepath.Join(work, "out", "x.o"), "object\n")
	_, err = b.hold(ada) // and has its log brought up to date
	if !errors.As(err, new(*home.ElsewhereError)) || a.life(ada) != b.life(ada) {
		t.Errorf("%v; the logs differ", err)
	}
}

// A host that was asleep while its life was taken can do nothing any more, and what it had recorded is set aside.
func TestFenced(t *testing.T) {
	t.Parallel()
	_, a, b, ada := two(t)
	j, err := a.hold(ada)
	lethetest.Must(t, err)
	lethetest.Must(t, j.Commit(note("one")))
	lethetest.Must(t, b.take(ada))
	b.held(ada, func(j *journal.Journal) { lethetest.Must(t, j.Commit(note("two"))) })
	elsewhere := new(home.ElsewhereError)
	if err := j.Commit(note("stale")); !errors.As(err, &elsewhere) || elsewhere.Host != "b" {
		t.Errorf("a stale host commits: %v", err)
	}
	if err := j.Commit(note("stale")); err == nil {
		t.Error("and again")
	}
	lethetest.Must(t, j.Close())
	if _, err := a.hold(ada); !errors.As(err, &elsewhere) {
		t.Errorf("it opens: %v", err)
	}
	if a.life(ada) != b.life(ada) || strings.Contains(a.life(ada), "stale") {
		t.Error("the logs differ")
	}
	if torn, _ := filepath.Glob(ada.LIFE() + ".torn-*"); len(torn) != 1 {
		t.Errorf("set aside: %v", torn)
	}
}

// Hosts take a life from each other and are cut short at any step, with answers lost: what one was told is done is in
// the life, once and in that order, and at all hosts the log is the same. Lines that wait are done with the next one that
// does not, or when their time has come.
func TestTakenAtAnyStep(t *testing.T) {
	for seed := range uint64(lethetest.Sample(6, 25, 1500)) {
		synctest.Test(t, func(t *testing.T) { takenAtAnyStep(t, rand.New(rand.NewPCG(seed, 3))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func takenAtAnyStep(t *testing.T, rng *rand.Rand) {
	defer func() { durable.Fault = nil }()
	store := memstore.New()
	hosts := []*host{newHost(t, store, nil, "a"), newHost(t, store, nil, "b"), newHost(t, store, nil, "c")}
	ada, err := home.Boot(hosts[0].Home, hosts[0].store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	hosts[0].held(ada, func(*journal.Journal) {})
	var one sync.Mutex // of what goes on beside, too
	killed := false
	store.Fault = func(op, stream string, n int) (bool, error) {
		one.Lock()
		defer one.Unlock()
		if killed {
			return false, share.ErrAway
		}
		if rng.IntN(12) == 0 {
			return rng.IntN(2) == 0, share.ErrAway
		}
		return true, nil
	}
	open := make([]*journal.Journal, len(hosts))
	var done []string
	unsure := map[string]bool{}
	waits := make([][]string, len(hosts)) // what may be at a host alone
	for step := range 80 {
		k := rng.IntN(len(hosts))
		h := hosts[k]
		ends := func(j *journal.Journal, kill bool) {
			one.Lock()
			killed = kill
			one.Unlock()
			j.Close()
			for _, text := range waits[k] {
				unsure[text] = true
			}
			open[k], waits[k], killed = nil, nil, false
		}
		left := rng.IntN(60)
		if rng.IntN(3) == 0 {
			durable.Fault = func(durable.Stage, string, string) error {
				one.Lock()
				defer one.Unlock()
				if left--; left < 0 {
					return os.ErrPermission
				}
				return nil
			}
		}
		var err error
		switch j := open[k]; {
		case rng.IntN(6) == 0 && j == nil:
			_ = h.take(ada)
		case j == nil:
			if open[k], err = h.hold(ada); err != nil {
				open[k] = nil
			}
		case rng.IntN(8) == 0:
			ends(j, rng.IntN(2) == 0)
		case rng.IntN(8) == 0:
			time.Sleep(2 * time.Minute)
			if err = j.ShipDue(); err != nil {
				ends(j, true)
			}
			done, waits[k] = append(done, waits[k]...), nil
		default:
			text := fmt.Sprintf("note %d of %s", step, h.Host.ID)
			record := journal.Told(event.Note{Why: "lost"}, text, text)
			mayWait := rng.IntN(3) == 0
			if mayWait {
				record.Event = event.Hint{}
			}
			if !mayWait && rng.IntN(5) == 0 {
				err = j.Epoch("count", nil, record)
			} else {
				err = j.Commit(record)
			}
			waits[k] = append(waits[k], text)
			if err != nil {
				ends(j, true)
			} else if !mayWait {
				done, waits[k] = append(done, waits[k]...), nil
			}
		}
		if h.last != nil {
			h.last.beside.Wait()
		}
		durable.Fault = nil
	}
	store.Fault = nil
	for k, j := range open {
		if j != nil {
			j.Close()
			for _, text := range waits[k] {
				unsure[text] = true
			}
		}
	}
	for _, h := range hosts {
		if _, err := os.Stat(h.Home.Identity(ada.Self, "ada").Dir); err != nil {
			continue
		}
		if j, err := h.hold(ada); err == nil {
			j.Close()
		} else if !errors.As(err, new(*home.ElsewhereError)) {
			t.Fatalf("%s: %v", h.Host.ID, err)
		}
	}
	for _, h := range hosts { // once more: the one that has it may have written at its opening
		_, err := os.Stat(h.Home.Identity(ada.Self, "ada").Dir)
		if err != nil {
			continue
		}
		j, err := h.hold(ada)
		if err == nil {
			j.Close()
		}
	}
	lethetest.Must(t, hosts[2].take(ada))
	hosts[2].held(ada, func(*journal.Journal) {})
	text := hosts[2].life(ada)
	for _, line := range strings.Split(text, "\n") {
		_, gist, is := strings.Cut(line, "gist=note ")
		gist = "note " + strings.TrimSuffix(strings.SplitN(gist, "◲", 2)[0], "")
		if !is || unsure[gist] {
			continue
		}
		if len(done) == 0 || done[0] != gist {
			t.Errorf("%q is in the life where %q was to be", gist, done[:min(1, len(done))])
			return
		}
		done = done[1:]
	}
	if len(done) > 0 {
		t.Errorf("lost: %q", done)
	}
	there := hosts[2].Home.Identity(ada.Self, "ada")
	v, err := check.Verify(there, hosts[2].store, check.VerifyOptions{})
	if err != nil || v.Fault != nil {
		t.Errorf("%+v, %v", v.Fault, err)
	}
	lethetest.Tried(t, 80)
}

// docs/share.md has a segment as it is stored with share.plain.
func TestSegmentOnThePage(t *testing.T) {
	text := lethetest.Blocks(t, "share.md", "segment")[0]
	first, rest, _ := strings.Cut(text, "\n")
	s, err := decode([]byte(rest))
	if err != nil || first != fmt.Sprintf("lethe %s 2", Stream(s.Self)) || len(s.Texts) != 1 || string(s.Files[0].Data) != "remember\n" {
		t.Fatalf("%+v, %v", s, err)
	}
	if again := string(s.encode()); again != rest {
		t.Errorf("it is written as\n%s", again)
	}
}
