package stdin

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// unsent is a text that could not be said.
type unsent struct {
	Text string
	Err  error
}

// request is an order to a feed; at most one of its fields is used.
type request struct {
	room string // view this room
	say  string // append this text to the viewed room
	end  error  // the input has ended, with io.EOF, or with what was wrong
}

// feed tells the screen what is new in the files, and carries out its orders, in
// the order they were given.
type feed struct {
	cfg    Config
	emit   func(any) // news and unsent; called from Run's goroutine only
	orders chan request
}

func newFeed(cfg Config, emit func(any)) *feed {
	return &feed{cfg: cfg, emit: emit, orders: make(chan request, 256)}
}

// do gives an order; it blocks only while 256 others wait.
func (f *feed) do(r request) { f.orders <- r }

// Run reports until ctx ends. It reads files only when one changed, an order
// came, or the slow poll came round.
func (f *feed) Run(ctx context.Context) error {
	files := newFiles(f.cfg)
	defer files.unfollow()
	return files.run(ctx, request{room: f.cfg.Room}, f.orders, func(r request) error {
		if r.room != "" {
			f.emit(files.open(r.room))
		}
		if r.say != "" {
			if _, err := files.say(r.say); err != nil {
				f.emit(unsent{r.say, err})
			}
		}
		if n, ok := files.look(); ok {
			f.emit(n)
		}
		return nil
	})
}

// run calls look with each order, and when files may have changed, until ctx ends or look fails.
func (f *files) run(ctx context.Context, r request, orders <-chan request, look func(request) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.watcher.Run(ctx) })
	g.Go(func() error {
		defer func() { f.unwatch() }()
		poll := time.NewTicker(f.cfg.Poll) // for what dies without writing
		defer poll.Stop()
		for {
			if err := look(r); err != nil {
				return err
			}
			r = request{}
			select {
			case <-ctx.Done():
				return nil
			case <-poll.C:
			case <-f.changed:
			case r = <-orders:
			}
		}
	})
	return g.Wait()
}
