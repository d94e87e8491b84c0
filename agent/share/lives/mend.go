package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
)

// isNewest returns nil if the newest text of the stream is the last one that this host sent, or an older one of this
// host: then the store has lost the texts behind it. Otherwise the error is a *home.ElsewhereError.
func (c *Tenure) isNewest(ctx context.Context) error {
	if c.gone != nil {
		return c.gone
	}
	stream, isHere := c.stream(), false
	isTaken, err := c.Streams.Has(ctx, stream, c.at.N+1) // whoever takes the life creates the next, which stays
	if isTaken {
		return c.taken(ctx, c.at.N+1, "")
	}
	if err == nil {
		isHere, err = c.Streams.Has(ctx, stream, c.at.N)
	}
	if err != nil || isHere {
		return err
	}
	n, last, err := c.newest(ctx, c.id.Self)
	switch {
	case err != nil || n == c.at.N:
		return err
	case n == 0:
		return fmt.Errorf("look for the life of %s: %w", c.id.Name, streams.ErrLess)
	case n > c.at.N:
		return c.taken(ctx, c.at.N+1, "")
	}
	isOlder := last.Host.ID == c.Host.ID || last.Custody < c.at.Custody
	if !isOlder {
		return c.lost(last.Host)
	}
	c.cutTo(n, last)
	return c.save()
}

// lost has this host do nothing any more with a life that another host took from a store without its newest texts. The
// next opening reads the stream from its beginning.
func (c *Tenure) lost(to streams.Host) error {
	c.gone = &home.ElsewhereError{Identity: c.id, Host: to.Label}
	return errors.Join(c.gone, durable.Remove(positionFile(c.id)))
}

// Compare looks by listings whether the store has all that this host has sent of the life, and writes again what it
// lacks. If texts may be damaged there, it writes all of them again.
func (c *Tenure) Compare(ctx context.Context, mayBeDamaged bool) error {
	if err := c.findLarge(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Whole() {
		return nil
	}
	stream := c.stream()
	err := c.isNewest(ctx)
	if err == nil && c.at.Lacks == 0 {
		err = c.Streams.Whole(ctx, stream, c.at.At)
	}
	switch {
	case streams.Unreadable(err):
		c.lack(1)
		c.lose(err)
	case err != nil:
		return err
	case mayBeDamaged:
		c.lack(1)
	}
	if c.at.Lacks > 0 {
		if err := c.mend(ctx); err != nil {
			return err
		}
	}
	files := maps.Clone(c.stored)
	for name, now := range c.listed() {
		files[now.hash] = filepath.Join(c.workspace.dir, name)
	}
	stored, err := c.Streams.PutMissing(ctx, stream, files, mayBeDamaged)
	if stored > 0 {
		c.lose(fmt.Errorf("large texts were written again: %d", stored))
	}
	return err
}

// Lacking looks by listings whether the store has all segments of a life that this host has and does not run. It returns
// the loss.
func (l *Lives) Lacking(ctx context.Context, id home.Identity) error {
	c := l.tenure(ctx, id, nil)
	defer c.close()
	if c.load(); c.at.N == 0 || !c.mine() {
		return nil
	}
	stream := Stream(id.Self)
	if isTaken, _ := l.Streams.Has(ctx, stream, c.at.N+1); isTaken {
		return nil
	}
	return l.Streams.Whole(ctx, stream, c.at.At)
}

// findLarge looks once which texts of the life are large.
func (c *Tenure) findLarge() error {
	c.mu.Lock()
	known := c.stored != nil
	if !known {
		c.stored = map[blobs.Hash]string{}
	}
	c.mu.Unlock()
	if known {
		return nil
	}
	all, err := reached(c.id, c.store, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hash := range all {
		path := c.store.Path(hash)
		if info, err := os.Stat(path); err == nil && info.Size() > segmentSize {
			c.stored[hash] = path
		}
	}
	return err
}

// tryMend mends what the store lacks. After an error the life goes on: this disk has it.
func (c *Tenure) tryMend(ctx context.Context) {
	if c.holed.Swap(false) {
		c.lack(1)
	}
	if c.at.Lacks == 0 {
		return
	}
	if err := c.mend(ctx); err != nil {
		c.Log.Warn("it is tried again", "error", err)
	}
}

// mend writes again what the store has lost of the life, as this disk has it. Own files are stored as they are now.
func (c *Tenure) mend(ctx context.Context) error {
	if c.id.Erasing() != nil {
		return nil // which makes all anew
	}
	if err := c.save(); err != nil { // that the life lacks something
		return err
	}
	c.beside.Wait()
	for name := range c.files.known {
		c.files.known[name] = blobs.Sum([]byte("lost")) // which no file has
	}
	again := &shipment{Tenure: c, ctx: ctx, now: c.empty()}
	err := again.ownFiles()
	if err == nil {
		err = c.create(ctx, again.now)
	}
	for err == nil && c.at.N < c.at.Lacks { // numbers that readers know are made again
		err = c.create(ctx, c.empty())
	}
	for range 2 { // the newest one stays as it is, and the one before it can have lines
		if err == nil {
			err = c.create(ctx, c.empty())
		}
	}
	if err == nil {
		err = c.refill(ctx)
	}
	if err == nil {
		c.at.Lacks = 0
		err = c.save()
	}
	if err != nil {
		return fmt.Errorf("write again what the store has lost of %s: %w", c.id.Name, err)
	}
	c.Log.Warn("what the store had lost of a life was written again", "identity", c.id.Name)
	return nil
}

// refill makes the packs anew, with the lines that they lack.
func (c *Tenure) refill(ctx context.Context) error {
	log, err := os.ReadFile(c.id.LIFE())
	if err != nil {
		return err
	}
	reader, err := life.ReadFrom(c.id.LIFE(), life.Mark{})
	if err != nil {
		return err
	}
	defer reader.Close()
	reader.Until(c.at.Mark.Offset)
	p := &refilled{Tenure: c, ctx: ctx, log: log, reader: reader, reach: home.NewReach(c.store, c.id.Self)}
	gen, err := c.Streams.Rewrite(ctx, c.stream(), begins, p.segments)
	if err == nil {
		c.at.Gen = gen
	}
	return err
}

// refilled goes through a log while its segments are made anew.
type refilled struct {
	*Tenure
	ctx     context.Context
	log     []byte
	reader  *life.Reader
	reach   *home.Reach // of the lines before at
	custody int
	n       int // of the text that is made anew

	at      life.Mark // behind the lines that were read, but for one that waits
	waits   bool
	event   life.Event
	follows bool
}

// segments returns the segment of a text as it is to be, behind segments for as many that were lost before it.
func (p *refilled) segments(lost int, text []byte) (all [][]byte, err error) {
	next, err := decode(text)
	if err != nil {
		return nil, err
	}
	p.n += lost + 1
	if next.Begins && next.Custody > p.Tenure.at.Custody {
		return nil, p.lost(next.Host)
	}
	changed := false
	if !next.Begins && !p.has(next) { // it was written behind lines that are lost for good
		next.Lines, next.Texts, next.Large, next.After = nil, nil, nil, p.at
		changed = true
	}
	for k := range lost {
		made := Segment{
			Self: p.id.Self, Host: next.Host, Custody: p.custody, Nonce: streams.Nonce(), After: p.at, Stopped: next.Stopped,
		}
		isHandedOver := next.Custody > p.custody && !next.Begins
		switch {
		case isHandedOver && k == lost-1:
			made.Begins, made.Custody = true, next.Custody
		case !next.Begins:
			err = p.take(&made, next.After.Offset, segmentSize)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, made.encode())
	}
	p.custody = next.Custody
	if next.Begins {
		return append(all, text), nil
	}
	rest, most := Segment{After: p.at}, math.MaxInt
	if hasRoom := len(next.Lines) == 0 && p.n < p.Tenure.at.N-1; hasRoom { // and a later one takes the rest
		most = segmentSize
	}
	if err := p.take(&rest, next.After.Offset, most); err != nil {
		return nil, err
	}
	if len(rest.Lines) > 0 {
		next.After, next.Lines = rest.After, append(rest.Lines, next.Lines...)
		next.Texts = append(rest.Texts, next.Texts...)
		next.Large, changed = append(rest.Large, next.Large...), true
	}
	if changed {
		text = next.encode()
	}
	return append(all, text), p.pass(next.After.Offset + int64(len(next.Lines)))
}

// has reports whether the log has the lines of a segment.
func (p *refilled) has(segment Segment) bool {
	from := segment.After.Offset
	to := from + int64(len(segment.Lines))
	isInside := from >= p.at.Offset && to <= p.reader.Size
	return isInside && bytes.Equal(p.log[from:to], segment.Lines)
}

// next reads a line unless one waits.
func (p *refilled) next() (err error) {
	if !p.waits {
		p.event, p.follows, err = p.reader.Next()
		p.waits = err == nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the log ends early: %w", home.ErrCorrupt)
	}
	return err
}

func (p *refilled) done() { p.at, p.waits = p.reader.At, false }

// pass passes over lines that the store has.
func (p *refilled) pass(upto int64) error {
	for p.at.Offset < upto {
		if err := p.next(); err != nil {
			return err
		}
		p.reach.Pass(p.event)
		p.done()
	}
	return nil
}

// take moves lines of the log into a segment, whole appends, with the texts that they name: as large ones where there is
// no room.
func (p *refilled) take(into *Segment, upto int64, most int) error {
	for p.at.Offset < upto {
		if err := p.next(); err != nil {
			return err
		}
		isFull := len(into.Lines) > 0 && into.size()+len(p.reader.Line) > most
		if isFull && !p.follows {
			break
		}
		into.Lines = append(into.Lines, p.reader.Line...)
		known := len(p.reach.Found)
		p.reach.Line(p.event, p.reach.Refs(p.event))
		for _, hash := range p.reach.Found[known:] {
			text, err := p.here(hash)
			if err != nil {
				return err
			}
			if hasRoom := most == segmentSize && into.size()+len(text) <= most; hasRoom {
				into.Texts = append(into.Texts, text)
				continue
			}
			sum := blobs.Sum(text)
			if err := p.putLarge(p.ctx, sum, text); err != nil {
				return err
			}
			into.Large = append(into.Large, sum)
		}
		p.done()
	}
	return nil
}
