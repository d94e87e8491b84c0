package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"lethe/chat"
)

// Peer is a place on the other side that hears a room.
type Peer struct {
	// Key names the peer for ever: [a-zA-Z0-9_-][a-zA-Z0-9._-]{0,99}, since it is
	// also a file name.
	Key  string
	Room string
}

// Line is a line of an agent on its way out.
type Line struct {
	chat.Line
	Room string
	// Open are the lines from this peer since the newest line that was sent to it, at most the newest 16, oldest first.
	// The line may answer each. Where there is one, it can be shown as a reply to that.
	Open []Origin
}

// A Part goes out at once.
type Part struct {
	Data json.RawMessage `json:"data"` // the Sender's own
	// Earlier versions kept parts that were sent, or refused, until all were.
	State string `json:"state,omitempty"`
}

// Sender delivers lines of rooms to peers. Deliver calls it for one peer from
// one goroutine.
type Sender interface {
	// Parts cuts a line of an agent into the parts that are sent one by one; without a part the line is skipped. The
	// parts are durable before the first is sent, and Parts is not called again once they are. ErrRefused skips the
	// line with a warning; after any other error Parts is called again, with back-off.
	Parts(p Peer, l Line) ([]Part, error)
	// Send delivers one part. Its errors wrap those below; any other is taken for
	// transient, and the part is sent again after a back-off of 1 s to 1 min. When
	// Deliver is to end, ctx ends a second later, so that a request under way can
	// still be answered.
	Send(ctx context.Context, p Peer, part Part) error
}

// LaterError asks to try the part again after a time. Health shows Err as it is, so Err should tell the time.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return fmt.Sprintf("not before %s: %v", e.After, e.Err) }
func (e *LaterError) Unwrap() error { return e.Err }

// Errors of a Sender.
var (
	// ErrRefused says that the part will never be taken. It is logged, and the next part follows.
	ErrRefused = errors.New("refused")
	// ErrUnreachable says that the peer takes nothing until somebody acts on the other side. It is
	// tried again every 10 min, and at Wake.
	ErrUnreachable = errors.New("unreachable")
)
