package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"lethe/agent/home"
	"lethe/agent/part"
	"lethe/agent/share"
	"lethe/agent/share/hosts"
	"lethe/agent/share/streams"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
)

// Copies is a home with copies of lives that other hosts have, as the store has them, and with the rooms of this host's
// home. It is gone after Close, so that no erasure has to find it.
//
//	copies, err := host.NewCopies(h, cluster)
//	err = copies.Begin(ctx, ids)          // ids are copied
//	go copies.Keep(ctx)                   // and brought up to date from then on
//	ada := copies.Beside(watcher).Of(id)  // Say, Ask and Events work, id being one of copies.Begun()
//
// A begun copy looks like an identity that another process runs, as long as its host runs it: the lock is held, and the
// status tells what the log says.
type Copies struct {
	home.Home
	Store *blobs.Store

	from *hosts.Cluster
	kept []*kept
}

// kept is a copy that is kept up to date.
type kept struct {
	home.Identity
	at      streams.Host  // has the life
	stopped bool          // the log ends with that
	shown   status.Status // as the log has it
	written status.Status // to the copy's status.json
	failed  error         // of the last attempt to bring it up to date

	mu    sync.Mutex
	lock  *flock.Flock // held while its host runs it
	where error        // says where the life goes on, and why it does not run there
}

// NewCopies makes a home without copies.
func NewCopies(of home.Home, from *hosts.Cluster) (*Copies, error) {
	dir, err := os.MkdirTemp("", "lethe-copy-")
	if err != nil {
		return nil, err
	}
	c := &Copies{from: from}
	if err := c.open(dir, of); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Copies) open(dir string, of home.Home) (err error) {
	if c.Home, err = home.Open(dir); err != nil {
		return err
	}
	if err = os.Remove(c.Chats()); err != nil {
		return err
	}
	if err = os.Symlink(of.Chats(), c.Chats()); err != nil {
		return err
	}
	c.Store, err = blobs.Open(c.Blobs())
	return err
}

// Close removes the copies. Keep has to have ended.
func (c *Copies) Close() error {
	for _, life := range c.kept {
		life.rest(errors.New("its copy was removed"))
	}
	return os.RemoveAll(c.Dir)
}

// Copy brings a copy of a life up to date, and returns the host that has the life.
func (c *Copies) Copy(ctx context.Context, id home.Identity) (home.Identity, streams.Host, error) {
	return c.from.Copy(ctx, c.Home, c.Store, id)
}

// Lend has another store hold what a copy refers to up to an offset of its log.
func (c *Copies) Lend(id home.Identity, end int64, to *blobs.Store) error {
	reach := home.NewReach(c.Store, id.Self)
	err := life.Scan(id.LIFE(), func(line life.Event, at int64) error {
		if at < end {
			reach.Line(line, reach.Refs(line))
		}
		return nil
	})
	if err != nil {
		return id.Unread(err)
	}
	if reach.Unknown != nil {
		return reach.Unknown
	}
	var later durable.Syncs
	for _, hash := range reach.Found {
		text, err := os.ReadFile(c.Store.Path(hash))
		if err != nil {
			return err
		}
		if _, err := to.Adopt(&later, text); err != nil {
			return err
		}
	}
	return later.Wait()
}

// Begin copies lives, for Keep. The error tells of those that cannot be copied.
func (c *Copies) Begin(ctx context.Context, lives []home.Identity) error {
	var group errgroup.Group
	group.SetLimit(8)
	begun, failed := make([]*kept, len(lives)), make([]error, len(lives))
	for n, id := range lives {
		group.Go(func() error {
			life := &kept{Identity: c.Identity(id.Self, id.Name)}
			if failed[n] = c.update(ctx, life); failed[n] == nil {
				c.look(ctx, life)
				begun[n] = life
			}
			return nil
		})
	}
	_ = group.Wait() // failed has the errors
	for _, life := range begun {
		if life != nil {
			c.kept = append(c.kept, life)
		}
	}
	return errors.Join(failed...)
}

// Begun returns the copies that Begin made.
func (c *Copies) Begun() (all []home.Identity) {
	for _, life := range c.kept {
		all = append(all, life.Identity)
	}
	return all
}

// Beside returns a host for the copies, as the function Beside does.
func (c *Copies) Beside(watcher *chat.Watcher) *Host {
	h := Beside(c.Home, c.Store, watcher)
	h.copies = c
	return h
}

// Keep brings the copies up to date until ctx ends.
func (c *Copies) Keep(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, life := range c.kept {
		all.Go(func() { c.keep(ctx, life) })
	}
}

func (c *Copies) keep(ctx context.Context, life *kept) {
	told, err := c.from.WatchLife(ctx, life.Self)
	if err != nil {
		life.rest(err)
		return
	}
	for {
		isNew := false
		select {
		case <-ctx.Done():
			return
		case <-told:
			isNew = true
		case <-time.After(2 * alivePace):
		}
		// What is owed may stand in its room a minute before its life says so.
		isOwed := life.shown.State == status.Idle && len(life.shown.Answering) > 0
		if isNew || isOwed || life.failed != nil {
			life.failed = c.update(ctx, life)
		}
		c.look(ctx, life)
	}
}

// update brings a copy up to date, and before its status what it has said.
func (c *Copies) update(ctx context.Context, life *kept) (err error) {
	if _, life.at, err = c.Copy(ctx, life.Identity); err != nil {
		return err
	}
	state, newest, err := c.read(life)
	if err != nil {
		return err
	}
	for room, heard := range state.Rooms {
		if heard.Joined {
			err = errors.Join(err, chat.Subscribe(life.Subs(), c.Chats(), room))
		}
	}
	if err != nil {
		return err
	}
	if err := c.from.Sync(ctx); err != nil {
		return err
	}
	state.Outbox = slices.DeleteFunc(state.Outbox, c.stands)
	life.shown = shownOf(life.Identity, state, newest)
	return nil
}

// stands reports whether a room has a post: its life may say so later.
func (c *Copies) stands(p mind.Post) bool {
	lines, _, _, _ := chat.Tail(c.from.Room(p.Room), 50)
	return slices.ContainsFunc(lines, func(l chat.Line) bool { return string(l.Raw)+"\n" == p.Line })
}

// offline are the kinds of lines that are also written of an identity that does not run.
var offline = []string{"sealed", "labelled", "moved", "erased", "fade", "note", "spent", "epoch"}

// read returns the state of a copy, and the time of the newest line of its log.
func (c *Copies) read(copied *kept) (state *mind.State, newest time.Time, err error) {
	log, err := home.View(copied.Identity, c.Store)
	if err != nil {
		return nil, newest, err
	}
	defer log.Close()
	err = log.Back(0, func(line life.Event, _ int64) bool {
		if newest.IsZero() {
			newest = line.At
		}
		copied.stopped = line.Kind == "stopped" || line.Kind == "received"
		return slices.Contains(offline, line.Kind)
	})
	if err != nil {
		return nil, newest, err
	}
	state, _, err = home.FoldLog(copied.Identity, log, c.Store)
	return state, newest, err
}

// shownOf returns what the status of an identity would say that has this state since a time.
func shownOf(id home.Identity, state *mind.State, since time.Time) status.Status {
	view := part.View{ID: id, State: state}
	params, usage := state.Stable.Params, state.Usage
	now := status.Status{
		Name: id.Name, Self: id.Self, PID: os.Getpid(), State: status.Idle, Since: since,
		Rooms: view.Joined(), Heard: map[string]int64{}, Turn: state.Turn,
		Model: params.Model, Endpoint: params.Endpoint, Offline: params.Endpoint == "offline", Error: state.Paused,
		InputTokens: usage.Input, CachedTokens: usage.Cached, OutputTokens: usage.Output, CostUSD: usage.USD,
	}
	for _, room := range now.Rooms {
		now.Heard[room] = state.Rooms[room].Cursor.Offset
	}
	for _, question := range state.Questions {
		now.Questions = append(now.Questions,
			status.Question{Question: question.Question, Room: question.Room, Asked: question.Asked})
	}
	switch {
	case state.Paused != "":
		now.State = status.Paused
	case view.Busy():
		now.State, now.Answering = status.Thinking, view.Audience()
	}
	for _, call := range state.Owed().Calls {
		if call.Call.Started {
			now.State, now.Tool = status.Acting, call.Call.Tool
		}
	}
	for _, post := range state.Outbox { // what waits for it is not posted yet
		now.Answering = append(now.Answering, post.Room)
	}
	return now
}

// look sees whether the host of a life runs it, and shows that.
func (c *Copies) look(ctx context.Context, life *kept) {
	c.settle(ctx, life)
	now := life.shown
	if _, runs := life.now(); !runs {
		now.State = status.Stopped
	}
	if reflect.DeepEqual(now, life.written) {
		return
	}
	if err := status.Write(life.Dir, now); err != nil {
		life.rest(err)
		return
	}
	life.written = now
}

func (c *Copies) settle(ctx context.Context, life *kept) {
	elsewhere := &home.ElsewhereError{Identity: life.Identity, Host: life.at.Label}
	said, silent, err := c.from.Last(ctx, life.at.ID)
	isAway := share.IsAway(err) || share.IsAway(life.failed)
	switch {
	case ctx.Err() != nil, isAway: // nothing is known
	case life.failed != nil:
		life.rest(life.failed)
	case err != nil:
		life.rest(err)
	case life.at.ID == c.from.Host.ID:
		life.rest(fmt.Errorf("%s goes on at this host now", life.Name))
	case silent:
		life.rest(fmt.Errorf("%w, which was last there on %s", elsewhere, said.Local().Format(time.DateTime)))
	case life.stopped:
		life.rest(fmt.Errorf("%w, and does not run there", elsewhere))
	default:
		life.run(elsewhere)
	}
}

func (life *kept) run(where error) {
	life.mu.Lock()
	defer life.mu.Unlock()
	life.where = where
	if life.lock != nil {
		return
	}
	lock, err := home.Lock(life.Identity)
	if err != nil {
		life.where = err
		return
	}
	life.lock = lock
}

func (life *kept) rest(why error) {
	life.mu.Lock()
	defer life.mu.Unlock()
	life.where = why
	if life.lock != nil {
		_ = life.lock.Close()
		life.lock = nil
	}
}

// Where returns an error that says where a life that was begun goes on and, unless it runs there, why not.
func (c *Copies) Where(id home.Identity) (where error, runs bool) {
	at := slices.IndexFunc(c.kept, func(life *kept) bool { return life.Self == id.Self })
	if at < 0 {
		return fmt.Errorf("find the copy of %s: %w", id.Name, home.ErrNotFound), false
	}
	return c.kept[at].now()
}

func (life *kept) now() (where error, runs bool) {
	life.mu.Lock()
	defer life.mu.Unlock()
	return life.where, life.lock != nil
}
