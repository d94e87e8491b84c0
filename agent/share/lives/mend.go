package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/life"
)

// mend writes again what the store has lost of the life, as this disk has it. Own files are stored as they are now.
func (c *Tenure) mend(ctx context.Context) error {
	if c.id.Erasing() != nil {
		return nil // which makes all anew
	}
	c.beside.Wait()
	for name := range c.files.known {
		c.files.known[name] = blobs.Sum([]byte("lost")) // which no file has
	}
	_, err := c.send(ctx, nil)
	for range 2 { // the newest one stays as it is, and the one before it can have lines
		if err == nil {
			err = c.create(ctx, c.empty())
		}
	}
	if err == nil {
		err = c.refill(ctx)
	}
	if err == nil {
		c.lacks = false
		err = c.save()
	}
	if err != nil {
		return fmt.Errorf("write again what the store has lost of %s: %w", c.id.Name, err)
	}
	c.lives.Log.Warn("what the store had lost of a life was written again", "identity", c.id.Name)
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
	p := &refilled{Tenure: c, ctx: ctx, log: log, reader: reader, reach: home.NewReach(c.store, c.id.Self), why: streams.Mended}
	gen, err := c.lives.Streams.Rewrite(ctx, Stream(c.id.Self), func() string { return p.why }, begins, p.segments)
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
	why     string

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
	changed := false
	if !next.Begins && !p.has(next) { // it was written behind lines that are lost for good
		next.Lines, next.Texts, next.Large, next.After = nil, nil, nil, p.at
		changed, p.why = true, streams.Erased
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
	rest := Segment{After: p.at}
	if err := p.take(&rest, next.After.Offset, math.MaxInt); err != nil {
		return nil, err
	}
	if len(rest.Lines) > 0 {
		next.After, next.Lines = rest.After, append(rest.Lines, next.Lines...)
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

// take moves lines of the log into a segment, whole appends, with the texts that they name as large ones.
func (p *refilled) take(into *Segment, upto int64, most int) error {
	for p.at.Offset < upto {
		if err := p.next(); err != nil {
			return err
		}
		isFull := len(into.Lines) > 0 && len(into.Lines)+len(p.reader.Line) > most
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
