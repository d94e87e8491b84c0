package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// grace is how long a Send that is under way may go on when Deliver is to end.
const grace = time.Second

// send sends the parts of the line under way that are not settled yet.
func (d *delivery) send(ctx context.Context) error {
	for i := d.now.Line.next(); i >= 0; i = d.now.Line.next() {
		if ctx.Err() != nil {
			return nil
		}
		part := d.now.Line.Parts[i]
		out := part
		out.Data = slices.Clone(part.Data) // the transport's to change
		d.b.vital.begins(time.Now(), d.p.Key)
		longer, end := graceful(ctx)
		receipt, err := d.t.Send(longer, d.p, out)
		end()
		var refused *RefusedError
		switch {
		case err == nil:
			part.State, part.Receipt = Sent, receipt
		case errors.As(err, &refused):
			part.State, part.Reason = Refused, fmt.Sprint(refused.Err)
		default:
			d.answered(err)
			return err
		}
		d.failed = 0
		d.b.vital.reach(d.p.Key, nil)
		d.b.vital.sent(time.Now(), d.p.Key)
		d.b.delivered()
		if refused != nil {
			d.b.vital.refused(d.p.Key, fmt.Errorf("part %d of line %d..%d of room %s: %w", i+1,
				d.now.Line.From, d.now.Line.To, d.now.Line.Room, refused))
		}
		if err := d.mark(i, part); err != nil {
			return fileError{err}
		}
		if d.now.Line == nil {
			break
		}
	}
	return nil
}

// answered notes that the other side did say something, though no.
func (d *delivery) answered(err error) {
	var later *LaterError
	var unreachable *UnreachableError
	if errors.As(err, &later) || errors.As(err, &unreachable) {
		d.b.delivered()
	}
}

// mark settles part i. It is the case from now on, also when it cannot be written
// yet: within this process it is not sent again.
func (d *delivery) mark(i int, part Part) error {
	d.there.mu.Lock()
	d.now.Line.Parts[i] = part
	d.there.mu.Unlock()
	d.unsaved = true
	if d.now.Line.next() < 0 {
		d.now.Line = nil
		return d.save(d.now)
	}
	d.there.mu.Lock()
	defer d.there.mu.Unlock()
	if err := d.there.mark(d.now, mark{i, part.State, part.Receipt, part.Reason}); err != nil {
		return err
	}
	d.unsaved, d.skipped, d.agents = false, 0, false
	return nil
}

// graceful is ctx, lasting a little longer, for a request that is under way. end
// has to be called.
func graceful(ctx context.Context) (longer context.Context, end func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(late)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		cancel(context.Canceled)
		if !stop() {
			<-late
		}
	}
}
