package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lethe/internal/buckets"
	"lethe/internal/pattern"
)

// engine tries each call once. After an error that is not known the text may be there or not. An engine is functions
// and no interface: the linker keeps all methods of a library's client that is in an interface, which is 1 MB here.
type engine struct {
	create  func(ctx context.Context, stream string, n int, text []byte) error
	get     func(ctx context.Context, stream string, n int) ([]byte, error)
	newest  func(ctx context.Context, stream string) (int, error)
	numbers func(ctx context.Context, stream string) ([]int, error)
	remove  func(ctx context.Context, stream string, upto int, keep func(n int) bool) error
	list    func(ctx context.Context, prefix string) ([]string, error) // more than asked for, perhaps
	close   func()
	// watch signals news; some may get lost. It is nil for engines that do not tell.
	watch    func(ctx context.Context, signal func(), stream string)
	settings func(ctx context.Context) ([]Finding, error) // finds wrong ones, with one request; nil if there are none
	failed   func(error) error                            // explains an error; may be nil
	probe    func(ctx context.Context) []Finding          // warns of faults that take more requests to find; may be nil
	asked    func() buckets.Asked                         // counts requests; may be nil
}

// store checks the arguments of callers, and tries until an answer is known. It alone tries again.
type store struct {
	engine
	patience time.Duration
	away     atomic.Int64 // when a call had no answer for all of the patience
	tell     func(error)  // of a call that has no answer yet; may be nil
	told     atomic.Bool  // since the last answer
	proven   atomic.Bool  // prove has found no trouble
	taken    atomic.Int64 // texts whose number another one had
	watched  sync.Map     // by stream, the number up to which no text is news: it was told, or created behind such
}

var streamName = pattern.Lazy(`^[a-z0-9_-][a-z0-9._-]*(/[a-z0-9_-][a-z0-9._-]*)*$`)

func check(stream string, n int) error {
	named := len(stream) <= MostName && streamName().MatchString(stream)
	numbered := n >= 1 && n <= MostNumber
	if !named || !numbered {
		return fmt.Errorf("share: a stream cannot be called %q or have a number %d", stream, n)
	}
	return nil
}

// insist tries until it knows. The first attempt has 2 s, since answers get lost. Each other attempt has twice as long
// as the one before, since lines are slow.
func (s *store) insist(ctx context.Context, what string, try func(context.Context) error) error {
	patience := s.patience
	if since := time.Since(time.Unix(0, s.away.Load())); since < patience {
		patience /= 5 // another call has waited already
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	defer time.AfterFunc(tellAfter, func() {
		if s.tell != nil && s.told.CompareAndSwap(false, true) {
			s.tell(fmt.Errorf("%s: %w", what, ErrAway))
		}
	}).Stop()
	for limit, pause := 2*time.Second, 2*time.Millisecond; ; limit, pause = 2*limit, min(2*pause, time.Second) {
		once, done := context.WithTimeout(ctx, limit)
		err := try(once)
		done()
		if err != nil && s.failed != nil {
			err = s.failed(err)
		}
		var answer known
		answered := errors.As(err, &answer)
		if answered || err == nil {
			s.away.Store(0)
			s.told.Store(false)
		}
		if answered {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // and not that time is over
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			if caller.Err() == nil && patience == s.patience {
				s.away.Store(time.Now().UnixNano())
			}
			return fmt.Errorf("%s: %w: %w", what, ErrAway, last)
		}
	}
}

// tellAfter is the time after which people are told that a call has no answer yet.
const tellAfter = time.Second

// Tell has a store that Open returned call f when a call has no answer for a second, once until the next answer.
func Tell(opened Store, f func(error)) {
	if s, is := opened.(*store); is {
		s.tell = f
	}
}

// Count returns what this process has asked of a store that Open returned.
func Count(opened Store) (a buckets.Asked) {
	if s, is := opened.(*store); is {
		if s.asked != nil {
			a = s.asked()
		}
		a.Conflicts = s.taken.Load()
	}
	return a
}

func (s *store) Create(ctx context.Context, stream string, n int, data []byte) error {
	if len(data) == 0 || len(data) > MostBytes {
		return fmt.Errorf("share: a text has 1 to %d bytes, not %d", MostBytes, len(data))
	}
	if err := check(stream, n); err != nil {
		return err
	}
	if err := s.prove(ctx, stream, n); err != nil {
		return fmt.Errorf("create %s %d: %w", stream, n, err)
	}
	return s.put(ctx, stream, n, data)
}

// put is Create in a store that is known to be one.
func (s *store) put(ctx context.Context, stream string, n int, data []byte) error {
	text := frame(data)
	err := s.insist(ctx, fmt.Sprintf("create %s %d", stream, n), func(ctx context.Context) error {
		failed := s.create(ctx, stream, n, text)
		if failed == nil {
			return nil
		}
		there, err := s.get(ctx, stream, n)
		newest := 0
		if err == ErrMissing {
			newest, _ = s.newest(ctx, stream)
		}
		switch {
		case newest > n, err == nil && !bytes.Equal(there, text): // a pack holds n, or another text has it
			s.taken.Add(1)
			return ErrTaken
		case err == nil:
			return nil
		}
		return failed
	})
	if err == nil {
		s.watched.CompareAndSwap(stream, n-1, n)
	}
	return err
}

// frame puts the length of a text before it: a text that was cut off shows.
func frame(data []byte) []byte { return append(fmt.Appendf(nil, "lethe 1 %d\n", len(data)), data...) }

// mostFramed is more bytes than a text has with its frame.
const mostFramed = MostBytes + 64

func (s *store) Get(ctx context.Context, stream string, n int) (data []byte, err error) {
	if err := check(stream, n); err != nil {
		return nil, err
	}
	err = s.insist(ctx, fmt.Sprintf("get %s %d", stream, n), func(ctx context.Context) error {
		text, err := s.get(ctx, stream, n)
		_, data, _ = bytes.Cut(text, []byte("\n"))
		if err == nil && !bytes.Equal(frame(data), text) {
			return ErrDamaged
		}
		return err
	})
	return data, err
}

func (s *store) Newest(ctx context.Context, stream string, after int) (n int, err error) {
	if err := check(stream, 1); err != nil {
		return 0, err
	}
	err = s.insist(ctx, "find the newest of "+stream, func(ctx context.Context) error {
		n, err = s.newest(ctx, stream)
		return err
	})
	if n > 0 {
		n = max(n, after)
	}
	return n, err
}

func (s *store) Numbers(ctx context.Context, stream string) (all []int, err error) {
	if err := check(stream, 1); err != nil {
		return nil, err
	}
	err = s.insist(ctx, "list "+stream, func(ctx context.Context) error {
		all, err = s.numbers(ctx, stream)
		return err
	})
	return all, err
}

func (s *store) Watch(ctx context.Context, stream string) <-chan struct{} {
	look := make(chan struct{}, 1)
	signal := func() {
		select {
		case look <- struct{}{}:
		default: // one waits already
		}
	}
	go s.look(ctx, signal, stream)
	return look
}

// look asks for the next text of a stream until ctx ends, less often the longer nobody made one: what is made here may be
// answered. It lists at first, and now and then: that text may be in a pack already.
func (s *store) look(ctx context.Context, signal func(), stream string) {
	calm := 10 * time.Second
	if s.watch != nil {
		s.watch(ctx, signal, stream)
		calm *= 3
	}
	signal()
	seen, news, asked := 0, time.Now(), time.Now()
	for k := 0; ; k++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		if own, _ := s.watched.LoadOrStore(stream, 0); own.(int) > seen {
			seen, news = own.(int), time.Now()
		}
		if time.Since(asked) < min(calm, time.Since(news)/10) {
			continue
		}
		asked = time.Now()
		n := seen
		if n == 0 || k%100 == 0 {
			newest, _ := s.Newest(ctx, stream, n)
			n = max(n, newest)
		}
		for err := error(nil); err == nil || errors.Is(err, ErrDamaged); n++ { // what is damaged is news, too
			_, err = s.Get(ctx, stream, n+1)
		}
		if n--; n > seen {
			seen, news = n, time.Now()
			s.watched.Store(stream, n)
			signal()
		}
	}
}

func (s *store) Delete(ctx context.Context, stream string, upto int, keep func(n int) bool) error {
	if err := check(stream, upto); err != nil {
		return err
	}
	return away("delete texts of "+stream, s.remove(ctx, stream, upto, keep))
}

func (s *store) Drop(ctx context.Context, stream string) error {
	if err := check(stream, 1); err != nil {
		return err
	}
	return away("drop "+stream, s.remove(ctx, stream, MostNumber, nil))
}

func (s *store) List(ctx context.Context, prefix string) ([]string, error) {
	names, err := s.list(ctx, prefix)
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, prefix) || check(name, 1) != nil
	})
	slices.Sort(names)
	return names, away("list streams", err)
}

func away(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w: %w", what, ErrAway, err)
	}
	return err
}

func (s *store) Close() error {
	s.close()
	return nil
}
