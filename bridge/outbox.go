package bridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"lethe/chat"
)

const (
	// unreachablePause passes before a peer that takes nothing is tried again.
	unreachablePause = 10 * time.Minute
	// grace lets a Send that is under way go on when Deliver is to end.
	grace = time.Second
)

// Deliver copies the agents' lines in p.Room to p, in order, from p's position on, until ctx ends; then it returns nil.
// A new peer starts at the room's end, and so does a peer that is given another room.
//
// At least once: a part is sent again if its delivery is unknown, because of a
// crash or a lost answer between Send and its mark. It is never skipped, whatever
// the errors, except ErrRefused. The parts of a line are kept as they are, also by a
// newer program that would cut it otherwise.
//
// While the room is missing, Deliver waits. If it was replaced by other text, it
// goes on with the first line whose tag is later than any it had passed, or at the
// end: history is not sent again.
//
// Deliver refuses a Peer that is malformed or delivered to already. After trouble with
// its own files it tries again, as after trouble with the other side, and logs it.
func (b *Bridge) Deliver(ctx context.Context, to Peer, sender Sender) error {
	if err := to.check(); err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	there := b.peer(to.Key)
	if !there.running.CompareAndSwap(false, true) {
		return fmt.Errorf("deliver to %s: it is being delivered to already", to.Key)
	}
	defer there.running.Store(false)
	path := b.cfg.Shared.Room(to.Room)
	room := chat.Scope{Dir: filepath.Dir(path), Names: []string{filepath.Base(path)}}
	changed, cancel := b.cfg.Watcher.Subscribe(room)
	defer cancel()
	b.delivery(to, sender).run(ctx, changed)
	return nil
}

// delivery is one Deliver.
type delivery struct {
	bridge *Bridge
	to     Peer
	sender Sender
	there  *peer
	path   string
	wait   *backoff.ExponentialBackOff // after failures

	now     *peerState // what is the case; nil until it was loaded
	unsaved bool       // now is ahead of the disk by more than lines of people
}

func (b *Bridge) delivery(to Peer, sender Sender) *delivery {
	wait := Backoff(750*time.Millisecond, 45*time.Second)
	there, path := b.peer(to.Key), b.cfg.Shared.Room(to.Room)
	return &delivery{bridge: b, to: to, sender: sender, there: there, path: path, wait: wait}
}

// Backoff gives the times between attempts, on average from first to most. They are random, so that what failed
// together does not come back together.
func Backoff(first, most time.Duration) *backoff.ExponentialBackOff {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = first, most
	wait.Multiplier, wait.RandomizationFactor = 2, 1./3
	return wait
}

func (d *delivery) run(ctx context.Context, changed <-chan struct{}) {
	defer d.bridge.health.change(func() { delete(d.bridge.health.troubles, d.what()) })
	for {
		err := d.catchUp(ctx)
		if ctx.Err() != nil {
			d.leave()
			return
		}
		if err == nil {
			d.wait.Reset()
			d.trouble("", nil)
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		wake := d.there.wake
		if errors.As(err, new(*LaterError)) {
			wake = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(d.pause(err)):
		case <-wake:
		}
	}
}

// leave writes down what was passed over. If that fails, a later process passes it over again.
func (d *delivery) leave() {
	if d.now != nil {
		if err := d.save(*d.now); err != nil {
			d.bridge.log.Warn("the position of a peer could not be written at the end", "peer", d.to.Key, "err", err)
		}
	}
}

// trouble records how it goes with this peer; unreachable is its key, or empty.
func (d *delivery) trouble(unreachable string, err error) {
	d.bridge.health.trouble(d.what(), unreachable, err)
}

func (d *delivery) what() string { return "send to peer " + d.to.Key }

// refused records what is left out.
func (d *delivery) refused(what string, err error) {
	d.bridge.log.Warn("the other side refuses what is to go out; it is left out", "what", what, "err", err)
	d.bridge.health.change(func() { d.bridge.health.show(fmt.Errorf("send %s: %w", what, err)) })
}

// pause reports a failure and returns the time to wait.
func (d *delivery) pause(err error) time.Duration {
	var later *LaterError
	switch {
	case errors.As(err, &later):
		d.trouble("", nil)
		d.bridge.health.change(func() { d.bridge.health.show(fmt.Errorf("waiting to %s: %w", d.what(), later.Err)) })
		if later.After > 0 {
			return later.After
		}
	case errors.Is(err, ErrUnreachable):
		d.trouble(d.to.Key, err)
		return unreachablePause
	default:
		d.trouble("", err)
	}
	return d.wait.NextBackOff()
}

// catchUp sends everything up to the room's end. After an error it is to be
// called again.
func (d *delivery) catchUp(ctx context.Context) error {
	if err := d.load(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if d.unsaved {
			if err := d.save(*d.now); err != nil {
				return err
			}
		}
		if d.now.Line != nil {
			if err := d.send(ctx); err != nil {
				return err
			}
			continue
		}
		done, err := d.read(ctx)
		if err != nil || done {
			return err
		}
	}
	return nil
}

func (d *delivery) load() error {
	if d.now != nil {
		return nil
	}
	d.there.mu.Lock()
	defer d.there.mu.Unlock()
	if err := d.there.attach(d.bridge, d.to.Room); err != nil {
		return err
	}
	d.now = d.there.state // this Deliver owns its content from now on
	return nil
}

// save makes st what is the case, once it is on disk.
func (d *delivery) save(st peerState) error {
	if err := d.there.write(st); err != nil {
		return err
	}
	*d.now, d.unsaved = st, false
	return nil
}

// read goes on in the room up to the first line that is to be sent; done means
// that there is nothing more.
func (d *delivery) read(ctx context.Context) (done bool, err error) {
	batch, err := chat.Read(d.path, d.now.Cursor, 0)
	if err != nil {
		return false, err
	}
	atStart := d.now.Cursor.Offset == 0 && len(batch.Lines) > 0
	switch {
	case batch.Missing:
		return true, nil
	case batch.Restarted, atStart && !d.now.Newest.IsZero():
		return false, d.restart(batch)
	case batch.Realigned:
		d.bridge.log.Info("a room was edited; going on after the lines that are known",
			"room", d.to.Room, "peer", d.to.Key)
	}
	for i := range batch.Lines {
		begun, err := false, ctx.Err()
		if err == nil {
			begun, err = d.pass(batch, i)
		}
		if err != nil {
			d.now.Cursor = batch.After(i)
		}
		if err != nil || begun {
			return false, err
		}
	}
	d.now.Cursor = batch.Next
	return !batch.More, nil
}

// pass takes one line of a batch: it begins to send it, or passes it over.
func (d *delivery) pass(batch chat.Batch, i int) (begun bool, err error) {
	line, next := batch.Lines[i], *d.now
	next.Newest = later(next.Newest, line)
	if !line.Agent {
		if o, ours := d.bridge.origin(d.to.Room, line); ours && o.Peer == d.to.Key {
			o.From, o.To = line.From, line.To
			next.ask(&o)
		}
		*d.now = next
		return false, nil
	}
	parts, err := d.sender.Parts(d.to, Line{Line: line, Room: d.to.Room, Open: next.open()})
	if errors.Is(err, ErrRefused) {
		d.refused(fmt.Sprintf("line %d..%d of room %s", line.From, line.To, d.to.Room), err)
		parts, err = nil, nil
	}
	if err != nil {
		return false, fmt.Errorf("render line %d..%d of room %s: %w", line.From, line.To, d.to.Room, err)
	}
	next.Cursor = batch.After(i + 1)
	if len(parts) > 0 {
		next.Asked, next.Earlier = nil, nil
		next.Line = &sending{Room: d.to.Room, From: line.From, To: line.To, Parts: parts}
	}
	err = d.save(next)
	return err == nil && next.Line != nil, err
}

// send sends the parts of the line under way.
func (d *delivery) send(ctx context.Context) error {
	for line := d.now.Line; len(line.Parts) > 0 && ctx.Err() == nil; {
		out := Part{Data: slices.Clone(line.Parts[0].Data)} // the Sender's to change
		longer, end := graceful(ctx)
		err := d.sender.Send(longer, d.to, out)
		end()
		if errors.Is(err, ErrRefused) {
			d.refused(fmt.Sprintf("a part of line %d..%d of room %s", line.From, line.To, line.Room), err)
		} else if err != nil {
			return err
		}
		d.wait.Reset()
		d.trouble("", nil)
		// It is the case from now on, also when it cannot be written yet: within this
		// process the part is not sent again.
		line.Parts, d.unsaved = line.Parts[1:], true
		if len(line.Parts) == 0 {
			d.now.Line = nil
		}
		if err := d.save(*d.now); err != nil {
			return err
		}
	}
	return nil
}

// graceful returns a context that ends a little after ctx, for a request that is under way. end has to be called.
func graceful(ctx context.Context) (longer context.Context, end func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() { stop(); cancel() }
}

// restart goes on in a room that has lost the lines that were heard, with the first line that is newer than these.
func (d *delivery) restart(batch chat.Batch) error {
	next, passed, first := *d.now, 0, 0
	said := func(l chat.Line) bool { // a line without a tag may have been
		newer := l.Tagged && l.At.After(next.Newest)
		return next.Newest.IsZero() || !newer
	}
	for {
		for first = 0; first < len(batch.Lines) && said(batch.Lines[first]); first++ {
			passed++
		}
		if first < len(batch.Lines) || !batch.More {
			break
		}
		var err error
		if batch, err = chat.Read(d.path, batch.Next, 0); err != nil {
			return err
		}
	}
	next.Cursor = batch.After(first)
	if next.Cursor.Offset == 0 && len(batch.Lines) > 0 {
		next.Newest = time.Time{} // this start is the right one: see read
	}
	if err := d.save(next); err != nil {
		return err
	}
	d.bridge.log.Warn("a room was emptied or replaced; of its lines, those are passed over that were there before",
		"room", d.to.Room, "peer", d.to.Key, "passed", passed)
	return nil
}
