package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lethe/bridge/health"
)

// grace is how long a Send that is under way may go on when Deliver is to end.
const grace = time.Second

// send sends the parts of the line under way that are not settled yet.
func (d *delivery) send(ctx context.Context) error {
	line := d.now.Line
	for i := line.next(); i >= 0 && ctx.Err() == nil; i = line.next() {
		part := line.Parts[i]
		out := part
		out.Data = slices.Clone(part.Data) // the transport's to change
		longer, end := graceful(ctx)
		receipt, err := d.t.Send(longer, d.p, out)
		end()
		refused := new(RefusedError)
		switch {
		case err == nil:
			part.State, part.Receipt = Sent, receipt
		case errors.As(err, &refused):
			part.State, part.Reason = Refused, fmt.Sprint(refused.Err)
			d.b.health.Refused(health.Sending(d.p.Key), fmt.Errorf("part %d of line %d..%d of room %s: %w", i+1, line.From, line.To, line.Room, err))
		default:
			return err
		}
		d.failed = 0
		d.trouble(health.NoLines, nil)
		// It is the case from now on, also when it cannot be written yet: within this
		// process the part is not sent again.
		line.Parts[i] = part
		if d.unsaved = true; line.next() < 0 {
			d.now.Line = nil
		}
		if err := d.save(d.now); err != nil {
			return err
		}
	}
	return nil
}

// graceful is ctx, lasting a little longer, for a request that is under way. end
// has to be called.
func graceful(ctx context.Context) (longer context.Context, end func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() { stop(); cancel() }
}
