package chat

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	lost chan struct{} // a watch was lost: do not wait for the poll

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
	dir  fs.FileInfo            // of the directory that the watch is on; nil without a watch
	seen map[string]fs.FileInfo // its entries that subscribers want, as last seen
}

// names is a set of entries; nil stands for all.
type names map[string]bool

func (n names) has(name string) bool { return n == nil || n[name] }

type subscription struct {
	changed chan struct{} // capacity 1: a signal that is not taken yet stands for all later ones
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
		lost:   make(chan struct{}, 1),
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
			d = &watched{subs: map[*subscription]names{}, seen: map[string]fs.FileInfo{}}
			w.dirs[dir] = d
		}
		dirs = append(dirs, dir)
		wanted, twice := d.subs[s]
		if len(sc.Names) == 0 || twice && wanted == nil {
			d.subs[s] = nil
			continue
		}
		if !twice {
			wanted = names{}
			d.subs[s] = wanted
		}
		for _, name := range sc.Names {
			wanted[name] = true
		}
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
		case <-w.lost:
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
	dir, name := filepath.Split(ev.Name)
	dir = filepath.Clean(dir)
	w.mu.Lock()
	self, parent := w.dirs[ev.Name], w.dirs[dir]
	if self != nil { // of the watched directory itself
		if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
			self.dir = nil // its watch has gone with it
		}
		self.signal("")
		select {
		case w.lost <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
	if parent != nil {
		w.look(parent, dir, name, true)
	}
}

func (w *Watcher) signalAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.dirs {
		d.signal("")
	}
}

// signal tells those who want the entry, or all where it is "".
func (d *watched) signal(name string) {
	for s, names := range d.subs {
		if name == "" || names.has(name) {
			s.signal()
		}
	}
}

func (w *Watcher) checkAll() {
	w.mu.Lock()
	dirs := slices.Collect(maps.Keys(w.dirs))
	w.mu.Unlock()
	for _, dir := range dirs {
		w.check(dir)
	}
}

// check sees to it that dir is watched, if it exists, and looks at its entries and
// at those that were there.
func (w *Watcher) check(dir string) {
	d := w.rewatch(dir)
	if d == nil {
		return
	}
	names := map[string]bool{}
	entries, _ := os.ReadDir(dir) // a missing directory has no entries
	for _, e := range entries {
		names[e.Name()] = true
	}
	w.mu.Lock()
	for name := range d.seen {
		names[name] = true
	}
	w.mu.Unlock()
	for name := range names {
		w.look(d, dir, name, false)
	}
}

// look compares an entry with the last look and signals its subscribers if it
// differs, or in any case when sure. It looks before it signals, so whatever was
// seen has been signalled since.
func (w *Watcher) look(d *watched, dir, name string, sure bool) {
	w.mu.Lock()
	wanted := d.wants(name)
	w.mu.Unlock()
	if !wanted {
		return
	}
	now, err := os.Stat(filepath.Join(dir, name)) // a room kept elsewhere changes without an event here
	if err != nil {
		if now, err = os.Lstat(filepath.Join(dir, name)); err != nil {
			now = nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !sure && sameLook(d.seen[name], now) {
		return
	}
	if now == nil {
		delete(d.seen, name)
	} else {
		d.seen[name] = now
	}
	d.signal(name)
}

func (d *watched) wants(name string) bool {
	for _, names := range d.subs {
		if names.has(name) {
			return true
		}
	}
	return false
}

func sameLook(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// rewatch puts a watch on dir if it has none, or has one on a directory that is no
// longer there under this name. It returns nil when nobody subscribes to dir.
func (w *Watcher) rewatch(dir string) *watched {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.mu.Lock()
	d := w.dirs[dir]
	var was fs.FileInfo
	if d != nil {
		was = d.dir
	}
	w.mu.Unlock()
	if d == nil || w.notify == nil {
		return d
	}
	now, err := os.Stat(dir)
	if err != nil || !now.IsDir() {
		now = nil
	}
	if now == nil && was == nil || now != nil && was != nil && os.SameFile(was, now) && slices.Contains(w.notify.WatchList(), dir) {
		return d
	}
	_ = w.notify.Remove(dir) // of the old directory, if any
	if now != nil {
		if err := w.notify.Add(dir); err != nil {
			now = nil // the poll tries again
			if !w.warned[dir] {
				w.warned[dir] = true
				w.log.Warn("no file events for a directory, polling it", "dir", dir, "every", w.poll, "err", err)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.dir = now; now != nil || was != nil {
		d.signal("")
	}
	return d
}
