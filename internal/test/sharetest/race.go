package sharetest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
)

// told is the result of Create for a text: nil or ErrTaken.
type told struct {
	N     int
	Text  string
	Taken bool
}

// Race is writers of one stream, each a host: goroutines with a store of their own, and processes.
type Race struct {
	URL        string
	Direct     string // the URL without faults
	Stream     string
	Goroutines int
	Processes  int
	Torment    bool // processes are stopped, and killed and started again
	For        time.Duration
	Least      int // texts; the race goes on until there are so many, up to a minute

	mu    sync.Mutex
	acked map[int]string
	taken map[string]bool // texts
}

// Run runs the race, and fails the test unless each number has one winner, who was told, and each text is there.
func (r *Race) Run(t *testing.T) {
	t.Helper()
	r.acked, r.taken = map[int]string{}, map[string]bool{}
	ctx, cancel := context.WithTimeout(t.Context(), r.For+time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		time.Sleep(r.For)
		for ctx.Err() == nil && r.count() < r.Least {
			time.Sleep(time.Millisecond)
		}
		cancel()
	})
	for i := range r.Goroutines {
		s := Open(t, r.URL, 0)
		all.Go(func() {
			if err := writer(ctx, s, r.Stream, fmt.Sprint("g", i), func(x told) { r.tell(t, x) }); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range r.Processes {
		all.Go(func() { r.process(ctx, t, fmt.Sprint("p", i)) })
	}
	all.Wait()
	r.check(t)
}

// count returns how many texts are acked.
func (r *Race) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

func (r *Race) tell(t *testing.T, told told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if told.Taken {
		r.taken[told.Text] = true
		return
	}
	if was := r.acked[told.N]; was != "" {
		t.Errorf("number %d was given to two writers: %q and %q", told.N, was, told.Text)
	}
	r.acked[told.N] = told.Text
}

// writer creates the next number, again and again, until ctx ends, as each host does: bytes do not change until
// their fate is known.
func writer(ctx context.Context, store share.Store, stream, who string, tell func(told)) error {
	for count := 0; ctx.Err() == nil; count++ {
		n, err := store.Newest(ctx, stream, 0)
		if errors.Is(err, share.ErrAway) {
			continue
		}
		if err != nil {
			return err
		}
		mine := fmt.Sprintf("%s %d %s", who, count, rand.Text())
		err = share.ErrAway
		for errors.Is(err, share.ErrAway) && ctx.Err() == nil {
			err = store.Create(ctx, stream, n+1, []byte(mine))
		}
		switch {
		case err == nil:
			tell(told{n + 1, mine, false})
			after, err := store.Newest(ctx, stream, 0)
			if err == nil && after <= n {
				return fmt.Errorf("%s has created %d, and the newest is %d", who, n+1, after)
			}
		case errors.Is(err, share.ErrTaken):
			tell(told{n + 1, mine, true})
			time.Sleep(time.Duration(mathrand.Int64N(int64(5 * time.Millisecond))))
		case !errors.Is(err, share.ErrAway):
			return err
		}
	}
	return nil
}

// orders are the orders to a process of writers.
type orders struct{ URL, Stream, Who string }

// write is the role of a writer: it prints what it was told, a line each, until it is killed.
func write(role string) {
	var orders orders
	if err := json.Unmarshal([]byte(role), &orders); err != nil {
		panic(err)
	}
	store, err := share.Open(orders.URL, 0)
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	if err := writer(context.Background(), store, orders.Stream, orders.Who, func(x told) { _ = out.Encode(x) }); err != nil {
		fmt.Println(err)
	}
}

// process runs writers, one after the other when they are killed, until ctx ends.
func (r *Race) process(ctx context.Context, t *testing.T, who string) {
	for life := 0; ctx.Err() == nil; life++ {
		role, _ := json.Marshal(orders{r.URL, r.Stream, fmt.Sprint(who, ".", life)})
		out, in, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return
		}
		process := run(t, "write "+string(role), in)
		in.Close()
		over := context.AfterFunc(ctx, func() { _ = process.Process.Kill() })
		if r.Torment {
			go process.torment(ctx)
		}
		r.read(t, out)
		out.Close()
		over()
		_ = process.Wait()
	}
}

// torment stops a process for a while, some times, and then kills it.
func (p *process) torment(ctx context.Context) {
	for range 3 {
		for _, signal := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			select {
			case <-ctx.Done():
			case <-time.After(soon() / 2):
			}
			_ = p.Process.Signal(signal)
		}
		if ctx.Err() != nil {
			return
		}
	}
	_ = p.Process.Kill()
}

func (r *Race) read(t *testing.T, out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var told told
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			t.Errorf("a writer says %q", lines.Text())
			continue
		}
		r.tell(t, told)
	}
}

func (r *Race) check(t *testing.T) {
	store := Open(t, r.Direct, time.Minute)
	newest, err := store.Newest(t.Context(), r.Stream, 0)
	lethetest.Must(t, err)
	lost, unsaid := 0, 0
	for n := 1; n <= newest; n++ {
		got, err := store.Get(t.Context(), r.Stream, n)
		if err != nil {
			t.Errorf("%v", err)
		}
		switch was := r.acked[n]; was {
		case "":
			unsaid++
		case string(got):
		default:
			lost++
			t.Errorf("number %d is %q, and %q was told that it had won", n, got, was)
		}
		if r.taken[string(got)] {
			t.Errorf("number %d is %q, whose writer was told that another one was faster", n, got)
		}
		delete(r.acked, n)
	}
	for n := range r.acked {
		lost++
		t.Errorf("number %d was acked, and the newest is %d", n, newest)
	}
	if newest < max(r.Least, 1) {
		t.Errorf("there are %d texts", newest)
	}
	t.Logf("%d texts, %d times another one was faster, %d of writers that were not told, %d lost", newest, len(r.taken),
		unsaid, lost)
}
