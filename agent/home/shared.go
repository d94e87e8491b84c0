package home

import (
	"context"
	"errors"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/mind"
)

// Sharing gives access to all that several hosts of a home share.
type Sharing interface {
	// Hold brings the log of an identity, whose lock the caller has, up to date with other hosts. The error is
	// an *ElsewhereError where another host has the life.
	Hold(ctx context.Context, id Identity, store *blobs.Store) (Tenure, error)
	// Room is the file of a room, in the order that all hosts have.
	Room(room string) string
	// Post has a line stand in a room once, at all hosts, however often it is called with the same line and mark, of a
	// place before it. It returns the bytes of the line in the file of Room.
	Post(room string, line []byte, from chat.Mark) (at, to int64, err error)
	// Elsewhere lists the lives that other hosts have.
	Elsewhere() []*ElsewhereError
	// Away reports whether the identities that run here wait, since what is shared cannot be reached.
	Away() bool
	// Removed has the other hosts and the store forget a life that is about to be removed here.
	Removed(id Identity) error
	// Ledger is the ledger of all hosts.
	Ledger() Ledger
}

// Ledger is spend.Remote.
type Ledger interface {
	Pull(f func(lines []byte, whole bool) error) error
	Push(lines []byte, whole bool) error
}

// ErrAway says that what the hosts share cannot be reached.
var ErrAway = errors.New("the store of [share] is away")

// Tenure is the right of this host to go on with a life.
type Tenure interface {
	// Open stores what the log has more than the store: all of a life that was not shared before. It returns how often
	// the life was handed over.
	Open(ctx context.Context, log *life.Log, s *mind.State) (custody int, err error)
	// Ship makes what the log has more than the store durable there, with texts that it names. Nothing outside rests on a
	// line before.
	Ship(ctx context.Context, texts []blobs.Hash) error
	// Snapshot stores the workspace as it is now; the next Ship tells the other hosts.
	Snapshot(ctx context.Context)
	// Missing returns the names of files of the workspace that stayed at another host, since this one took the life.
	Missing() []string
	// Check makes sure that no other host has taken the life since the store was last asked, unless that was just now.
	Check(ctx context.Context) error
	// Erased has the store hold the same as this host, after an erasure, and nothing else.
	Erased(ctx context.Context) error
	Close() error
}

// Room is the file where a room is heard and posted to.
func (h Home) Room(room string) string {
	if h.Shared != nil {
		return h.Shared.Room(room)
	}
	return chat.Path(h.Dir, room)
}

// Post is chat.Post for the rooms of the home.
func (h Home) Post(room string, line []byte, from chat.Mark) (at, to int64, err error) {
	if h.Shared != nil {
		return h.Shared.Post(room, line, from)
	}
	return chat.Post(chat.Path(h.Dir, room), line, from)
}
