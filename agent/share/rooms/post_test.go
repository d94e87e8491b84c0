package rooms

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// Posts that come while the store takes an entry stand together in the next one, each where its Post says. A room that
// cannot be written fails its own post alone, and a store that is away all of them: made again, each stands once.
func TestPostsTogether(t *testing.T) {
	store := memstore.New()
	r := newHost(t, store, "a")
	r.echo(t, "dev", "first\n")
	r.sync(t)
	lethetest.Must(t, os.Mkdir(chat.Path(r.Dir, "bad"), 0o700))
	const each = 10
	var all sync.WaitGroup
	var failed atomic.Int32
	post := func(room, line string) {
		defer all.Done()
		at, to, err := r.Post(t.Context(), room, []byte(line), chat.Mark{})
		if err != nil {
			failed.Add(1)
			return
		}
		if text := lethetest.Read(t, Path(r.Dir, room)); text[at:to] != line {
			t.Errorf("%q stands at %d to %d of\n%s", line, at, to, text)
		}
	}
	taken := 0
	var reached chan struct{} // nil once the first entry of some was on its way
	var fails error
	store.Fault = func(op, stream string, _ int) (bool, error) {
		if op != "create" || stream != Stream {
			return true, nil
		}
		if taken++; reached != nil {
			close(reached)
			reached = nil
			lethetest.Eventually(t, "the posts wait", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.posts) == 2*each+1
			})
		}
		return fails == nil, fails
	}
	together := func(of string) {
		begun := make(chan struct{})
		taken, reached = 0, begun
		failed.Store(0)
		all.Add(2*each + 2)
		go post("dev", of+" the first\n")
		<-begun
		for k := range each {
			go post("dev", fmt.Sprintf("%s %d\n", of, k))
			go post("ops", fmt.Sprintf("%s %d\n", of, k))
		}
		go post("bad", of+"\n")
		all.Wait()
	}
	r.echo(t, "dev", "second\n")
	if together("one"); taken != 2 || failed.Load() != 1 {
		t.Errorf("%d entries, %d posts failed", taken, failed.Load())
	}
	fails = share.ErrAway
	if together("two"); failed.Load() != 2*each+2 {
		t.Errorf("the store is away, and %d posts failed", failed.Load())
	}
	fails = nil
	together("two")
	other := newHost(t, store, "b")
	other.sync(t)
	text := lethetest.Read(t, Path(other.Dir, "dev")) + lethetest.Read(t, Path(other.Dir, "ops"))
	for _, of := range []string{"one", "two"} {
		for k := range each {
			if n := strings.Count(text, fmt.Sprintf("%s %d\n", of, k)); n != 2 {
				t.Errorf("%s %d stands %d times in\n%s", of, k, n, text)
			}
		}
	}
	if n := strings.Count(text, "second\n"); n != 1 {
		t.Errorf("what was appended stands %d times in\n%s", n, text)
	}
}

// A post that another caller has taken along is made, also if that one's time ends.
func TestPostsOutliveAnother(t *testing.T) {
	store := memstore.New()
	for _, arrives := range []bool{false, true} {
		r := newHost(t, store, map[bool]string{false: "a", true: "b"}[arrives])
		r.sync(t)
		line := fmt.Sprintf("it arrives: %v\n", arrives)
		ctx, cancel := context.WithCancel(t.Context())
		made := make(chan error, 1)
		var once sync.Once
		store.Fault = func(op, stream string, _ int) (done bool, err error) {
			done = true
			once.Do(func() { // which Sync asks
				go func() {
					_, _, err := r.Post(t.Context(), "dev", []byte(line), chat.Mark{})
					made <- err
				}()
				lethetest.Eventually(t, "it waits", func() bool {
					r.mu.Lock()
					defer r.mu.Unlock()
					return len(r.posts) > 0
				})
			})
			if op == "create" && ctx.Err() == nil {
				cancel()
				done, err = arrives, context.Canceled
			}
			return done, err
		}
		if err := r.Sync(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		lethetest.Must(t, <-made)
		if n := strings.Count(lethetest.Read(t, Path(r.Dir, "dev")), line); n != 1 {
			t.Errorf("%q stands %d times", line, n)
		}
		store.Fault = nil
	}
}

// A post that was made ends, although others come with each entry: they wait for other rounds.
func TestPostEndsBesideOthers(t *testing.T) {
	store := memstore.New()
	r := newHost(t, store, "a")
	var all sync.WaitGroup
	post := func(line string) {
		_, _, err := r.Post(t.Context(), "dev", []byte(line), chat.Mark{})
		lethetest.Must(t, err)
	}
	var entries, before atomic.Int32
	store.Fault = func(op, stream string, _ int) (bool, error) {
		if n := entries.Add(1); op == "create" && stream == Stream && n < 100 {
			all.Go(func() { post(fmt.Sprintf("%d\n", n)) })
			lethetest.Eventually(t, "it waits", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.posts) > 0
			})
		}
		return true, nil
	}
	post("first\n")
	before.Store(entries.Load())
	all.Wait()
	if n := before.Load(); n > 20 {
		t.Errorf("it ends behind %d calls of the store", n)
	}
}

// A host that has seen a moment ago where the stream ends asks the store for nothing but to take its entries.
func TestAsksForNothingKnown(t *testing.T) {
	store := memstore.New()
	r := newHost(t, store, "a")
	r.echo(t, "dev", "first\n")
	r.sync(t)
	was := freshFor
	freshFor = time.Hour
	defer func() { freshFor = was }()
	before := maps.Clone(store.Calls)
	for k := range 5 {
		r.echo(t, "dev", fmt.Sprintf("line %d\n", k))
		lethetest.Must(t, r.Publish(t.Context()))
		_, _, err := r.Post(t.Context(), "dev", fmt.Appendf(nil, "post %d\n", k), chat.Mark{})
		lethetest.Must(t, err)
	}
	lethetest.Must(t, r.Publish(t.Context())) // nothing
	for call, n := range store.Calls {
		if n -= before[call]; n != map[string]int{"create": 10}[call] {
			t.Errorf("%s: %d times", call, n)
		}
	}
	lethetest.Must(t, r.Pull(t.Context()))
	if n := store.Calls["get"] - before["get"]; n != 1 {
		t.Errorf("a look without news asks for %d texts", n)
	}
}

// A host that has read the stream anew, and could not place the rooms, knows not where the stream ends: what it posts then
// is in no number that the erasure has freed.
func TestPostBehindAnewCutShort(t *testing.T) {
	_, a, b := two(t)
	a.echo(t, "dev", "one\n")
	a.sync(t)
	b.sync(t)
	lethetest.Must(t, a.Settle(t.Context()))
	lethetest.Must(t, a.Erased(t.Context()))
	was := freshFor
	freshFor = time.Hour
	defer func() { freshFor, durable.Fault = was, nil }()
	b.pulled = time.Now().Add(-2 * freshFor)
	broken := errors.New("the disk is broken")
	durable.Fault = func(_ durable.Stage, op, path string) error {
		if op == "rename" && path == Path(b.Dir, "dev") {
			return broken
		}
		return nil
	}
	if err := b.Sync(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("the rooms are placed: %v", err)
	}
	durable.Fault = nil
	_, _, err := b.Post(t.Context(), "dev", []byte("two\n"), chat.Mark{})
	lethetest.Must(t, err)
	a.sync(t)
	a.holds(t, "dev", "one\ntwo\n")
}

// BenchmarkPosts has twenty identities post, each in a room of its own, where people append lines, too, and a host publish
// them. The store is a directory.
func BenchmarkPosts(b *testing.B) {
	dir := b.TempDir()
	store, err := share.Open("file://"+dir, 0)
	lethetest.Must(b, err)
	defer store.Close()
	r := newHost(b, store, "a")
	ctx, cancel := context.WithCancel(b.Context())
	changed := make(chan struct{}, 1)
	var beside, all sync.WaitGroup
	beside.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				lethetest.Must(b, r.Publish(context.WithoutCancel(ctx)))
			}
		}
	})
	var left atomic.Int64
	left.Store(int64(b.N))
	var before, after syscall.Rusage
	lethetest.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	b.ResetTimer()
	for k := range 20 {
		all.Go(func() {
			room := fmt.Sprint("r", k)
			for n := 0; left.Add(-1) >= 0; n++ {
				r.echo(b, room, fmt.Sprintf("question %d\n", n))
				select {
				case changed <- struct{}{}:
				default:
				}
				_, _, err := r.Post(ctx, room, fmt.Appendf(nil, "answer %d\n", n), chat.Mark{})
				lethetest.Must(b, err)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	lethetest.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "processor-µs/op")
	b.ReportMetric(float64(r.done)/float64(b.N), "entries/op")
	cancel()
	beside.Wait()
}
