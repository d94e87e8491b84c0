package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

// memory is an engine that is away, or loses answers, when a test says so.
type memory struct {
	mu    sync.Mutex // of texts and asked
	texts map[int]string
	away  func() bool
	lost  error // what create returns when it has created
	asked int
}

func (m *memory) try() error {
	if m.asked++; m.away != nil && m.away() {
		return errors.New("no route to host")
	}
	return nil
}

func (m *memory) create(_ context.Context, _ string, n int, text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.try(); err != nil {
		return err
	}
	if _, taken := m.texts[n]; taken {
		return errors.New("412")
	}
	m.texts[n] = string(text)
	return m.lost
}

func (m *memory) get(_ context.Context, _ string, n int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.try(); err != nil {
		return nil, err
	}
	text, there := m.texts[n]
	if !there {
		return nil, ErrMissing
	}
	return []byte(text), nil
}

func (m *memory) newest(context.Context, string) (newest int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range maps.Keys(m.texts) {
		newest = max(n, newest)
	}
	return newest, m.try()
}

func (m *memory) remove(context.Context, string, int, func(int) bool) error { return nil }

func (m *memory) list(context.Context, string) ([]string, error) { return nil, nil }

func (m *memory) store(patience time.Duration) *store {
	e := engine{create: m.create, get: m.get, newest: m.newest, remove: m.remove, list: m.list, close: func() {}}
	s := &store{engine: e, patience: patience}
	s.proven.Store(true) // TestUnfit looks at it
	return s
}

func (m *memory) put(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[n] = fmt.Sprint(n)
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// A store that is away for an hour is told of each 15 s, by calls beside that each 3 s, and then has each text once.
func TestAwayForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := &memory{texts: map[int]string{}, lost: errors.New("reset")}
		m.away = func() bool { return time.Since(began) < time.Hour }
		s := m.store(15 * time.Second)
		told := 0
		for {
			call := time.Now()
			err := s.Create(t.Context(), "life", 1, []byte("mine"))
			if err == nil {
				break
			}
			want := 15 * time.Second
			if told%6 > 0 {
				want = 3 * time.Second
			}
			if told++; !errors.Is(err, ErrAway) || time.Since(call) != want {
				t.Fatalf("after %v: %v", time.Since(call), err)
			}
			lethetest.Words(t, err.Error(), "create life 1: the store is away: no route to host")
		}
		if told != 720 || m.asked > told*60 || len(m.texts) != 1 || time.Since(began) > time.Hour+time.Minute {
			t.Errorf("told %d times, asked %d times, %d texts", told, m.asked, len(m.texts))
		}
	})
}

// That a store does not answer is told after a second, once, and again when it has answered meanwhile.
func TestAwayIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		m := &memory{texts: map[int]string{}, away: func() bool { return away }}
		s, began := m.store(15*time.Second), time.Now()
		told := make(chan time.Duration, 9)
		Tell(s, func(err error) {
			lethetest.Words(t, err.Error(), "the store is away")
			told <- time.Since(began).Round(time.Second)
		})
		for _, away = range []bool{true, true, false, true} {
			_, _ = s.Newest(t.Context(), "life", 0)
		}
		lethetest.Equal(t, "told after", fmt.Sprint(<-told, <-told, len(told)), "1s 19s 0")
	})
}

// What is there decides, whatever was answered.
func TestCreateSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []error{nil, errors.New("reset")} {
			m := &memory{texts: map[int]string{}, lost: lost}
			s := m.store(time.Second)
			for _, c := range []struct {
				n    int
				data string
				want error
			}{{1, "a", nil}, {1, "a", nil}, {1, "b", ErrTaken}, {2, "b", nil}, {3, "c", nil}, {2, "x", ErrTaken}} {
				if err := s.Create(t.Context(), "life", c.n, []byte(c.data)); !errors.Is(err, c.want) {
					t.Errorf("create %d %q: %v, want %v", c.n, c.data, err, c.want)
				}
			}
			delete(m.texts, 2) // a pack holds it
			m.asked = 0
			m.away = func() bool { return m.asked == 1 } // so the request of this host is lost
			if err := s.Create(t.Context(), "life", 2, []byte("b")); !errors.Is(err, ErrTaken) {
				t.Errorf("create what is deleted: %v", err)
			}
		}
	})
}

// A store that does not tell is asked each 2 s while there is news, and each 10 s when there is none for long.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &memory{texts: map[int]string{}}
		s := m.store(time.Second)
		look := s.Watch(ctx, "room")
		<-look // at once
		for n := 1; n <= 5; n++ {
			time.Sleep(500 * time.Millisecond)
			m.put(n)
			began := time.Now()
			<-look
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("text %d was told after %v", n, took)
			}
		}
		asked := m.count()
		time.Sleep(time.Hour)
		if idle := m.count() - asked; idle < 355 || idle > 400 {
			t.Errorf("in an idle hour the store is asked %d times", idle)
		}
		select {
		case <-look:
			t.Error("there is no news")
		default:
		}
		asked = m.count()
		for n := 6; n < 30; n++ { // texts of its own are no news, and it does not read them
			lethetest.Must(t, s.Create(ctx, "room", n, []byte("own")))
		}
		time.Sleep(time.Minute)
		if now := m.count() - asked; now > 24+20 {
			t.Errorf("behind 24 texts of its own the store is asked %d times", now)
		}
		select {
		case <-look:
			t.Error("its own texts are news")
		default:
		}
		m.put(30) // another host's, before one of its own
		lethetest.Must(t, s.Create(ctx, "room", 31, []byte("own")))
		began := time.Now()
		<-look
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("after an idle hour news took %v", took)
		}
		cancel()
	})
}
