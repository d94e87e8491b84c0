package chat

import (
	"cmp"
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

	"lethe/internal/durable"
)

// DefaultPoll is the interval at which a Watcher polls if events may be missing.
const DefaultPoll = 2 * time.Second

// Watcher tells subscribers that something in a directory changed. A process
// needs one, for all its rooms and identities.
//
// It watches directories, since a watch on a file ends when an editor replaces the
// file. It polls the names, sizes and times of subscribed files if events may not
// tell of each change: on file systems that are not known to send events, such as
// networks' (see told), if the system refuses a watch, while a directory is
// missing, and for links that leave the watched directories.
type Watcher struct {
	poll   time.Duration
	anyway time.Duration // the interval at which it signals all subscribers, so that a lost event makes nobody deaf
	log    *slog.Logger
	open   func() (*fsnotify.Watcher, error)
	ahead  func() time.Duration // the wall clock's lead over the time that passed; it jumps when the clock is set
	wake   chan struct{}        // holds a signal while a doubted directory waits for Run

	// addMu serialises changes of watches and looks, and guards notify and warned. It
	// is taken before mu. The receiver of events must not wait for it: fsnotify can
	// hold its own lock while it waits for the receiver of an error.
	addMu  sync.Mutex
	notify *fsnotify.Watcher // nil if Run is not running, or only polls
	warned map[string]bool   // directories whose failing watch was reported

	mu   sync.Mutex
	dirs map[string]*watched // each has a subscriber
}

// Scope is a part of the file tree: the entries of Dir with these Names, or all
// its entries without Names. Dir need not exist yet.
type Scope struct {
	Dir   string
	Names []string
}

// watched is one directory. The Watcher's mu guards it.
type watched struct {
	subs    []subscription
	doubted bool                   // events may not tell of each change, so Run polls the directory
	seen    map[string]fs.FileInfo // while doubted: the last look at the entries that subscribers want
}

func (d *watched) wants(name string) bool {
	return slices.ContainsFunc(d.subs, func(s subscription) bool { return s.wants(name) })
}

type subscription struct {
	changed chan struct{} // capacity 1: a signal that waits there stands for all later ones
	names   []string      // empty: all
}

// wants reports whether a change of the entry name, or with "" of any entry, is for this subscription.
func (s subscription) wants(name string) bool {
	if name == "" || len(s.names) == 0 {
		return true
	}
	return slices.Contains(s.names, name)
}

func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// NewWatcher returns a watcher that polls at this interval (0: DefaultPoll), and signals all
// subscribers at each 30th. It starts nothing: see Run. log may be nil.
func NewWatcher(poll time.Duration, log *slog.Logger) *Watcher {
	if poll <= 0 {
		poll = DefaultPoll
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	began := time.Now()
	return &Watcher{
		poll:   poll,
		anyway: 30 * poll,
		log:    log,
		open:   fsnotify.NewWatcher,
		ahead:  func() time.Duration { return time.Now().Round(0).Sub(began.Round(0)) - time.Since(began) },
		wake:   make(chan struct{}, 1),
		warned: map[string]bool{},
		dirs:   map[string]*watched{},
	}
}

// Subscribe returns a channel that gets a value when something in one of the
// scopes may have changed. It holds one at first, so that the subscriber reads
// once. It also gets one when the machine has slept or its clock was set.
// Values coalesce, so each means "look at everything"; a look that starts after
// receiving one sees the change. The subscriber may be slow. It may get two values
// for one change, from the event and from the poll.
//
// The scopes of a subscription do not change: to hear other rooms, subscribe
// again and cancel the old one. After cancel the channel gets at most one more
// value; it is never closed. Subscribe and cancel may be called at any time, also
// without Run.
func (w *Watcher) Subscribe(scopes ...Scope) (changed <-chan struct{}, cancel func()) {
	signal := make(chan struct{}, 1)
	var dirs []string
	for _, scope := range scopes {
		dir := realDir(scope.Dir)
		dirs = append(dirs, dir)
		w.mu.Lock()
		dirWatch := w.dirs[dir]
		if dirWatch == nil {
			dirWatch = &watched{}
			w.dirs[dir] = dirWatch
		}
		dirWatch.subs = append(dirWatch.subs, subscription{signal, scope.Names})
		w.mu.Unlock()
		w.check(dir, raise)
	}
	raise(signal)
	raise(w.wake)
	return signal, func() { w.drop(signal, dirs) }
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

func (w *Watcher) drop(signal chan struct{}, dirs []string) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.mu.Lock()
	var last []string
	for _, dir := range dirs {
		dirWatch := w.dirs[dir]
		if dirWatch == nil { // an earlier scope or call of cancel has dropped it
			continue
		}
		dirWatch.subs = slices.DeleteFunc(dirWatch.subs, func(s subscription) bool { return s.changed == signal })
		if len(dirWatch.subs) == 0 {
			delete(w.dirs, dir)
			last = append(last, dir)
		}
	}
	w.mu.Unlock()
	for _, dir := range last {
		if w.notify != nil {
			_ = w.notify.Remove(dir) // a deleted directory has lost its watch
		}
	}
}

// Run watches until ctx is done, and then returns nil. If the system gives no
// events, it logs that once and polls.
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
			w.use(nil)
			_ = notify.Close()
			<-received
		}()
		w.use(notify)
	}
	w.doubtAll() // for changes before the watches
	stop := clockPut(func() { raise(w.wake) })
	if stop != nil {
		defer stop()
	}
	anyway := time.NewTicker(w.anyway) // not reset by events: one that arrives tells nothing about lost ones
	defer anyway.Stop()
	for ahead := w.ahead(); ; {
		var tick <-chan time.Time
		if w.checkDoubted() || stop == nil {
			tick = time.After(w.poll)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-anyway.C:
			w.doubtAll()
		case <-tick:
		case <-w.wake:
		}
		if now := w.ahead(); (now - ahead).Abs() > time.Second {
			ahead = now
			w.doubtAll() // the machine slept or its clock was set: subscribers that wait for a time look again
		}
	}
}

func (w *Watcher) use(notify *fsnotify.Watcher) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.notify = notify
}

// receive turns events into signals until a channel closes, as both do at the end. The
// only lock that it takes is mu.
func (w *Watcher) receive(notify *fsnotify.Watcher) {
	for {
		select {
		case ev, ok := <-notify.Events:
			if !ok {
				return
			}
			w.event(ev)
		case err, ok := <-notify.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Debug("file events overflowed, everybody reads")
			} else {
				w.log.Warn("file events failed, everybody reads", "err", err)
			}
			w.doubtAll()
		}
	}
}

func (w *Watcher) event(ev fsnotify.Event) {
	dir, name := filepath.Split(ev.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if dirWatch := w.dirs[ev.Name]; dirWatch != nil { // the watched directory itself was removed, moved or made
		dirWatch.signal("", raise)
		w.doubt(dirWatch)
	}
	if dirWatch := w.dirs[filepath.Clean(dir)]; dirWatch != nil {
		if ev.Has(fsnotify.Create) && dirWatch.wants(name) {
			if _, err := os.Readlink(ev.Name); err == nil { // a link
				w.doubt(dirWatch)
			}
		}
		dirWatch.signal(name, raise)
	}
}

// doubt makes Run look at a directory soon.
func (w *Watcher) doubt(d *watched) {
	d.doubted = true
	raise(w.wake)
}

// doubtAll makes Run signal all subscribers soon, after it has watched all directories that can be watched.
func (w *Watcher) doubtAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.dirs {
		d.seen = nil
		w.doubt(d)
	}
}

// signal calls tell for the subscribers that want the entry, or for all with "".
func (d *watched) signal(name string, tell func(chan struct{})) {
	for _, s := range d.subs {
		if s.wants(name) {
			tell(s.changed)
		}
	}
}

// checkDoubted looks at all doubted directories, and reports whether one of them stays doubted.
func (w *Watcher) checkDoubted() (still bool) {
	w.mu.Lock()
	dirs := maps.Clone(w.dirs)
	maps.DeleteFunc(dirs, func(_ string, d *watched) bool { return !d.doubted })
	w.mu.Unlock()
	changed := map[chan struct{}]bool{} // wakes a subscriber of several directories once
	for dir := range dirs {
		still = w.check(dir, func(s chan struct{}) { changed[s] = true }) || still
	}
	for s := range changed {
		raise(s)
	}
	return still
}

// check watches dir, if it exists, and reports whether events may not tell of each change in it. If that is or was so,
// check compares the entries with the last look and calls tell for the subscribers that want a changed one. Without a
// last look it calls tell for all.
func (w *Watcher) check(dir string, tell func(chan struct{})) (doubted bool) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.mu.Lock()
	dirWatch := w.dirs[dir]
	if dirWatch == nil { // its last subscriber has cancelled
		w.mu.Unlock()
		return false
	}
	was := watched{slices.Clone(dirWatch.subs), dirWatch.doubted, dirWatch.seen}
	dirWatch.doubted = false // a later event sets it again
	w.mu.Unlock()
	doubted = !w.watch(dir)
	entries, _ := os.ReadDir(dir) // a missing directory has no entries
	if !doubted {
		doubted = slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
			isLink := entry.Type()&fs.ModeSymlink != 0
			return isLink && w.leadsOut(was.subs, filepath.Join(dir, entry.Name()))
		})
	}
	if !doubted && was.seen == nil { // events tell of each change
		entries = nil
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return !was.wants(entry.Name()) })
	now := lookAt(dir, entries)
	w.mu.Lock()
	defer w.mu.Unlock()
	if was.doubted && was.seen == nil {
		dirWatch.signal("", tell)
	}
	for name, fi := range now {
		if !durable.Unchanged(was.seen[name], fi) {
			dirWatch.signal(name, tell)
		}
		delete(was.seen, name)
	}
	for name := range was.seen { // these entries are gone
		dirWatch.signal(name, tell)
	}
	dirWatch.seen = now
	if dirWatch.doubted || !doubted { // after an event meanwhile, the next check tells all subscribers
		dirWatch.seen = nil
	}
	dirWatch.doubted = dirWatch.doubted || doubted
	return dirWatch.doubted
}

// lookAt returns the present state of entries of dir by name. It follows links that lead to a file.
func lookAt(dir string, entries []fs.DirEntry) map[string]fs.FileInfo {
	now := map[string]fs.FileInfo{}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		fi, err := os.Stat(path)
		if err != nil {
			fi, err = os.Lstat(path)
		}
		if err == nil {
			now[entry.Name()] = fi
		}
	}
	return now
}

// leadsOut reports whether a subscriber wants a link and does not watch the file that the link leads to.
func (w *Watcher) leadsOut(subs []subscription, link string) bool {
	target, _ := os.Readlink(link) // "" leads to a directory
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	dir, name := realDir(filepath.Dir(target)), filepath.Base(target)
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(subs, func(sub subscription) bool {
		if !sub.wants(filepath.Base(link)) {
			return false
		}
		watches := func(other subscription) bool { return other.changed == sub.changed && other.wants(name) }
		target := w.dirs[dir]
		return target == nil || !slices.ContainsFunc(target.subs, watches)
	})
}

// watch puts a watch on the directory that now has this name, unless it has one. It reports whether events tell of each
// change in the directory.
func (w *Watcher) watch(dir string) bool {
	if w.notify == nil {
		return false
	}
	err := w.notify.Add(dir)
	if err == nil {
		return told(dir)
	}
	missing := errors.Is(err, fs.ErrNotExist) // the poll tries again
	if !missing && !w.warned[dir] {
		w.warned[dir] = true
		w.log.Warn("no file events for a directory, polling it", "dir", dir, "every", w.poll, "err", err)
	}
	return false
}
