package sharetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
)

// Holders are hosts that take one life from each other, write to it while they hold it, and pack and delete what is
// old, by rules 6 and 11. Between any two steps of theirs others may have done all that.
type Holders struct {
	URL    string
	Direct string // the URL without faults
	Stream string
	Hosts  int
	For    time.Duration
	Keep   func(first bool) bool // what a pack keeps; nil: the first text of each holder
	Once   bool                  // a take does not look again

	mu     sync.Mutex
	acked  map[int]string
	packed []string // the texts from 1 on that a pack holds
	takes  int
}

type host struct {
	*Holders
	s     share.Store
	name  string
	epoch int
}

// Run fails the test for each text of a host that held nothing, and each that was lost.
func (h *Holders) Run(t *testing.T) {
	t.Helper()
	h.acked = map[int]string{}
	if h.Keep == nil {
		h.Keep = func(first bool) bool { return first }
	}
	ctx, cancel := context.WithTimeout(t.Context(), h.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range h.Hosts {
		host := &host{Holders: h, s: Open(t, h.URL, 0), name: fmt.Sprint("h", i)}
		all.Go(func() {
			for ctx.Err() == nil {
				err := host.live(ctx)
				if err == nil || errors.Is(err, share.ErrAway) {
					continue
				}
				if ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	h.check(t)
}

// nap is short, and now and then long.
func nap() {
	if mathrand.IntN(8) == 0 {
		time.Sleep(time.Duration(mathrand.Int64N(int64(60 * time.Millisecond))))
	}
}

// create is Create until the outcome is known.
func (x *host) create(ctx context.Context, n int, what string) error {
	mine := fmt.Sprintf("%s.%d %s %s", x.name, x.epoch, what, rand.Text())
	for {
		err := x.s.Create(ctx, x.Stream, n, []byte(mine))
		if errors.Is(err, share.ErrAway) && ctx.Err() == nil {
			continue
		}
		if err == nil {
			x.mu.Lock()
			x.acked[n] = mine // of a take that did not hold it may be another one
			x.mu.Unlock()
		}
		return err
	}
}

// live takes the life, writes some texts, and packs.
func (x *host) live(ctx context.Context) error {
	x.epoch++
	newest, err := x.s.Newest(ctx, x.Stream, 0)
	if err != nil {
		return err
	}
	nap()
	n := newest + 1
	if err := x.create(ctx, n, "take"); err != nil {
		if errors.Is(err, share.ErrTaken) {
			return nil
		}
		return err
	}
	nap()
	again, err := x.s.Newest(ctx, x.Stream, 0)
	isNewest := err == nil && again == n
	if !x.Once && !isNewest {
		return err // somebody was faster; this text counts for nothing
	}
	x.mu.Lock()
	x.takes++
	x.mu.Unlock()
	for range mathrand.IntN(12) {
		nap()
		n++
		if err := x.create(ctx, n, "text"); err != nil {
			if errors.Is(err, share.ErrTaken) {
				return nil
			}
			return err
		}
	}
	nap()
	return x.pack(ctx, n-1)
}

// pack puts texts into the pack, up to a text that this host knows to be there, and deletes them.
func (x *host) pack(ctx context.Context, upto int) error {
	x.mu.Lock()
	from := len(x.packed) + 1
	x.mu.Unlock()
	var texts []string
	for n := from; n <= upto; n++ {
		got, err := x.s.Get(ctx, x.Stream, n)
		if errors.Is(err, share.ErrMissing) {
			return nil // another pack holds it
		}
		if err != nil {
			return err
		}
		texts = append(texts, string(got))
	}
	x.mu.Lock()
	if len(x.packed)+1 == from {
		x.packed = append(x.packed, texts...)
	}
	firsts := map[int]bool{}
	for i, text := range x.packed {
		firsts[i+1] = strings.Contains(text, " take ")
	}
	upto = min(upto, len(x.packed))
	x.mu.Unlock()
	if upto < 1 {
		return nil
	}
	nap()
	return x.s.Delete(ctx, x.Stream, upto, func(n int) bool { return x.Keep(firsts[n]) })
}

func (h *Holders) check(t *testing.T) {
	store := Open(t, h.Direct, time.Minute)
	newest, err := store.Newest(t.Context(), h.Stream, 0)
	lethetest.Must(t, err)
	before := ""
	for n := 1; n <= newest; n++ {
		text := ""
		if n <= len(h.packed) {
			text = h.packed[n-1]
		} else {
			got, err := store.Get(t.Context(), h.Stream, n)
			if err != nil {
				t.Errorf("text %d: %v", n, err)
			}
			text = string(got)
		}
		who, what, _ := strings.Cut(text, " ")
		if strings.HasPrefix(what, "text") && who != before {
			t.Errorf("text %d is of %s, and the one before of %s", n, who, before)
		}
		before = who
		acked := h.acked[n]
		isOther := acked != "" && acked != text
		if isOther && !strings.Contains(acked, " take ") {
			t.Errorf("text %d is %q, and %q was acked", n, text, acked)
		}
		delete(h.acked, n)
	}
	for n, text := range h.acked {
		t.Errorf("text %d is not there, and %q was acked", n, text)
	}
	t.Logf("%d takes, %d texts, %d of them packed", h.takes, newest, len(h.packed))
}
