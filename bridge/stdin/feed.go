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

// request is an order to a feed; exactly one of its fields is used.
type request struct {
	room  string // view this room
	say   string // append this text to the viewed room
	older bool   // tell what happened before what was told
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
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return files.watcher.Run(ctx) })
	g.Go(func() error { f.loop(ctx, files); return nil })
	return g.Wait()
}

func (f *feed) loop(ctx context.Context, files *files) {
	f.emit(files.open(f.cfg.Room))
	defer func() { files.unwatch(); files.unfollow() }()
	poll := time.NewTicker(f.cfg.Poll) // for what dies without writing
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-files.changed:
		case r := <-f.orders:
			switch {
			case r.room != "":
				f.emit(files.open(r.room))
			case r.older:
				f.emit(files.older())
			case r.say != "":
				if _, err := files.say(r.say); err != nil {
					f.emit(unsent{r.say, err})
				}
			}
		}
		if n, ok := files.look(); ok {
			f.emit(n)
		}
	}
}
