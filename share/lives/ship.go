package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/internal/status"
	"lethe/life"
	"lethe/mind"
	"lethe/share"
	"lethe/share/streams"
)

// segmentSize is how many bytes a segment has at most, as long as its parts are smaller.
const segmentSize = 512 << 10

// Open begins the stream of a life that has none, with all that the life refers to. It returns how often the life was
// handed over.
func (c *Custody) Open(ctx context.Context, log *life.Log, s *mind.State) (custody int, err error) {
	if c.at.N > 0 {
		return c.at.Custody, nil
	}
	texts, err := reached(c.id, c.store)
	if err == nil {
		err = c.begin(ctx, s.Custody)
	}
	if err == nil {
		err = c.Ship(ctx, log, texts)
	}
	if err != nil {
		err = fmt.Errorf("share the life of %s: %w", c.id.Name, err)
	}
	return c.at.Custody, err
}

// Ship makes what the log has more than the store durable there, with texts that it names. Its error is a
// *home.ElsewhereError where another host has the life by now: what the log has more then counts for nothing. While the
// store is away it waits until ctx ends or somebody stops the identity; where ctx never ends, it waits once.
func (c *Custody) Ship(ctx context.Context, log *life.Log, texts []blobs.Hash) error {
	fresh, err := c.fresh(log)
	if err == nil && fresh.stops {
		c.close()
		c.beside.Wait()
		if err := c.storeWorkspace(ctx); err != nil {
			c.lives.Log.Warn("the workspace is not stored as it is now", "identity", c.id.Name, "error", err)
		}
	}
	var parts []Segment
	if err == nil {
		parts, err = c.segments(ctx, fresh.lines, texts)
	}
	for _, s := range parts {
		if err == nil {
			err = c.create(ctx, s)
		}
	}
	if err == nil && fresh.seals {
		c.sealed()
	}
	return err
}

// fresh is what the log has more than the store.
type fresh struct {
	lines []line
	seals bool // an epoch has begun
	stops bool // the identity stops
}

type line struct {
	text    string
	follows bool // it belongs to the line before
	end     life.Mark
}

func (c *Custody) fresh(log *life.Log) (f fresh, err error) {
	r, err := life.ReadFrom(c.id.LIFE(), c.at.Mark)
	if err != nil {
		return f, err
	}
	defer r.Close()
	for r.At.Offset < log.End().Offset {
		e, follows, err := r.Next()
		if err != nil {
			return f, err
		}
		f.lines = append(f.lines, line{r.Line, follows, r.At})
		f.seals = f.seals || e.Kind == life.Sealed
		f.stops = f.stops || e.Kind == "stopped"
	}
	return f, nil
}

// segments cuts what is new into segments: texts before the lines that name them.
func (c *Custody) segments(ctx context.Context, lines []line, texts []blobs.Hash) (out []Segment, err error) {
	changed, err := c.files.changed()
	if err != nil {
		return nil, err
	}
	now := Segment{After: c.at.Mark, end: c.at.Mark}
	make := func(room int) {
		if size := now.size(); size > 0 && size+room > segmentSize {
			out = append(out, now)
			now = Segment{After: now.end, end: now.end}
		}
	}
	sent := map[blobs.Hash]bool{}
	for _, h := range texts {
		if sent[h] {
			continue
		}
		sent[h] = true
		text, err := os.ReadFile(c.store.Path(h))
		if err == nil && len(text) > segmentSize {
			now.Large = append(now.Large, h)
			err = c.putLarge(ctx, h, text)
		} else if err == nil {
			make(len(text))
			now.Texts = append(now.Texts, text)
		}
		if err != nil {
			return nil, fmt.Errorf("ship: %w", err)
		}
	}
	for _, f := range changed {
		if len(f.Data) > segmentSize {
			f.Large = blobs.Sum(f.Data)
			if err := c.putLarge(ctx, f.Large, f.Data); err != nil {
				return nil, fmt.Errorf("ship: %w", err)
			}
			f.Data = nil
		}
		make(len(f.Data))
		now.Files = append(now.Files, f)
	}
	for _, l := range lines {
		if !l.follows {
			make(len(l.text))
		}
		now.Lines, now.end = append(now.Lines, l.text...), l.end
	}
	return append(out, now), nil
}

// create ships one segment.
func (c *Custody) create(ctx context.Context, s Segment) error {
	l, stream, n := c.lives, Stream(c.id.Self), c.at.N+1
	s.Self, s.Host, s.Custody, s.Nonce = c.id.Self, l.Host, c.at.Custody, streams.Nonce()
	data, err := l.Streams.Sealed(stream, n, s.encode())
	if err != nil {
		return err
	}
	began := time.Now()
	for away := false; ; away = true {
		err := l.Streams.Store.Create(ctx, stream, n, data)
		switch {
		case err == nil:
			c.at.N, c.at.Mark, c.acked = n, s.end, time.Now()
			c.files.learn(s.Files)
			if l.Shipped != nil {
				l.Shipped(time.Since(began))
			}
			return nil
		case errors.Is(err, share.ErrTaken):
			return c.taken(ctx, n)
		case !errors.Is(err, share.ErrAway) || ctx.Done() == nil || ctx.Err() != nil || home.Asked(c.id, home.WishStop):
			return fmt.Errorf("ship: %w", err)
		case !away:
			l.Log.Warn("the store of [share] is away: the identity waits", "identity", c.id.Name, "error", err)
			shown, _ := status.Read(c.id.Dir) // what else it shows stays, until it shows something again
			shown.State, shown.Error = status.Retrying, "it waits for the store of [share]: "+err.Error()
			_ = status.Write(c.id.Dir, shown) // a view
		}
	}
}

// taken says which host has the life.
func (c *Custody) taken(ctx context.Context, n int) error {
	elsewhere := &home.ElsewhereError{Identity: c.id, Host: "another host"}
	if text, err := c.lives.Streams.Get(ctx, Stream(c.id.Self), n); err == nil {
		if s, err := decode(text); err == nil {
			elsewhere.Host = s.Host.Label
		}
	}
	return elsewhere
}

// freshFor is how long this host may act after the store said that it has the life: less than the time after which a
// host that is silent loses it.
const freshFor = 10 * time.Second

// Check asks the store whether this host still has the life, if it has not said so lately: the machine may have slept
// since. It is for the moment before something is done that cannot be undone.
func (c *Custody) Check(ctx context.Context) error {
	slept := time.Now().Round(0).Sub(c.acked.Round(0))
	if max(time.Since(c.acked), slept) < freshFor {
		return nil
	}
	newest, err := c.lives.Streams.Newest(ctx, Stream(c.id.Self), c.at.N)
	if err == nil && newest > c.at.N {
		err = c.taken(ctx, c.at.N+1)
	}
	if err == nil {
		c.acked = time.Now()
	}
	return err
}

// packEvery is how many segments are packed together at least.
var packEvery = 32

// sealed packs what was shipped before, and stores the workspace, beside the identity.
func (c *Custody) sealed() {
	if !c.packing.CompareAndSwap(false, true) {
		return
	}
	upto := c.at.N - 1
	due := upto-c.at.Packed >= packEvery
	if due {
		c.at.Packed = upto
	}
	c.beside.Go(func() { // ends with Close
		defer c.packing.Store(false)
		err := c.storeWorkspace(c.closed)
		if due && err == nil {
			err = c.lives.Streams.Pack(c.closed, Stream(c.id.Self), upto, begins)
		}
		if err != nil && c.closed.Err() == nil {
			c.lives.Log.Warn("what goes on beside a shared life failed; it is tried again", "identity", c.id.Name, "error", err)
		}
	})
}

// begins reports whether a segment begins a custody: it stays where others are forgotten.
func begins(text []byte) bool {
	s, err := decode(text)
	return err != nil || s.Begins
}

// storeWorkspace stores what is new in the workspace, and lists it for the next segment. One at a time.
func (c *Custody) storeWorkspace(ctx context.Context) error {
	if c.workspace.most == 0 {
		return nil
	}
	file := filepath.Join(c.id.Dir, workspaceFile)
	was, _ := os.ReadFile(file)
	list, err := c.workspace.list(was, func(h blobs.Hash, text []byte) error { return c.putLarge(ctx, h, text) })
	if err == nil && !bytes.Equal(list, was) {
		err = durable.WriteFile(file, list, 0o600)
	}
	return err
}

// Self is whose life it is.
func (c *Custody) Self() string { return c.id.Self }

// Close ends what goes on beside the identity.
func (c *Custody) Close() error {
	c.close()
	c.beside.Wait()
	if c.at.N == 0 {
		return nil
	}
	return c.save()
}
