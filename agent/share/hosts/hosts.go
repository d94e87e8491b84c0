// Package hosts has several machines share a home: each life goes on at one host, rooms are the same at all.
//
//	s := hosts.New(&h, conf, store, log) // h.Shared is set; nothing is connected yet
//	err := s.Serve(ctx, changed)         // keeps the rooms, and says that this host is there
//	id, err := s.Take(ctx, "ada")        // ada goes on here
//
// The hosts share a store of package share. Package lives keeps a life safe from a host that was asleep, package rooms
// keeps the order of rooms. docs/machines.md is for people who run it.
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
	"lethe/internal/seal"
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
	PutUSD    *float64 `toml:"put_usd"`   // for a thousand writes
}

// Cluster is the hosts of a home, as this host sees them.
type Cluster struct {
	Host streams.Host

	conf   Config
	home   home.Home
	texts  *blobs.Store
	log    *slog.Logger
	rooms  *rooms.Rooms
	lives  *lives.Lives
	counts counts
	leases leases

	drains   int // bytes of askedRoom that hold no drain for this process; -1: it has not looked
	standing standing

	mu        sync.Mutex
	lasting   context.Context  // ends a moment after the program
	streams   *streams.Streams // nil until they are needed
	roster    roster
	sightings sync.Map // by host: of Last
}

// New returns the Cluster of a home, and sets h.Shared.
func New(h *home.Home, conf Config, store *blobs.Store, log *slog.Logger) *Cluster {
	s := &Cluster{conf: conf, texts: store, log: log, lasting: context.Background()}
	h.Shared = s
	s.home, s.counts.file = *h, statusFile(h.Dir)
	s.standing.seen = map[string]int{}
	s.leases.renew, s.leases.look = make(chan struct{}, 1), make(chan struct{}, 1)
	s.leases.space = durable.Space{Dir: h.Dir, Size: 1 << 20}
	most := int64(64)
	if conf.Workspace != nil {
		most = *conf.Workspace
	}
	s.rooms = &rooms.Rooms{Dir: h.Dir, Store: store, Log: log}
	s.lives = &lives.Lives{Home: s.home, Log: log, Most: most << 20, OnTaken: s.onTaken, Shipped: s.counts.committed}
	s.lives.Erase = s.erased
	s.rooms.OnLoss = s.noteLoss
	s.lives.OnLoss = func(id home.Identity, what error) { s.noteLoss(fmt.Errorf("%s: %w", id.Name, what)) }
	return s
}

// lastWait bounds the time that a call may go on when the program ends.
var lastWait = 2 * time.Second

// Until ends calls that are given no context a moment after ctx.
func (s *Cluster) Until(ctx context.Context) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(lastWait, cancel) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lasting = lasting
}

// lasts returns ctx, or if that never ends, a context that ends with the program.
func (s *Cluster) lasts(ctx context.Context) context.Context {
	if ctx.Done() != nil {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lasting
}

func (s *Cluster) untilEnd() context.Context { return s.lasts(context.Background()) }

// connect opens the store, at first use.
func (s *Cluster) connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams != nil {
		return nil
	}
	host, err := thisHost(s.home.Dir)
	if err != nil {
		return err
	}
	all := &streams.Streams{}
	if !s.conf.Plain {
		if all.Keys, err = seal.Load(s.home.Dir, s.conf.To, true); err != nil {
			return err
		}
		all.Keys.Tell = func(err error) { s.log.Warn("share.key has changed, and does not count", "error", err) }
	}
	all.Store, err = share.Open(s.conf.URL, 0)
	if err != nil {
		return err
	}
	share.Tell(all.Store, func(err error) { s.log.Warn("the store of [share] does not answer yet", "error", err) })
	s.Host, s.streams = host, all
	s.rooms.Streams, s.rooms.Host = all, host
	s.lives.Streams, s.lives.Host = all, host
	return nil
}

// Close closes the store.
func (s *Cluster) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases.space.Close()
	if s.streams == nil {
		return nil
	}
	return s.streams.Close()
}

// thisHost returns the name of this host in the home, and gives it one at first. A copy of the home has another inode,
// and is another host.
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
	if os.IsNotExist(err) { // several processes may begin together: one creates it
		err = durable.Create(path, []byte(streams.Nonce()), 0o600)
		if err == nil || errors.Is(err, fs.ErrExist) {
			text, err = os.ReadFile(path)
		}
	}
	h.ID = string(text)
	return h, err
}

// Hold is home.Sharing's. It tells the other hosts where the life goes on, unless they know.
func (s *Cluster) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (home.Tenure, error) {
	ctx = s.lasts(ctx)
	if err := s.connect(); err != nil {
		return nil, err
	}
	c, err := s.lives.Hold(ctx, id, store)
	if err == nil {
		err = s.rooms.Pull(ctx) // the life may have heard lines at another host
	}
	if err == nil && c.Whole() {
		s.onTaken(id, s.Host, c.Number())
	} else if err == nil {
		err = s.alike(id)
	}
	if err != nil {
		return nil, away("open "+id.Name, err)
	}
	return &tenure{Tenure: c, cluster: s}, nil
}

// away adds home.ErrAway to an error of a store that is away.
func away(what string, err error) error {
	if share.IsAway(err) {
		err = fmt.Errorf("%s: %w: %w", what, home.ErrAway, err)
	}
	return err
}

// tenure is home.Tenure: a life, and the rooms of its home.
type tenure struct {
	*lives.Tenure
	cluster *Cluster
	compare context.CancelFunc // ends beside; nil before Open
	beside  sync.WaitGroup
}

// Open is home.Tenure's.
func (c *tenure) Open(ctx context.Context, log *life.Log, state *mind.State) (int, error) {
	custody, err := c.Tenure.Open(c.cluster.lasts(ctx), log, state)
	if err == nil {
		comparing, end := context.WithCancel(context.WithoutCancel(ctx))
		c.compare = end
		c.beside.Go(func() { c.cluster.compareOften(comparing, c.Tenure) })
	}
	return custody, err
}

// Close is home.Tenure's.
func (c *tenure) Close() error {
	if c.compare != nil {
		c.compare()
		c.beside.Wait()
	}
	return c.Tenure.Close()
}

// erased ends an erasure of a life in the rooms, and asks the other hosts to read anew what they have.
func (s *Cluster) erased(ctx context.Context, self string) error {
	err := s.rooms.Settle(ctx) // as before the erasure, which another host may have begun
	if err == nil {
		err = s.rooms.Erased(ctx)
	}
	if err == nil {
		err = s.ask(ctx, asked{Reread: self, From: s.Host.ID})
	}
	return err
}

// Settle prepares the rooms for an erasure.
func (s *Cluster) Settle(ctx context.Context) error {
	err := s.Sync(ctx)
	if err == nil {
		err = s.rooms.Settle(ctx)
	}
	return err
}

// Sync publishes lines that were appended to rooms here, and brings lines of other hosts.
func (s *Cluster) Sync(ctx context.Context) error {
	err := s.connect()
	if err == nil {
		err = away("share the rooms", s.rooms.Sync(ctx))
	}
	return err
}

// refreshTime bounds a Refresh.
const refreshTime = 3 * time.Second

// Refresh is Sync for at most 3 seconds. It does nothing where a process of this host serves.
func (s *Cluster) Refresh(ctx context.Context) error {
	if s.served() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	return s.Sync(ctx)
}

// Away is home.Sharing's, as the process that serves found it last.
func (s *Cluster) Away() bool { return ReadStatus(s.home.Dir).Away != "" }

// Room is home.Sharing's.
func (s *Cluster) Room(room string) string { return rooms.Path(s.home.Dir, room) }

// Post is home.Sharing's.
func (s *Cluster) Post(room string, line []byte, from chat.Mark) (at, to int64, err error) {
	if err := s.connect(); err != nil {
		return 0, 0, err
	}
	return s.rooms.Post(s.untilEnd(), room, line, from)
}

// Ledger is home.Sharing's.
func (s *Cluster) Ledger() home.Ledger { return ledger{s} }

// serving returns the lock of the one process of this host that serves, not taken yet.
func (s *Cluster) serving() *flock.Flock {
	return durable.Lock(filepath.Join(s.home.Dir, "share", "serving.lock"))
}

// served reports whether a process of this host serves.
func (s *Cluster) served() bool {
	lock := s.serving()
	defer lock.Close()
	free, err := lock.TryRLock()
	return !free && err == nil
}

// Serve keeps the rooms, says that this host is there, shares all lives, and takes some where it stands by, until ctx
// ends or the host is drained. One process of a host does so at a time. changed is raised when something was appended
// to a room.
func (s *Cluster) Serve(ctx context.Context, changed <-chan struct{}) error {
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
	serving, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end()
	for _, f := range []func(context.Context){s.keepLease, s.lookAround, s.shareAll, s.compareIdle} {
		beside.Go(func() { f(serving) })
	}
	s.drains = -1
	err = s.rounds(ctx, changed, func(ctx context.Context, sync bring) error {
		err := sync(ctx)
		if asked := s.rooms.Asked.Swap(false); asked || err != nil {
			s.counts.change(func(now *Status) { now.reached(err, &now.Synced) })
		}
		if err != nil {
			return err
		}
		return s.obey(ctx)
	})
	if err == ErrDrained {
		end()
		beside.Wait()
		s.left(ctx)
	}
	return err
}

// Follow shares the rooms while no process of this host serves, until ctx ends. If it attends, it also says that the
// host is there, until the host is drained.
func (s *Cluster) Follow(ctx context.Context, changed <-chan struct{}, attends bool) error {
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
	s.drains = -1
	err := s.rounds(ctx, changed, func(ctx context.Context, sync bring) error {
		if s.served() {
			return nil
		}
		err := sync(ctx)
		if err != nil || !attends {
			return err
		}
		return s.drained()
	})
	if context.Cause(ctx) == ErrDrained {
		return ErrDrained
	}
	if err == ErrDrained {
		end(nil)
		beside.Wait()
		s.left(ctx)
	}
	return err
}

// bring is Sync or Publish of the rooms.
type bring = func(context.Context) error

// rounds calls f whenever there may be something new in a room, with what brings it, until ctx ends or f returns
// ErrDrained.
func (s *Cluster) rounds(ctx context.Context, changed <-chan struct{}, f func(context.Context, bring) error) error {
	told, trouble, sync := s.streams.Watch(ctx, rooms.Stream), "", s.rooms.Sync
	for {
		err, wait := f(ctx, sync), time.Minute
		sync = s.rooms.Sync
		switch was := trouble; {
		case err == ErrDrained:
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
			if trouble == "" {
				sync = s.rooms.Publish
			} else { // what f tried to write beside a room may have raised it
				pause(ctx, wait, nil)
			}
		case <-told:
		case <-time.After(wait):
		}
	}
}
