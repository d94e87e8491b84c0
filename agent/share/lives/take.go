package lives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
)

// ErrBusy says that a life could not be taken.
var ErrBusy = errors.New("its host is too busy; stop it there, and try again")

// tries bounds how often the host that has the life may be faster.
const tries = 30

// Take takes a life, whose lock the caller has and which does not run here. The life goes on when it is held. Where
// from names a host, Take takes it from that one alone; otherwise the error is a *home.ElsewhereError.
func (l *Lives) Take(ctx context.Context, id home.Identity, store *blobs.Store, from string) error {
	anew := false
	for range tries {
		c, err := l.catchUp(ctx, id, store)
		switch {
		case err != nil:
			return err
		case c.at.N == 0:
			return fmt.Errorf("take %s: %w: no host shares a life of that name", id.Name, home.ErrNotFound)
		case c.mine():
			return nil
		case c.at.Opening:
			return fmt.Errorf("take %s: %s has not stored all of it yet", id.Name, c.at.Host.Label)
		case from != "" && c.at.Host.ID != from:
			c.onTaken()
			return c.elsewhere(c.at.Host.Label)
		case !anew && id.Erasing() != nil: // its plan does not know the copies here
			if anew, err = true, c.wipe(); err != nil {
				return err
			}
			continue
		case l.Lost == nil:
			state, last, err := c.fold()
			if err == nil {
				err = c.cutBack(state, last)
			}
			if err != nil {
				return fmt.Errorf("take %s: %w; start it at %s, which writes it again", id.Name, err, c.at.Host.Label)
			}
		}
		if err = c.begin(ctx, c.at.Custody+1); !share.IsTaken(err) {
			return err
		}
		time.Sleep(rand.N(100 * time.Millisecond))
	}
	return fmt.Errorf("take %s: %w", id.Name, ErrBusy)
}

// Copy brings what the store has of a life into l.Home, and returns the host that has the life. It writes nothing to the
// store. Called again, it brings what is new, and reads anew what another host has erased.
func (l *Lives) Copy(ctx context.Context, id home.Identity, store *blobs.Store) (streams.Host, error) {
	if err := durable.MkdirAll(id.Dir, 0o700); err != nil {
		return streams.Host{}, err
	}
	c, err := l.catchUp(ctx, id, store)
	if err == nil && c.at.N == 0 {
		err = fmt.Errorf("copy %s: %w: the store has no life of that name", id.Name, home.ErrNotFound)
	}
	return c.at.Host, err
}

// Stopped reports whether somebody has stopped a life, and it was not resumed since.
func (l *Lives) Stopped(ctx context.Context, self string) (bool, error) {
	_, segment, err := l.newest(ctx, self)
	return segment.Stopped, err
}

// begin creates the segment with which this host has the life.
func (c *Tenure) begin(ctx context.Context, custody int) error {
	asked, opening := time.Now(), c.at.N == 0
	segment := Segment{
		Self: c.id.Self, Host: c.Host, Custody: custody, Begins: true, Nonce: streams.Nonce(),
		Opening: opening, Stopped: c.at.Stopped,
	}
	n := c.at.N + 1
	if err := c.Streams.CreateNewest(ctx, c.stream(), n, segment.encode()); err != nil {
		return err
	}
	c.at.N, c.at.Nonce, c.acked = n, segment.Nonce, asked
	c.at.Host, c.at.Custody, c.at.Opening = c.Host, custody, opening
	if !opening {
		c.onTaken()
	}
	return c.save()
}

func (c *Tenure) onTaken() {
	if c.OnTaken != nil {
		c.OnTaken(c.id, c.at.Host, c.at.Custody)
	}
}

// settle makes the files that a life needs here beside its log: its soul, its name, the links to its rooms, and its
// workspace.
func (c *Tenure) settle(ctx context.Context) error {
	state, last, err := c.fold()
	if err != nil {
		return err
	}
	if err := c.settleFiles(ctx, state); err != nil {
		return fmt.Errorf("settle %s here: %w", c.id.Name, err)
	}
	if err := c.cutBack(state, last); err != nil {
		c.lose(err)
	}
	c.at.Stale, c.at.Unsaved = nil, nil
	if err := c.save(); err != nil {
		return err
	}
	return c.Home.Link(c.id)
}

// fold returns the state and the last append of the log here.
func (c *Tenure) fold() (*mind.State, life.Append, error) {
	log, err := life.View(c.id.LIFE())
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	state, _, err := home.FoldLog(c.id, log, c.store)
	return state, log.Last(), err
}

// cutBack returns an error if rooms have lines of the identity that are newer than its log: the store has lost its
// newest segments.
func (c *Tenure) cutBack(state *mind.State, last life.Append) error {
	if len(last) == 0 {
		return nil
	}
	end := last[len(last)-1].At
	for room := range state.Rooms {
		lines, _, _, _ := chat.Tail(c.Home.Room(room), 50) // who reads the room tells of an error
		for _, line := range lines {
			if line.By(c.id.Name) && line.At.After(end) {
				return fmt.Errorf("room %s has lines of %s since %s, of which its life does not know: the store has lost its "+
					"newest segments", room, c.id.Name, end.UTC().Format(time.DateTime+"Z"))
			}
		}
	}
	return nil
}

// settleFiles makes the soul, the links to rooms and the workspace.
func (c *Tenure) settleFiles(ctx context.Context, state *mind.State) error {
	if err := c.id.RestoreSoul(c.store); err != nil {
		return err
	}
	if err := c.relink(state); err != nil {
		return err
	}
	list, _, err := durable.ReadRegular(c.listFile(), math.MaxInt32)
	isStored := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty workspace would be stored over the listed one
		return err
	}
	c.at.Missing = c.workspace.missing(c.at.Unsaved, list)
	if !isStored {
		return nil
	}
	err = c.workspace.restore(list, c.at.Stale, func(hash blobs.Hash) ([]byte, error) { return c.large(ctx, hash) })
	if streams.Unreadable(err) {
		c.lose(fmt.Errorf("files of the workspace: %w", err))
		return nil
	}
	return err
}

// Missing returns the names of files of the workspace that did not come along when the life was taken. It returns the
// same until the life is taken again.
func (c *Tenure) Missing() []string { return c.at.Missing }

// relink links the rooms that the life has joined, and no other ones.
func (c *Tenure) relink(state *mind.State) error {
	linked, err := chat.Rooms(c.id.Subs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, room := range linked {
		if r := state.Rooms[room]; r != nil && r.Joined {
			continue
		}
		if err := chat.Unsubscribe(c.id.Subs(), room); err != nil {
			return err
		}
	}
	for room, r := range state.Rooms {
		if !r.Joined {
			continue
		}
		if err := chat.Subscribe(c.id.Subs(), c.Home.Chats(), room); err != nil {
			return err
		}
	}
	return nil
}
