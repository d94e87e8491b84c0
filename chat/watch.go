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

// DefaultPoll is how often a Watcher looks where events do not tell.
const DefaultPoll = 2 * time.Second

// Watcher tells subscribers that something in a directory changed. A process
// needs one, for all its rooms and identities.
//
// It watches directories: a watch on a file ends when an editor replaces the
// file. Where the system's events do not tell of each change it looks at the subscribed files every few
// seconds (names, sizes, times, nothing is read): on file systems not known to give them, as networks' are (see told),
// where the system refuses a watch, while a directory is missing, and for links that leave the watched directories.
type Watcher struct {
	poll   time.Duration
	anyway time.Duration // how often everybody looks, whatever was told: an event that is lost makes nobody deaf for good
	log    *slog.Logger
	open   func() (*fsnotify.Watcher, error)
	ahead  func() time.Duration // how much more than time that passed the clock has gone on; it jumps when the clock is put
	wake   chan struct{}        // has one when a directory is doubted

	// addMu serialises changes of watches and looks, and guards notify and warned. It
	// is taken before mu. Whoever receives events must not wait for it: fsnotify
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
	subs    []subscription
	doubted bool                   // events may not tell of all that changes in it: it is looked at
	seen    map[string]fs.FileInfo // its entries that subscribers want, as last seen, while it is doubted
}

func (d *watched) wants(name string) bool {
	return slices.ContainsFunc(d.subs, func(s subscription) bool { return s.wants(name) })
}

type subscription struct {
	changed chan struct{} // capacity 1: a signal that is not taken yet stands for all later ones
	names   []string      // none: all
}

func (s subscription) wants(name string) bool {
	return name == "" || len(s.names) == 0 || slices.Contains(s.names, name)
}

func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// NewWatcher returns a watcher that looks every poll (0: DefaultPoll) where it must, and
// everywhere at each 30th. It starts nothing: see Run. log may be nil.
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
// scopes may have changed. It has one already: who subscribes reads once.
// It gets one, too, when the machine has slept or its clock was put.
// Values coalesce, so each means "look at everything"; a look that starts after
// receiving one sees the change it stands for. The subscriber may be as slow as
// it likes. A change may be told twice, by its event and by the poll.
//
// The scopes of a subscription do not change: to hear other rooms, subscribe
// again and cancel the old one. After cancel no value is sent but one on its way; the
// channel is not closed. Subscribe and cancel may be called at any time, Run or not.
func (w *Watcher) Subscribe(scopes ...Scope) (changed <-chan struct{}, cancel func()) {
	signal := make(chan struct{}, 1)
	var dirs []string
	for _, sc := range scopes {
		dir := realDir(sc.Dir)
		dirs = append(dirs, dir)
		w.mu.Lock()
		d := w.dirs[dir]
		if d == nil {
			d = &watched{}
			w.dirs[dir] = d
		}
		d.subs = append(d.subs, subscription{signal, sc.Names})
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
		d := w.dirs[dir]
		if d == nil { // an earlier scope, or call of cancel, has dropped it
			continue
		}
		d.subs = slices.DeleteFunc(d.subs, func(s subscription) bool { return s.changed == signal })
		if len(d.subs) == 0 {
			delete(w.dirs, dir)
			last = append(last, dir)
		}
	}
	w.mu.Unlock()
	for _, dir := range last {
		if w.notify != nil {
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
			w.use(nil)
			_ = notify.Close()
			<-received
		}()
		w.use(notify)
	}
	w.doubtAll() // for what happened before the watches
	stop := clockPut(func() { raise(w.wake) })
	if stop != nil {
		defer stop()
	}
	anyway := time.NewTicker(w.anyway) // whatever comes between: what one is told says nothing of what was lost
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
			w.doubtAll() // the machine has slept, or its clock was put: who waits for a time counts anew
		}
	}
}

func (w *Watcher) use(notify *fsnotify.Watcher) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.notify = notify
}

// receive turns events into signals until a channel closes, as both do at the end. It
// takes no lock but mu.
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
	if d := w.dirs[ev.Name]; d != nil { // of the watched directory itself: it was removed, moved or made
		d.signal("", raise)
		w.doubt(d)
	}
	if d := w.dirs[filepath.Clean(dir)]; d != nil {
		if ev.Has(fsnotify.Create) && d.wants(name) {
			if _, err := os.Readlink(ev.Name); err == nil { // a link
				w.doubt(d)
			}
		}
		d.signal(name, raise)
	}
}

// doubt has Run look at a directory soon.
func (w *Watcher) doubt(d *watched) {
	d.doubted = true
	raise(w.wake)
}

// doubtAll has Run signal everybody soon, once all is watched that can be.
func (w *Watcher) doubtAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.dirs {
		d.seen = nil
		w.doubt(d)
	}
}

// signal tells those who want the entry, or all where it is "".
func (d *watched) signal(name string, tell func(chan struct{})) {
	for _, s := range d.subs {
		if s.wants(name) {
			tell(s.changed)
		}
	}
}

// checkDoubted looks at all that events may not tell of, and reports whether some of it stays so.
func (w *Watcher) checkDoubted() (still bool) {
	w.mu.Lock()
	dirs := maps.Clone(w.dirs)
	maps.DeleteFunc(dirs, func(_ string, d *watched) bool { return !d.doubted })
	w.mu.Unlock()
	changed := map[chan struct{}]bool{} // who has several directories is woken once
	for dir := range dirs {
		still = w.check(dir, func(s chan struct{}) { changed[s] = true }) || still
	}
	for s := range changed {
		raise(s)
	}
	return still
}

// check sees to it that dir is watched, if it exists. Where events may not tell of all, which it reports, and where
// they may not have, it has those told who want an entry that is not what it was at the last check, or all when that
// is not known.
func (w *Watcher) check(dir string, tell func(chan struct{})) (doubted bool) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.mu.Lock()
	d := w.dirs[dir]
	if d == nil { // nobody subscribes to it any more
		w.mu.Unlock()
		return false
	}
	was := watched{slices.Clone(d.subs), d.doubted, d.seen}
	d.doubted = false // an event from here on doubts it anew
	w.mu.Unlock()
	doubted = !w.watch(dir)
	entries, _ := os.ReadDir(dir) // a missing directory has no entries
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !was.wants(e.Name()) })
	for _, e := range entries {
		doubted = doubted || e.Type()&fs.ModeSymlink != 0 && w.leadsOut(was.subs, filepath.Join(dir, e.Name()))
	}
	if !doubted && was.seen == nil { // events tell of all
		entries = nil
	}
	now := map[string]fs.FileInfo{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		fi, err := os.Stat(path)
		if err != nil {
			fi, err = os.Lstat(path)
		}
		if err == nil {
			now[e.Name()] = fi
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if was.doubted && was.seen == nil {
		d.signal("", tell)
	}
	for name, fi := range now {
		if !durable.Unchanged(was.seen[name], fi) {
			d.signal(name, tell)
		}
		delete(was.seen, name)
	}
	for name := range was.seen { // it has gone
		d.signal(name, tell)
	}
	if d.seen = now; d.doubted || !doubted { // an event meanwhile: all are told at the next check
		d.seen = nil
	}
	d.doubted = d.doubted || doubted
	return d.doubted
}

// leadsOut reports whether one of those who want a link is not told of what changes where it leads.
func (w *Watcher) leadsOut(subs []subscription, link string) bool {
	target, _ := os.Readlink(link) // "" leads to a directory
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	dir, name := realDir(filepath.Dir(target)), filepath.Base(target)
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(subs, func(s subscription) bool {
		told := func(t subscription) bool { return t.changed == s.changed && t.wants(name) }
		return s.wants(filepath.Base(link)) && (w.dirs[dir] == nil || !slices.ContainsFunc(w.dirs[dir].subs, told))
	})
}

// watch puts a watch on the directory that is under this name now. One that has it keeps it. It reports whether
// events tell of all that changes there.
func (w *Watcher) watch(dir string) bool {
	if w.notify == nil {
		return false
	}
	err := w.notify.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !w.warned[dir] { // the poll tries again
		w.warned[dir] = true
		w.log.Warn("no file events for a directory, polling it", "dir", dir, "every", w.poll, "err", err)
	}
	return err == nil && told(dir)
}
