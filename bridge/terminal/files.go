package terminal

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/secret"
)

// message is one line of a room.
type message = chat.Line

// news are the changes of the files since the last news. The statuses in
// it were read before the lines: an agent that is seen idle has its answer
// among the lines that were seen by then.
type news struct {
	Room   string
	Agents []agent  // that run, wherever they listen
	Rooms  []string // of the home
	Lines  []message
	Fresh  bool       // Lines are the end of the room, not what followed earlier news
	Acts   []ownEvent // of the identities that hear the room
	Err    error      // the room could not be read
}

// files are the files of a home that a chat looks at: one room, and the
// statuses of the identities.
type files struct {
	cfg     Config
	watcher *chat.Watcher
	changed <-chan struct{} // gets a value when look may find something new
	unwatch func()
	watched []chat.Scope
	path    string // of the room
	read    string // the file that its lines are read from
	cursor  chat.Cursor
	anew    bool                      // the room is read from its end
	seen    news                      // the last one, without its lines
	all     []agent                   // also the agents that do not run
	follows map[string]*events.Stream // by identity that hears the room; nil of a log that cannot be read
}

func newFiles(cfg Config) *files {
	watcher := chat.NewWatcher(cfg.Poll, nil)
	return &files{cfg: cfg, watcher: watcher, unwatch: func() {}, follows: map[string]*events.Stream{}}
}

// open has look view a room from its end.
func (f *files) open(room string) {
	f.path, f.seen.Room, f.anew = chat.Path(f.cfg.Home, room), room, true
	if f.read = f.path; f.cfg.Order != nil {
		f.read = f.cfg.Order(room)
	}
}

// look returns what there is, and whether anything of it is new.
func (f *files) look() (latest news, isNew bool) {
	before := f.seen
	f.list()
	lines, fresh, err := f.next()
	f.seen.Err = err
	latest = f.seen
	latest.Lines, latest.Fresh = lines, fresh
	if fresh {
		f.unfollow()
	}
	latest.Acts = f.happened() // after the lines: what they answer has happened
	changed := fresh || !reflect.DeepEqual(before, f.seen)
	return latest, changed || len(lines)+len(latest.Acts) > 0
}

// list finds the identities and rooms there are, by name, and watches them. An identity that does not run is stopped.
func (f *files) list() {
	f.all = nil
	scopes := []chat.Scope{{Dir: chat.Dir(f.cfg.Home)}}
	if f.read != f.path {
		scopes = append(scopes, chat.Scope{Dir: filepath.Dir(f.read), Names: []string{filepath.Base(f.read)}})
	}
	scopes = append(scopes, f.listIn(f.cfg.Home, f.cfg.Store)...)
	if f.cfg.Afar != "" {
		scopes = append(scopes, f.listIn(f.cfg.Afar, f.cfg.AfarStore)...)
	}
	sort.SliceStable(f.all, func(i, j int) bool { return f.all[i].Name+f.all[i].Self < f.all[j].Name+f.all[j].Self })
	if !reflect.DeepEqual(scopes, f.watched) {
		old := f.unwatch
		f.changed, f.unwatch = f.watcher.Subscribe(scopes...)
		old()
		f.watched = scopes
	}
	f.seen.Agents = slices.DeleteFunc(slices.Clone(f.all), func(a agent) bool { return a.State == status.Stopped })
	f.seen.Rooms = chat.All(f.cfg.Home)
}

// listIn adds the identities of a home, a copy in the place of what was left here when another host took it, and returns
// where their changes are seen.
func (f *files) listIn(home string, store *blobs.Store) (scopes []chat.Scope) {
	agents := filepath.Join(home, "agents")
	for s := range status.All(home) {
		who := agent{Status: s, dir: filepath.Join(agents, s.Self), store: store}
		if who.working() {
			who.Live = status.ReadLive(who.dir)
		}
		f.all = slices.DeleteFunc(f.all, func(left agent) bool { return left.Self == who.Self })
		f.all = append(f.all, who)
	}
	scopes = append(scopes, chat.Scope{Dir: agents})
	entries, _ := os.ReadDir(agents) // no directory is no identities; a new identity has no status yet
	for _, e := range entries {
		dir := filepath.Join(agents, e.Name())
		scopes = append(scopes, chat.Scope{Dir: dir, Names: []string{"status.json", status.LiveFile, "LIFE.md"}})
	}
	return scopes
}

// next returns what was appended since. When the room was opened, or is no longer the file that was read, fresh is
// true and the lines are its end.
func (f *files) next() (lines []message, fresh bool, err error) {
	for more := true; more; {
		if f.anew {
			_, _, cursor, err := chat.Tail(f.read, history)
			if err != nil {
				return nil, true, err
			}
			lines, fresh, f.cursor, f.anew = nil, true, cursor, false
		}
		batch, err := chat.Read(f.read, f.cursor, 1<<20) // so that a flood does not hold the reader
		if err != nil {
			return lines, fresh, err
		}
		if f.anew = batch.Restarted || batch.Realigned; !f.anew { // what another host said may stand before the cursor
			lines = append(lines, batch.Lines...)
			f.cursor, more = batch.Next, batch.More
		}
	}
	return lines, fresh, nil
}

// say appends text to the room and returns its line as it is read there.
func (f *files) say(text string) (message, error) {
	raw, err := chat.Format(false, f.cfg.User, time.Now(), secret.Text(text))
	if err != nil {
		return message{}, err
	}
	from, to, err := chat.Append(f.path, raw)
	there, unread := chat.After(f.path, from, 1)
	isThere := unread == nil && len(there) > 0
	if isThere && there[0].To == to { // a very long one is read up to a bound
		return there[0], err
	}
	return chat.Parse(raw), err
}

// agent is an identity that runs, as its status file shows it.
type agent struct {
	status.Status
	Live  status.Live // what is under way
	dir   string
	store *blobs.Store // nil: its acts are not told
}

func (a agent) working() bool {
	return a.State == status.Thinking || a.State == status.Acting
}

// done reports whether the agent has answered everything in room up to the byte offset to, if it ever will: it has
// heard all, and no turn for the room is under way. An answer is posted before this can be seen.
func (a agent) done(room string, to int64) bool {
	if a.working() || a.State == status.Starting {
		return false
	}
	return a.Heard[room] >= to && !slices.Contains(a.Answering, room)
}

// listeners are the agents that hear room; the one called self, a name or a
// hash, comes first.
func listeners(agents []agent, room, self string) []agent {
	var all []agent
	for _, who := range agents {
		isSelf := who.Name == self || who.Self == self
		switch {
		case !slices.Contains(who.Rooms, room):
		case self != "" && isSelf:
			all = append([]agent{who}, all...)
		default:
			all = append(all, who)
		}
	}
	return all
}

// names returns the names of agents.
func names(agents []agent) (all []string) {
	for _, a := range agents {
		all = append(all, oneLine(a.Name))
	}
	return all
}

// unsent is a text that could not be said.
type unsent struct {
	Text string
	Err  error
}

// request is an order; at most one of its fields is used.
type request struct {
	room string // view this room
	say  string // append this text to the viewed room
	end  error  // the input has ended, with io.EOF, or with what was wrong
}

// feed emits what is new in the files, as news and unsent, and carries out orders, in the order they
// were given, until ctx ends. It reads files only when one changed, an order came, or the slow poll
// came round.
func feed(ctx context.Context, cfg Config, orders <-chan request, emit func(any)) error {
	files := newFiles(cfg)
	defer files.unfollow()
	return files.run(ctx, request{room: cfg.Room}, orders, func(order request) error {
		if order.room != "" {
			files.open(order.room)
		}
		if order.say != "" {
			if _, err := files.say(order.say); err != nil {
				emit(unsent{order.say, err})
			}
		}
		if n, ok := files.look(); ok {
			emit(n)
		}
		return nil
	})
}

// run calls look with each order, and when files may have changed, until ctx ends or look fails.
func (f *files) run(ctx context.Context, order request, orders <-chan request, look func(request) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.watcher.Run(ctx) })
	group.Go(func() error {
		defer func() { f.unwatch() }()
		poll := time.NewTicker(f.cfg.Poll) // for what dies without writing
		defer poll.Stop()
		for {
			if err := look(order); err != nil {
				return err
			}
			order = request{}
			select {
			case <-ctx.Done():
				return nil
			case <-poll.C:
			case <-f.changed:
			case order = <-orders:
			}
		}
	})
	return group.Wait()
}
