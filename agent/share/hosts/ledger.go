package hosts

import (
	"path/filepath"

	"lethe/agent/budget"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/internal/durable"
)

// ledger is budget.Remote: a book of lines of accounts with the spending of all hosts. Its callers hold the lock of the
// ledger.
type ledger struct{ *Cluster }

func (l ledger) book() (streams.Book, error) {
	err := l.connect()
	file := filepath.Join(l.home.Dir, "share", "ledger")
	return streams.Book{Streams: l.streams, Stream: "ledger", File: file}, err
}

func (l ledger) Pull(f func(lines []byte, whole bool) error) error {
	b, err := l.book()
	if err == nil && budget.NewLedger(l.home.Dir).Missing() { // it was deleted here: all of it is read
		err = durable.Remove(b.File)
	}
	if err == nil {
		err = b.Pull(l.untilEnd(), f)
	}
	return err
}

func (l ledger) Push(lines []byte, whole bool) error {
	b, err := l.book()
	if err == nil {
		err = b.Push(l.untilEnd(), lines, whole)
	}
	if share.IsTaken(err) {
		err = budget.ErrChanged
	}
	return err
}
