// Package bridge is the part that every bridge between rooms and an outside
// service has in common: what came in, what has to go out, and whether the other
// side can be reached. What is left for a transport is to fetch, to render and to
// send:
//
//	b, err := bridge.Open(bridge.Config{Home: home, Name: "pager", Watcher: watcher})
//	defer b.Close()
//	go b.Run(ctx)
//	go b.Deliver(ctx, bridge.Peer{Key: "42", Room: "dev"}, transport)
//	for {
//		messages, place := …           // of the other side, from b.Place() on
//		_, err := b.Accept(ctx, place, messages...)
//		…                              // acknowledge them only when err is nil
//	}
//
// What the package guarantees, through kill -9 and power loss at any point:
//
//   - Inward exactly once. A message that Accept took is in its room once,
//     however often the other side repeats it, and those of one user in a room
//     stay in order, but for commands to the harness, which do not wait. Accept
//     keeps an intent in inbox.jsonl, posts with chat.Post, and records that it did.
//   - Outward at least once. A line is cut into parts that are durable before the
//     first is sent, and each part is marked when it was. Parts go out in order
//     and none is skipped. The part whose mark a crash or a lost answer prevented
//     is sent again; nothing else is.
//   - One process per bridge: Open takes a lock that ends with the process.
//   - A state file that cannot be read is kept beside the new one and reported;
//     it neither stops the bridge nor is it overwritten.
//
// The room itself is the queue of what goes out, so a bridge that was away for a
// week sends what was said meanwhile. Flood limits delay what comes in and never
// drop it, unless its user is shut out meanwhile. docs/bridges.md specifies the files.
package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"lethe/chat"
)

// DefaultStale is how long a bridge may be without a successful exchange before
// it counts as deaf.
const DefaultStale = 2 * time.Minute

// Config says which bridge to open.
type Config struct {
	Home string
	// Name names the bridge and its directory, <home>/bridges/<name>. It has the
	// form of a room's name.
	Name string
	Log  *slog.Logger // may be nil
	// Watcher tells Deliver of new lines. The caller runs it.
	Watcher *chat.Watcher
	Flood   Flood
	Stale   time.Duration // 0: DefaultStale
	// Listens says that the transport fetches what comes in, so that only its own
	// calls of Exchanged show that it is not deaf: sending can go well while
	// fetching fails.
	Listens bool
	// Allowed is asked about a message that had to wait for a second, for a flood limit,
	// for its room or in an Accept, or through a restart, right before it is posted; nil
	// allows all. The
	// Message comes without its Text. One that is not allowed is dropped for good:
	// its sender may have been shut out since it was taken. After an error, which says
	// that nobody can tell, the message waits on, and those behind it in its room. It
	// is called from one goroutine at a time, and must not call the Bridge.
	Allowed func(Message) (bool, error)
}

// Rate allows a burst of Lines, and after that one every Per/Lines. A Rate of
// no Lines is no limit.
type Rate struct {
	Lines int
	Per   time.Duration
}

// Flood limits what comes in: per Message.Key, and per room.
type Flood struct{ User, Room Rate }

// RunningError is Open's when another process has the bridge.
type RunningError struct {
	Bridge string
	PID    int // 0: not known
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("open bridge %s: another process runs it", e.Bridge)
	}
	return fmt.Sprintf("open bridge %s: process %d runs it", e.Bridge, e.PID)
}

// errClosed is what a closed bridge answers.
var errClosed = errors.New("the bridge is closed")

// Bridge is one bridge's state. Its methods may be called from any goroutine.
type Bridge struct {
	cfg  Config
	dir  string
	log  *slog.Logger
	lock *flock.Flock
	lost bool // the lock file is not ours any more; under inbox.io

	inbox   *inbox
	vital   *vital
	running chan struct{} // capacity 1: Run

	// mu guards the map; each peer has a lock of its own.
	mu    sync.Mutex
	peers map[string]*peer // by key, as they are asked for
}
