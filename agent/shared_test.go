package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// sharer is what one host of a home shares with another.
type sharer struct {
	lives *lives.Lives
	rooms *rooms.Rooms
}

func (s *sharer) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (home.Tenure, error) {
	c, err := s.lives.Hold(ctx, id, store)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *sharer) Room(room string) string { return rooms.Path(s.rooms.Dir, room) }

func (s *sharer) Post(room string, line []byte, from chat.Mark) (int64, int64, error) {
	return s.rooms.Post(context.Background(), room, line, from)
}

func (s *sharer) Elsewhere() []*home.ElsewhereError { return nil }

func (s *sharer) Away() bool { return false }

func (s *sharer) Removed(home.Identity) error { return nil }

func (s *sharer) Ledger() home.Ledger { return nil }

// hostOf is a world that shares its home in a store.
func hostOf(t *testing.T, store share.Store, name string) (*world, *sharer) {
	w, log := newWorld(t), slog.New(slog.DiscardHandler)
	host, all := streams.Host{ID: name, Label: name}, &streams.Streams{Store: store}
	s := &sharer{
		lives: &lives.Lives{Streams: all, Host: host, Log: log, Most: 1 << 20},
		rooms: &rooms.Rooms{Streams: all, Dir: w.home.Dir, Host: host, Store: w.store, Log: log},
	}
	w.home.Shared = s
	w.conf.Home, s.lives.Home = w.home, w.home
	return w, s
}

// A host dies, or stands still, before and after each text that it sends, and so between any two of them. Another one
// takes the life: each line is heard once and answered once, no call begins twice, and a host that goes on behind the
// takeover does nothing. What waits at the first host is lost with it.
func TestTakenBetweenShips(t *testing.T) {
	slow(t)
	for _, way := range []string{"before", "after", "frozen"} {
		struck := 0
		for n := 1; n == struck+1; n++ {
			if takenAt(t, way, n) {
				struck = n
			}
			if t.Failed() {
				t.Fatalf("%s %d", way, n)
			}
		}
		if struck < 5 {
			t.Errorf("%s: struck at %d texts", way, struck)
		}
	}
}

// strike has a store stop one host at one of the texts that it sends.
type strike struct {
	mu      sync.Mutex
	way     string
	left    int  // texts until then
	counts  bool // texts are those of the first host
	dead    bool
	reached chan struct{}
	thaw    chan struct{} // closed when it goes on
}

func (s *strike) fault(op, _ string, _ int) (bool, error) {
	s.mu.Lock()
	isSent := op == "create" && s.counts
	if isSent {
		s.left--
	}
	hits, dead := isSent && s.left == 0, s.dead
	if hits {
		close(s.reached)
		s.counts, s.dead = false, s.way != "frozen"
	}
	s.mu.Unlock()
	switch {
	case hits && s.way == "frozen":
		<-s.thaw
	case hits:
		return s.way == "after", share.ErrAway
	case dead:
		time.Sleep(5 * time.Millisecond)
		return false, share.ErrAway
	}
	return true, nil
}

func (s *strike) isReached() bool {
	select {
	case <-s.reached:
		return true
	default:
		return false
	}
}

func (s *strike) counting(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = is && !s.dead
}

func (s *strike) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = false
}

// takenAt reports whether the first host sent as many texts.
func takenAt(t *testing.T, way string, at int) (struck bool) {
	store := memstore.New()
	s := &strike{way: way, left: at, reached: make(chan struct{}), thaw: make(chan struct{})}
	store.Fault = s.fault
	a, first := hostOf(t, store, "a")
	b, second := hostOf(t, store, "b")
	id, ran := a.boot("ada", "dev"), filepath.Join(t.TempDir(), "ran")
	r := a.run(id)
	r.settled()
	questions := []string{"run echo once >> " + ran, "what is 12*7?", "what is 5*5?"}
	ask := func(q string) {
		b.say("dev", "ann", q)
		lethetest.Must(t, second.rooms.Sync(t.Context()))
	}
	for k, q := range questions[:2] {
		ask(q)
		s.counting(true)
		if err := first.rooms.Pull(t.Context()); !s.isReached() { // what waited may ship first, and be struck
			lethetest.Must(t, err)
		}
		a.eventually("it is struck, or idle", func() bool {
			struck = s.isReached()
			return struck || r.idle() && len(a.said("dev")) > k
		})
		if s.counting(false); struck {
			questions = append(questions[:k+1], "what is 5*5?")
			break
		}
	}
	if r.cancel(); !struck {
		return false
	}
	if way != "frozen" {
		_ = r.wait()
		s.alive()
	}
	there := b.home.Identity(id.Self, id.Name)
	lethetest.Must(t, os.MkdirAll(there.Dir, 0o700))
	lethetest.Must(t, second.rooms.Sync(t.Context()))
	lock, err := home.Lock(there)
	lethetest.Must(t, err)
	lethetest.Must(t, second.lives.Take(t.Context(), there, b.store, "a"))
	lethetest.Must(t, lock.Close())
	r2 := b.run(there)
	ask("what is 5*5?")
	b.eventually("all is answered", func() bool { return strings.Contains(b.read(b.path("dev")), "5*5 = 25") })
	r2.finish()
	if close(s.thaw); way == "frozen" {
		_ = r.wait()
	}
	lethetest.Must(t, first.rooms.Sync(t.Context()))
	room := b.read(b.path("dev"))
	lethetest.Equal(t, "the room at the first host", a.read(a.path("dev")), room)
	sums := []string{"5*5 = 25"}
	if len(questions) == 3 {
		sums = append(sums, "12*7 = 84")
	}
	for _, once := range append(sums, questions...) {
		if n := strings.Count(room, once); n != 1 {
			t.Errorf("%q stands %d times in\n%s", once, n, room)
		}
	}
	equalSlices(t, "heard", b.heard(there, "dev"), questions)
	text, _ := os.ReadFile(ran)
	if known := b.having(there, "result", "status", "ok"); len(text) > len("once\n") || len(known) > len(text) {
		t.Errorf("the call began %d times, %d results", strings.Count(string(text), "once"), len(known))
	}
	return true
}
