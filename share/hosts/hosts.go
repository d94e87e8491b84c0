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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/share"
	"lethe/share/lives"
	"lethe/share/rooms"
	"lethe/share/streams"
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
	asked  int // bytes of the room in which hosts are asked something, as far as they were obeyed
	counts counts

	mu     sync.Mutex
	store  share.Store // nil until it is needed
	roster roster
	run    func(home.Identity) // nil: this process does not stand by
	runs   map[string]bool     // by Self: what run was called for, or need not be
}

// New has a home be shared as its configuration says.
func New(h *home.Home, conf Config, store *blobs.Store, log *slog.Logger) *Shared {
	s := &Shared{conf: conf, texts: store, log: log}
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

// known is what the file share/host says of this host. A copy of the home has another inode, and is another host.
type known struct {
	ID    string `json:"id"`
	Inode uint64 `json:"inode"`
}

// thisHost returns the name of this host in the home, and gives it one at first.
func thisHost(dir string) (streams.Host, error) {
	label, err := os.Hostname()
	if err != nil {
		return streams.Host{}, err
	}
	share := filepath.Join(dir, "share")
	if err := durable.MkdirAll(share, 0o700); err != nil {
		return streams.Host{}, err
	}
	lock := durable.Lock(filepath.Join(share, "host.lock"))
	if err := lock.Lock(); err != nil {
		return streams.Host{}, err
	}
	defer lock.Close()
	path := filepath.Join(share, "host")
	text, _, err := durable.ReadRegular(path, 1<<10)
	var k known
	if err == nil && json.Unmarshal(text, &k) == nil && k.Inode == inode(share) {
		return streams.Host{ID: k.ID, Label: label}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return streams.Host{}, err
	}
	k = known{strconv.FormatUint(rand.Uint64(), 36), inode(share)}
	text, err = json.Marshal(k)
	return streams.Host{ID: k.ID, Label: label}, cmp.Or(err, durable.WriteFile(path, text, 0o600))
}

func inode(path string) uint64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, _ := fi.Sys().(*syscall.Stat_t)
	return st.Ino
}

// Hold is home.Sharing's.
func (s *Shared) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (home.Custody, error) {
	if err := s.connect(); err != nil {
		return nil, err
	}
	c, err := s.lives.Hold(ctx, id, store)
	if err == nil {
		err = s.rooms.Sync(ctx) // the life has heard what another host had
	}
	if errors.Is(err, share.ErrAway) {
		err = fmt.Errorf("open %s: %w: %w", id.Name, home.ErrAway, err)
	}
	if err != nil {
		return nil, err
	}
	return &custody{c, s}, nil
}

// custody is that of a life, in whose home rooms are shared, too.
type custody struct {
	*lives.Custody
	shared *Shared
}

// Erased is home.Custody's. It asks the other hosts to read anew what they have.
func (c *custody) Erased(ctx context.Context) error {
	err := c.Custody.Erased(ctx)
	if err == nil {
		err = c.shared.rooms.Erased(ctx)
	}
	if err == nil {
		err = c.shared.tell(askedRoom, asked{Reread: c.Custody.Self(), From: c.shared.Host.ID, At: time.Now().UTC()})
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
		err = s.rooms.Sync(ctx)
	}
	return err
}

// Room is home.Sharing's.
func (s *Shared) Room(room string) string { return rooms.Path(s.home.Dir, room) }

// Post is home.Sharing's.
func (s *Shared) Post(room string, line []byte, from chat.Mark) (at, to int64, err error) {
	if err := s.connect(); err != nil {
		return 0, 0, err
	}
	return s.rooms.Post(context.Background(), room, line, from)
}

// Ledger is home.Sharing's.
func (s *Shared) Ledger() home.Ledger { return ledger{s} }

// Serve keeps the rooms, says that this host is there, and takes lives where it stands by, until ctx ends or the host is
// drained. One process of a host does so at a time. changed is raised when something was appended to a room.
func (s *Shared) Serve(ctx context.Context, changed <-chan struct{}) error {
	if err := s.connect(); err != nil {
		return err
	}
	lock := durable.Lock(filepath.Join(s.home.Dir, "share", "serving.lock"))
	if _, err := lock.TryLockContext(ctx, 2*time.Second); err != nil {
		return nil // ctx has ended
	}
	defer lock.Close()
	if fi, err := os.Stat(rooms.Path(s.home.Dir, askedRoom)); err == nil {
		s.asked = int(fi.Size())
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { s.keepLease(ctx) }) // ends with ctx
	told, trouble := s.store.Watch(ctx, rooms.Stream), ""
	for {
		err := s.rooms.Sync(ctx)
		if err == nil {
			s.counts.change(s.home.Dir, func(now *Status) { now.Synced = time.Now().UTC() })
			err = s.obey(ctx)
		}
		pause := time.Minute
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrDrained):
			return err
		case err != nil:
			if err.Error() != trouble {
				s.log.Warn("this host is behind others", "error", err)
			}
			pause = time.Second
		}
		trouble = ""
		if err != nil {
			trouble = err.Error()
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-told:
		case <-time.After(pause):
		}
	}
}
