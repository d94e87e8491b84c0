package chat

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// DefaultPoll is how often a Watcher looks by itself.
const DefaultPoll = 2 * time.Second

// Watcher tells subscribers that something in a directory changed. A process
// needs one, for all its rooms and identities.
//
// It watches directories: a watch on a file ends when an editor replaces the
// file. It also looks at the subscribed files every few seconds (names, sizes,
// times, nothing is read), for filesystems without events, for lost events and
// for directories that were removed and made again.
type Watcher struct {
	poll time.Duration
	log  *slog.Logger
	open func() (*fsnotify.Watcher, error)
	kick chan struct{} // a watch was lost: do not wait for the poll

	// addMu serialises changes of watches, and guards notify and warned. It is
	// taken before mu. Whoever receives events must not wait for it: fsnotify
	// can hold its own lock while it waits for the receiver of an error.
	addMu  sync.Mutex
	notify *fsnotify.Watcher // nil: Run is not running, or polls alone
	warned map[string]bool   // directories whose failing watch was reported

	mu   sync.Mutex
	dirs map[string]*watched // only those with a subscriber
}

// Scope is a part of the file tree: the entries of Dir with these Names, or all
// its entries when there are none. Dir need not exist yet.
type Scope struct {
	Dir   string
	Names []string
}

// watched is one directory. The Watcher's mu guards it.
type watched struct {
	subs map[*subscription]names
	// id is of the directory that the watch is on; zero without a watch.
	id   fileID
	seen map[string]sighting
}

// names is a set of entries; nil stands for all.
type names map[string]bool

func (n names) has(name string) bool { return n == nil || n[name] }

type subscription struct {
	changed chan struct{} // capacity 1: a signal that nobody took yet stands for all later ones
}

func (s *subscription) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// NewWatcher returns a watcher that looks by itself every poll (0: DefaultPoll).
// It starts nothing: see Run. log may be nil.
func NewWatcher(poll time.Duration, log *slog.Logger) *Watcher {
	if poll <= 0 {
		poll = DefaultPoll
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{
		poll:   poll,
		log:    log,
		open:   fsnotify.NewWatcher,
		kick:   make(chan struct{}, 1),
		warned: map[string]bool{},
		dirs:   map[string]*watched{},
	}
}

// Subscribe returns a channel that gets a value when something in one of the
// scopes may have changed. It has one already: who subscribes reads once.
// Values coalesce, so each means "look at everything"; a look that starts after
// receiving one sees the change it stands for. The subscriber may be as slow as
// it likes.
//
// The scopes of a subscription do not change: to hear other rooms, subscribe
// again and cancel the old one. After cancel no value is sent; the channel is
// not closed. Subscribe and cancel may be called at any time, Run or not.
func (w *Watcher) Subscribe(scopes ...Scope) (changed <-chan struct{}, cancel func()) {
	s := &subscription{changed: make(chan struct{}, 1)}
	var dirs []string
	w.mu.Lock()
	for _, sc := range scopes {
		dir := realDir(sc.Dir)
		d := w.dirs[dir]
		if d == nil {
			d = &watched{subs: map[*subscription]names{}, seen: map[string]sighting{}}
			w.dirs[dir] = d
		}
		dirs = append(dirs, dir)
		old, twice := d.subs[s]
		if len(sc.Names) == 0 || twice && old == nil {
			d.subs[s] = nil
			continue
		}
		if old == nil {
			old = names{}
		}
		for _, name := range sc.Names {
			old[name] = true
		}
		d.subs[s] = old
	}
	w.mu.Unlock()
	for _, dir := range dirs {
		w.check(dir)
	}
	s.signal()
	return s.changed, sync.OnceFunc(func() { w.drop(s, dirs) })
}

// realDir resolves links, since the kernel's events name the directory that
// was watched first, by whatever name.
func realDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return target
	}
	return dir
}

func (w *Watcher) drop(s *subscription, dirs []string) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	for _, dir := range dirs {
		w.mu.Lock()
		d := w.dirs[dir]
		last := false
		if d != nil {
			delete(d.subs, s)
			if last = len(d.subs) == 0; last {
				delete(w.dirs, dir)
			}
		}
		w.mu.Unlock()
		if last && w.notify != nil {
			_ = w.notify.Remove(dir) // it may have gone by itself
		}
	}
}

// Run watches until ctx is done, and then returns nil. Where the system gives
// no events it says so once in the log and polls.
func (w *Watcher) Run(ctx context.Context) error {
	notify, err := w.open()
	if err != nil {
		w.log.Warn("no file events, polling instead", "every", w.poll, "err", err)
	} else {
		received := make(chan struct{})
		go func() { // ends when notify is closed, below
			defer close(received)
			w.receive(notify)
		}()
		defer func() {
			w.addMu.Lock()
			w.notify = nil
			w.addMu.Unlock()
			_ = notify.Close()
			<-received
		}()
		w.addMu.Lock()
		w.notify = notify
		w.addMu.Unlock()
	}
	w.checkAll()
	w.signalAll() // for what happened before the watches

	tick := time.NewTicker(w.poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-w.kick:
		}
		w.checkAll()
	}
}

// receive turns events into signals until the channels close. It takes no lock
// but mu.
func (w *Watcher) receive(notify *fsnotify.Watcher) {
	events, errs := notify.Events, notify.Errors
	for events != nil || errs != nil {
		select {
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.event(ev)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Debug("file events overflowed, everybody reads")
			} else {
				w.log.Warn("file events failed, everybody reads", "err", err)
			}
			w.signalAll()
		}
	}
}

func (w *Watcher) event(ev fsnotify.Event) {
	dir, name := filepath.Dir(ev.Name), filepath.Base(ev.Name)
	w.mu.Lock()
	self, parent := w.dirs[ev.Name], w.dirs[dir]
	w.mu.Unlock()
	if self != nil {
		w.changedSelf(self, ev)
	}
	if parent != nil {
		w.look(parent, dir, name, true)
	}
}

// changedSelf is an event of a watched directory itself. When it was removed or
// moved, so was its watch.
func (w *Watcher) changedSelf(d *watched, ev fsnotify.Event) {
	w.mu.Lock()
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		d.id = fileID{}
	}
	for s := range d.subs {
		s.signal()
	}
	w.mu.Unlock()
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *Watcher) signalAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.dirs {
		for s := range d.subs {
			s.signal()
		}
	}
}
