package lives

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
)

// segmentSize bounds a segment, in bytes, as long as its parts are smaller.
const segmentSize = 512 << 10

// Open stores lines of the log that the store lacks, with the texts that they refer to; of a life without a stream,
// all. Called again, it goes on where it was cut short. It returns how often the life was handed over.
func (c *Tenure) Open(ctx context.Context, log *life.Log, s *mind.State) (custody int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opening := c.at.N == 0 || c.at.Opening
	if c.at.N == 0 {
		err = durable.Remove(c.listFile()) // another store may have what it lists
		if err == nil {
			err = c.begin(ctx, s.Custody)
		}
	}
	if err == nil && opening {
		c.onTaken()
	}
	if err == nil && c.at.Mark.Offset < log.End().Offset {
		var texts []blobs.Hash
		if texts, err = reached(c.id, c.store, c.at.Mark.Offset); err == nil {
			_, err = c.send(ctx, texts)
		}
	}
	if err != nil {
		return c.at.Custody, fmt.Errorf("share the life of %s: %w", c.id.Name, err)
	}
	c.tryMend(ctx)
	return c.at.Custody, nil
}

// reached returns the blobs that a life refers to from an offset of its log on, and not before.
func reached(id home.Identity, store *blobs.Store, from int64) ([]blobs.Hash, error) {
	reach := home.NewReach(store, id.Self)
	err := life.Scan(id.LIFE(), func(line life.Event, offset int64) error {
		if offset < from {
			reach.Pass(line)
			return nil
		}
		reach.Line(line, reach.Refs(line))
		return reach.Unknown
	})
	return reach.Found, err
}

// Ship makes lines of the log that the store lacks durable there, with texts that they name. Its error is a
// *home.ElsewhereError where another host has the life by now: then these lines count for nothing. While the store is
// away it waits until ctx ends or somebody stops the identity; where ctx never ends, it asks once.
func (c *Tenure) Ship(ctx context.Context, texts []blobs.Hash) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, err := c.send(ctx, texts)
	switch {
	case err != nil:
	case sent["stopped"]:
		c.close()
		c.beside.Wait()
		err := c.storeWorkspace(ctx)
		if err == nil {
			_, err = c.send(ctx, nil)
		}
		if err != nil {
			c.Log.Warn("the workspace is not stored as it is now", "identity", c.id.Name, "error", err)
		}
	case sent[life.Sealed]:
		c.sealed()
	}
	return err
}

// shipment cuts news into segments: texts before the lines that name them.
type shipment struct {
	*Tenure
	ctx context.Context
	now Segment
}

// send ships lines of the log and own files that the store lacks, with texts that the lines name. It returns the kinds
// of the lines.
func (c *Tenure) send(ctx context.Context, texts []blobs.Hash) (sent map[string]bool, err error) {
	p := &shipment{Tenure: c, ctx: ctx, now: c.empty()}
	if sent, err = p.all(texts); err != nil {
		return sent, fmt.Errorf("ship: %w", err)
	}
	return sent, nil
}

// all adds all that is new, and ships the last segment, too.
func (p *shipment) all(texts []blobs.Hash) (sent map[string]bool, err error) {
	unsaved := p.workspace.lacking()
	known := map[blobs.Hash]bool{}
	for _, hash := range texts {
		if known[hash] {
			continue
		}
		known[hash] = true
		if err := p.text(hash); err != nil {
			return nil, err
		}
	}
	if err := p.ownFiles(); err != nil {
		return nil, err
	}
	if sent, err = p.lines(); err != nil {
		return sent, err
	}
	if sent["result"] {
		unsaved = p.unsaved()
	}
	saysMore := p.now.Files != nil || p.now.Large != nil || p.now.size() > 0
	if !saysMore && !p.at.Opening && slices.Equal(unsaved, p.at.Unsaved) {
		return sent, nil
	}
	p.now.Opening, p.now.Unsaved = false, unsaved
	return sent, p.create(p.ctx, p.now)
}

// empty is a segment that says nothing.
func (c *Tenure) empty() Segment {
	return Segment{
		After: c.at.Mark, end: c.at.Mark, Opening: c.at.Opening, Stopped: c.at.Stopped, Unsaved: c.at.Unsaved,
	}
}

// unsaved looks which files of the workspace were changed since it was stored, unless it is being stored.
func (c *Tenure) unsaved() []string {
	if !c.workspace.scanning.TryLock() {
		return c.workspace.lacking()
	}
	defer c.workspace.scanning.Unlock()
	list, _ := os.ReadFile(c.listFile())
	if _, err := c.workspace.scan(list, nil); err != nil {
		c.Log.Warn("it is not known which files of the workspace are not stored", "identity", c.id.Name, "error", err)
	}
	return c.workspace.lacking()
}

// room ships the segment if it has no room for so many bytes more.
func (p *shipment) room(size int) error {
	if p.now.size() == 0 || p.now.size()+size <= segmentSize {
		return nil
	}
	err := p.create(p.ctx, p.now)
	p.now = p.empty()
	return err
}

func (p *shipment) text(hash blobs.Hash) error {
	text, err := os.ReadFile(p.store.Path(hash))
	if err == nil && len(text) > segmentSize {
		hash = blobs.Sum(text)
		p.now.Large = append(p.now.Large, hash)
		if p.stored != nil {
			p.stored[hash] = p.store.Path(hash)
		}
		return p.insistLarge(p.ctx, hash, text)
	}
	if err == nil {
		err = p.room(len(text))
	}
	p.now.Texts = append(p.now.Texts, text)
	return err
}

// ownFiles adds own files that were changed.
func (p *shipment) ownFiles() error {
	changed, err := p.files.changed()
	if err != nil {
		return err
	}
	for _, file := range changed {
		if err := p.shorten(p.ctx, &file, segmentSize); err != nil {
			return err
		}
		if err := p.room(len(file.Data)); err != nil {
			return err
		}
		p.now.Files = append(p.now.Files, file)
	}
	return nil
}

// shorten stores the bytes of a file as a large text if they are more than so many.
func (c *Tenure) shorten(ctx context.Context, file *File, most int) (err error) {
	if len(file.Data) > most {
		file.Large = blobs.Sum(file.Data)
		err = c.insistLarge(ctx, file.Large, file.Data)
		file.Data = nil
	}
	return err
}

// lines adds the lines of the log that the store lacks.
func (p *shipment) lines() (sent map[string]bool, err error) {
	r, err := life.ReadFrom(p.id.LIFE(), p.at.Mark)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sent = map[string]bool{}
	for {
		e, follows, err := r.Next()
		if err == io.EOF {
			return sent, nil
		}
		if err == nil && !follows {
			err = p.room(len(r.Line))
		}
		if err != nil {
			return sent, err
		}
		switch sent[e.Kind] = true; e.Kind {
		case "stopped":
			p.now.Stopped = e.Get("why") == "request"
		case "resumed", "inbound", "reply":
			p.now.Stopped = false
		}
		if e.Kind == "reply" && e.Get("finish") != "tool_calls" {
			p.now.turns++
		}
		p.now.Lines, p.now.end = append(p.now.Lines, r.Line...), r.At
	}
}

// create ships one segment.
func (c *Tenure) create(ctx context.Context, segment Segment) error {
	if c.gone != nil {
		return c.gone
	}
	stream, n := c.stream(), c.at.N+1
	segment.Self, segment.Host, segment.Custody, segment.Nonce = c.id.Self, c.Host, c.at.Custody, streams.Nonce()
	data, err := c.Streams.Sealed(stream, n, segment.encode())
	if err != nil {
		return err
	}
	began := time.Now()
	asked, err := c.insist(ctx, func() error { return c.Streams.Store.Create(ctx, stream, n, data) })
	if share.IsTaken(err) {
		err = c.taken(ctx, n, segment.Nonce)
	}
	if err != nil {
		return err
	}
	c.at.N, c.at.Mark, c.at.Nonce, c.acked = n, segment.end, segment.Nonce, asked
	c.at.Opening, c.at.Stopped, c.at.Unsaved = segment.Opening, segment.Stopped, segment.Unsaved
	c.files.learn(segment.Files)
	if c.Shipped != nil {
		c.Shipped(time.Since(began), segment.turns)
	}
	return nil
}

// insist asks the store until it answers, ctx ends or somebody asks the identity to stop; where ctx never ends, once.
// asked is the time of its last question.
func (c *Tenure) insist(ctx context.Context, ask func() error) (asked time.Time, err error) {
	for away := false; ; away = true {
		asked = time.Now()
		err = ask()
		if !share.IsAway(err) || c.givesUp(ctx) {
			return asked, err
		}
		if !away {
			c.Log.Warn("the store of [share] is away: the identity waits", "identity", c.id.Name, "error", err)
			shown, _ := status.Read(c.id.Dir) // what else it shows stays, until it shows something again
			shown.State, shown.Error = status.Retrying, "it waits for the store of [share]: "+err.Error()
			_ = status.Write(c.id.Dir, shown) // a view
		}
	}
}

// givesUp reports whether a store that is away is not waited for: ctx never ends, or has ended, or somebody asks the
// identity to stop.
func (c *Tenure) givesUp(ctx context.Context) bool {
	waits := ctx.Done() != nil && ctx.Err() == nil
	return !waits || home.Asked(c.id, home.WishStop)
}

func (c *Tenure) insistLarge(ctx context.Context, hash blobs.Hash, text []byte) error {
	_, err := c.insist(ctx, func() error { return c.putLarge(ctx, hash, text) })
	return err
}

// taken returns nil where segment n has this nonce, and a *home.ElsewhereError where another host created it.
func (c *Tenure) taken(ctx context.Context, n int, nonce string) error {
	segment, err := c.segment(ctx, c.id.Self, n)
	switch {
	case err != nil:
		return c.elsewhere("another host")
	case segment.Nonce == nonce:
		return nil
	case segment.Host.ID == c.Host.ID:
		return fmt.Errorf("%w: this host sent it before; open %s again", share.ErrTaken, c.id.Name)
	}
	return c.elsewhere(segment.Host.Label)
}

// freshFor is the time in which this host may act after the store said that it has the life. A silent host loses its
// lives later.
const freshFor = 10 * time.Second

// Check asks the store whether this host still has the life, unless the store has said so lately: the machine may have
// slept since. Callers check before they do what cannot be undone.
func (c *Tenure) Check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if streams.Since(c.acked) < freshFor && !c.holed.Load() {
		return nil
	}
	asked, err := c.insist(ctx, func() error { return c.isNewest(ctx) })
	if err != nil {
		return err
	}
	c.acked = asked
	c.tryMend(ctx)
	return nil
}

// packEvery is the least number of segments that are packed together.
var packEvery = 32

// sealed packs segments that were shipped before, and stores the workspace, while the identity goes on.
func (c *Tenure) sealed() {
	if !c.packing.CompareAndSwap(false, true) {
		return
	}
	upto := c.at.N - 1
	at, due := c.at.At, upto-c.at.Packed >= packEvery
	if due {
		c.at.Packed = upto
	}
	c.beside.Go(func() { // ends with Close
		defer c.packing.Store(false)
		err := c.storeWorkspace(c.closed)
		if due && err == nil {
			err = c.pack(at, upto)
		}
		if err != nil && c.closed.Err() == nil {
			c.Log.Warn("what goes on beside a shared life failed; it is tried again", "identity", c.id.Name, "error", err)
		}
	})
}

// pack packs the segments up to a number, if the store has all up to a place. Else the next Check writes them again: who
// ships all the time does not see that older ones are gone.
func (c *Tenure) pack(at streams.At, upto int) error {
	stream := c.stream()
	err := c.Streams.Whole(c.closed, stream, at)
	if streams.Unreadable(err) {
		if !c.holed.Swap(true) {
			c.lose(err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return c.Streams.Pack(c.closed, stream, upto, begins)
}

// begins reports whether a segment begins a custody: it stays where others are forgotten.
func begins(text []byte) bool {
	segment, err := decode(text)
	return err != nil || segment.Begins
}

// Snapshot stores the workspace as it is now; the next Ship lists it. While the store is away it waits as Ship does. If
// it fails, a host that takes the life is told the names of what is not stored.
func (c *Tenure) Snapshot(ctx context.Context) {
	_, err := c.insist(ctx, func() error { return c.storeWorkspace(ctx) })
	if err != nil {
		c.Log.Warn("the workspace is not stored as it is now", "identity", c.id.Name, "error", err)
	}
}

// storeWorkspace stores new files of the workspace, and lists all for the next segment.
func (c *Tenure) storeWorkspace(ctx context.Context) error {
	c.workspace.scanning.Lock()
	defer c.workspace.scanning.Unlock()
	if c.workspace.most == 0 {
		_, err := c.workspace.scan(nil, nil)
		return err
	}
	file := c.listFile()
	was, _ := os.ReadFile(file)
	list, err := c.workspace.scan(was, func(hash blobs.Hash, text []byte) error { return c.putLarge(ctx, hash, text) })
	if err != nil || bytes.Equal(list, was) {
		return err
	}
	return durable.WriteFile(file, list, 0o600)
}

// Self returns the Self of the identity.
func (c *Tenure) Self() string { return c.id.Self }

// Close ends packing and storing, and saves the position.
func (c *Tenure) Close() error {
	c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside.Wait()
	if c.at.N == 0 || c.gone != nil {
		return nil
	}
	return c.save()
}
