package stdin

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/chat"
)

// news is what has changed in the files since the last news. The statuses in
// it were read before the lines: an agent that is seen idle has its answer
// among the lines that were seen by then.
type news struct {
	Room   string
	Agents []agent  // that run, wherever they listen
	Rooms  []string // of the home
	Lines  []message
	Fresh  bool  // Lines are the end of the room, not what followed earlier news
	Err    error // the room could not be read
}

// sent tells how a say ended: where the line lies in the room, or Err.
type sent struct {
	Room, Text string
	To         int64
	Err        error
}

// request is an order to a feed; exactly one of its fields is used.
type request struct {
	room string // view this room
	say  string // append this text to the viewed room
}

// feed turns the files of a home into messages for a reader, and what the
// reader says into lines. Orders are carried out one after the other, in the
// order they were given.
type feed struct {
	cfg    Config
	emit   func(any) // news and sent; called from Run's goroutine only
	orders chan request

	// Run's own.
	watcher *chat.Watcher
	changed <-chan struct{}
	unwatch func()
	dirs    []string // of the identities, watched
	room    *room
	seen    news // the last one, without its lines
}

func newFeed(cfg Config, emit func(any)) *feed {
	return &feed{cfg: cfg, emit: emit, orders: make(chan request, 256)}
}

// do gives an order; it blocks only while 256 others wait.
func (f *feed) do(r request) { f.orders <- r }

// Run reports until ctx ends. It reads files only when one changed, an order
// came, or the slow poll came round.
func (f *feed) Run(ctx context.Context) error {
	f.watcher = chat.NewWatcher(f.cfg.Poll, nil)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.watcher.Run(ctx) })
	g.Go(func() error { f.loop(ctx); return nil })
	return g.Wait()
}

func (f *feed) loop(ctx context.Context) {
	f.list()
	defer func() { f.unwatch() }()
	f.open(f.cfg.Room)
	poll := time.NewTicker(f.cfg.Poll) // for what dies without writing
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-f.changed:
		case r := <-f.orders:
			f.look()
			f.serve(r)
			continue
		}
		f.look()
	}
}

// list finds the identities and rooms there are, and watches them.
func (f *feed) list() {
	root := filepath.Join(f.cfg.Home, "agents")
	entries, _ := os.ReadDir(root) // no directory is no identities
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(root, e.Name()))
	}
	if f.unwatch == nil || !slices.Equal(dirs, f.dirs) {
		scopes := []chat.Scope{{Dir: chat.Dir(f.cfg.Home)}, {Dir: root}}
		for _, dir := range dirs {
			scopes = append(scopes, chat.Scope{Dir: dir, Names: []string{"status.json", "live.md"}})
		}
		old := f.unwatch
		f.changed, f.unwatch = f.watcher.Subscribe(scopes...)
		if old != nil {
			old()
		}
		f.dirs = dirs
	}
	f.seen.Agents = readAgents(dirs)
	f.seen.Rooms = roomNames(f.cfg.Home)
}

// look reports what is new.
func (f *feed) look() {
	before := f.seen
	f.list()
	lines, fresh, err := f.room.next()
	f.seen.Err = err
	if len(lines) > 0 || fresh || !reflect.DeepEqual(before, f.seen) {
		f.report(news{Lines: lines, Fresh: fresh})
	}
}

// open views a room from its end.
func (f *feed) open(name string) {
	f.room = newRoom(f.cfg, name)
	lines, err := f.room.last(history)
	f.seen.Err = err
	f.report(news{Lines: lines, Fresh: true})
}

// report completes n with what is known and sends it off.
func (f *feed) report(n news) {
	n.Room, n.Agents, n.Rooms, n.Err = f.room.name, f.seen.Agents, f.seen.Rooms, f.seen.Err
	f.emit(n)
}

// roomNames lists the rooms of a home, by name.
func roomNames(home string) []string {
	entries, _ := os.ReadDir(chat.Dir(home)) // no directory is no rooms
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), chat.FileName("")); ok && chat.ValidRoom(name) {
			names = append(names, name)
		}
	}
	return names
}

func (f *feed) serve(r request) {
	switch {
	case r.room != "":
		f.open(r.room)
	case r.say != "":
		to, err := f.room.say(f.cfg.User, r.say)
		f.emit(sent{Room: f.room.name, Text: r.say, To: to, Err: err}) // before its line is news
		f.look()
	}
}
