// Package hosts has several machines share a home: each life goes on at one of them, rooms are the same at all.
//
//	s := hosts.New(&h, conf, hosts.Options{})  // h.Shared is set; nothing is connected yet
//	err := s.Run(ctx)                          // keeps the rooms, and says that this host is there
//	err = s.Take(ctx, "ada")                   // ada goes on here
//
// What hosts have in common is in a store of package share: see package lives for what makes a life safe from a host that
// was asleep, and package rooms for the order of rooms. docs/machines.md is for people who run it.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/lives"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
)

// Config is the table [share] of config.toml.
type Config struct {
	URL       string   `toml:"url"`       // of the store; "" shares nothing
	Plain     bool     `toml:"plain"`     // nothing is encrypted
	To        []string `toml:"to"`        // age recipients who can read the store, beside share.key
	Standby   bool     `toml:"standby"`   // take the lives of a host that is silent
	Workspace *int64   `toml:"workspace"` // megabytes that are stored of each; 64 unless said
}

// Shared is a home that several hosts share, as one of them sees it.
type Shared struct {
	Host streams.Host

	conf   Config
	home   home.Home
	texts  *blobs.Store
	log    *slog.Logger
	rooms  *rooms.Rooms
	lives  *lives.Lives
	counts counts

	alone    atomic.Bool // no other host says that it is there
	renewed  int         // the number of the newest lease of this host; 0: it is not known
	drains   int         // bytes of askedRoom that hold no drain for this process; -1: it has not looked
	standing standing

	mu      sync.Mutex
	lasting context.Context // ends a moment after the program
	store   share.Store     // nil until it is needed
	roster  roster
}

// New has a home be shared as its configuration says.
func New(h *home.Home, conf Config, store *blobs.Store, log *slog.Logger) *Shared {
	s := &Shared{conf: conf, texts: store, log: log, lasting: context.Background()}
	h.Shared = s
	s.home = *h
	most := int64(64)
	if conf.Workspace != nil {
		most = *conf.Workspace
	}
	s.rooms = &rooms.Rooms{Dir: h.Dir, Store: store, Log: log}
	s.lives = &lives.Lives{Home: s.home, Log: log, Most: most << 20, Took: s.took, Shipped: s.counts.committed}
	return s
}

// lastWait is how long what has begun may go on when the program ends.
var lastWait = 2 * time.Second

// Until has calls that are given no context end a moment after ctx.
func (s *Shared) Until(ctx context.Context) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(lastWait, cancel) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lasting = lasting
}

// lasts returns a context that ends: ctx, or one of the program.
func (s *Shared) lasts(ctx context.Context) context.Context {
	if ctx.Done() != nil {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lasting
}

func (s *Shared) untilEnd() context.Context { return s.lasts(context.Background()) }

// connect opens the store, at first use.
func (s *Shared) connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return nil
	}
	host, err := thisHost(s.home.Dir)
	if err != nil {
		return err
	}
	all := &streams.Streams{}
	if !s.conf.Plain {
		if all.Keys, err = streams.LoadKeys(s.home.Dir, s.conf.To); err != nil {
			return err
		}
	}
	if all.Store, err = share.Open(s.conf.URL, 0); err != nil {
		return err
	}
	s.Host, s.store = host, all.Store
	s.rooms.Streams, s.rooms.Host = all, host
	s.lives.Streams, s.lives.Host = all, host
	return nil
}

// Close closes the store.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}

// thisHost returns the name of this host in the home, and gives it one at first. A copy of the home has another inode, and
// is another host.
func thisHost(dir string) (h streams.Host, err error) {
	share := filepath.Join(dir, "share")
	if err := durable.MkdirAll(share, 0o700); err != nil {
		return h, err
	}
	fi, err := os.Stat(share)
	if err == nil {
		h.Label, err = os.Hostname()
	}
	if err != nil {
		return h, err
	}
	path := fmt.Sprintf("%s/host-%d", share, fi.Sys().(*syscall.Stat_t).Ino)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) { // of processes that begin together, one creates it
		err = durable.Create(path, []byte(streams.Nonce()), 0o600)
		if err == nil || errors.Is(err, fs.ErrExist) {
			text, err = os.ReadFile(path)
		}
	}
	h.ID = string(text)
	return h, err
}

// Hold is home.Sharing's. It has the other hosts know what the store says of the life.
func (s *Shared) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (home.Custody, error) {
	ctx = s.lasts(ctx)
	if err := s.connect(); err != nil {
		return nil, err
	}
	c, err := s.lives.Hold(ctx, id, store)
	if err == nil {
		err = s.rooms.Pull(ctx) // the life has heard what another host had
	}
	if err == nil && c.Whole() {
		s.took(id, s.Host, c.Number())
	} else if err == nil {
		err = s.alike(id)
	}
	if err != nil {
		return nil, away("open "+id.Name, err)
	}
	return &custody{c, s}, nil
}

// away has an error say that the store is away, if it does.
func away(what string, err error) error {
	if errors.Is(err, share.ErrAway) {
		err = fmt.Errorf("%s: %w: %w", what, home.ErrAway, err)
	}
	return err
}

// custody is that of a life, in whose home rooms are shared, too.
type custody struct {
	*lives.Custody
	shared *Shared
}

// Open is home.Custody's.
func (c *custody) Open(ctx context.Context, log *life.Log, state *mind.State) (int, error) {
	return c.Custody.Open(c.shared.lasts(ctx), log, state)
}

// Erased is home.Custody's. It asks the other hosts to read anew what they have.
func (c *custody) Erased(ctx context.Context) error {
	err := c.Custody.Erased(ctx)
	if err == nil {
		err = c.shared.rooms.Erased(ctx)
	}
	if err == nil {
		err = c.shared.tell(ctx, askedRoom, asked{Reread: c.Custody.Self(), From: c.shared.Host.ID, At: time.Now().UTC()})
	}
	return err
}

// Settle prepares the home for an erasure.
func (s *Shared) Settle(ctx context.Context) error {
	err := s.Sync(ctx)
	if err == nil {
		err = s.rooms.Settle(ctx)
	}
	return err
}

// Sync publishes what was appended to rooms here, and brings what others have said.
func (s *Shared) Sync(ctx context.Context) error {
	err := s.connect()
	if err == nil {
		err = away("share the rooms", s.rooms.Sync(ctx))
	}
	return err
}

// refreshTime is how long somebody waits who wants to look.
const refreshTime = 3 * time.Second

// Refresh is Sync for who does not wait for long, unless a process of this host serves.
func (s *Shared) Refresh(ctx context.Context) error {
	if s.served() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	return s.Sync(ctx)
}

// Away is home.Sharing's: as the process that serves has found it last.
func (s *Shared) Away() bool { return ReadStatus(s.home.Dir).Away != "" }

// Room is home.Sharing's.
func (s *Shared) Room(room string) string { return rooms.Path(s.home.Dir, room) }

// Post is home.Sharing's.
func (s *Shared) Post(room string, line []byte, from chat.Mark) (at, to int64, err error) {
	if err := s.connect(); err != nil {
		return 0, 0, err
	}
	return s.rooms.Post(s.untilEnd(), room, line, from)
}

// Ledger is home.Sharing's.
func (s *Shared) Ledger() home.Ledger { return ledger{s} }

// serving is the lock of the one process of this host that serves. It is not taken yet.
func (s *Shared) serving() *flock.Flock {
	return durable.Lock(filepath.Join(s.home.Dir, "share", "serving.lock"))
}

// served reports whether a process of this host serves.
func (s *Shared) served() bool {
	lock := s.serving()
	defer lock.Close()
	free, err := lock.TryRLock()
	return !free && err == nil
}

// Serve keeps the rooms, says that this host is there, shares all lives, and takes some where it stands by, until ctx ends
// or the host is drained. One process of a host does so at a time. changed is raised when something was appended to a room.
func (s *Shared) Serve(ctx context.Context, changed <-chan struct{}) error {
	if err := s.connect(); err != nil {
		return err
	}
	lock := s.serving()
	_, err := lock.TryLockContext(ctx, 2*time.Second)
	if ctx.Err() != nil {
		lock.Close()
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve the home to its hosts: %w", err)
	}
	defer lock.Close()
	s.drains = -1
	serving, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end()
	for _, f := range []func(context.Context){s.keepLease, s.lookAround, s.shareAll} {
		beside.Go(func() { f(serving) })
	}
	err = s.rounds(ctx, changed, func(ctx context.Context) error {
		err := s.rooms.Sync(ctx)
		s.counts.change(s.home.Dir, func(now *Status) { now.reached(err, &now.Synced) })
		if err == nil {
			err = s.obey(ctx)
		}
		return err
	})
	if errors.Is(err, ErrDrained) {
		end()
		beside.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
		defer cancel()
		if err := s.renew(last, renewEvery, true); err != nil {
			s.log.Warn("other hosts take what was here when this one is silent", "error", err)
		}
	}
	return err
}

// Follow shares the rooms while no process of this host serves, until ctx ends. If it attends, it also says that the host
// is there, until that is drained.
func (s *Shared) Follow(ctx context.Context, changed <-chan struct{}, attends bool) error {
	if err := s.connect(); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end(nil)
	if attends {
		beside.Go(func() { end(s.attend(ctx)) })
	}
	err := s.rounds(ctx, changed, func(ctx context.Context) error {
		if s.served() {
			return nil
		}
		return s.rooms.Sync(ctx)
	})
	if errors.Is(context.Cause(ctx), ErrDrained) {
		err = ErrDrained
	}
	return err
}

// rounds calls f whenever there may be something new in a room, until ctx ends or the host is drained.
func (s *Shared) rounds(ctx context.Context, changed <-chan struct{}, f func(context.Context) error) error {
	told, trouble := s.store.Watch(ctx, rooms.Stream), ""
	for {
		err, wait := f(ctx), time.Minute
		switch was := trouble; {
		case errors.Is(err, ErrDrained):
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if trouble, wait = err.Error(), time.Second; trouble != was {
				s.log.Warn("this host is behind others", "error", err)
			}
		default:
			trouble = ""
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-told:
		case <-time.After(wait):
		}
	}
}
