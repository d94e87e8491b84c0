package rooms

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
)

// Restore writes the rooms as they were at a time, by the clocks of the hosts that wrote, into the chats of a home that
// shares nothing. It calls private with the lines of each room of the hosts.
func (r *Rooms) Restore(ctx context.Context, at time.Time, private func(room string, lines []byte)) error {
	s := &round{Rooms: r, ctx: ctx, until: at}
	if err := s.gather(); err != nil {
		return err
	}
	for room := range s.step.Sizes {
		path := filepath.Join(s.anew, chat.FileName(room))
		if chat.ValidRoom(room) {
			if err := durable.Rename(path, chat.Path(r.Dir, room)); err != nil {
				return err
			}
			continue
		}
		lines, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		private(room, lines)
	}
	return durable.SyncDir(chat.Dir(r.Dir))
}

// Read reads all that the store has of the rooms. It calls read for each text, lost for each that is missing or damaged,
// and said with the lines that each entry adds to a room. It writes nothing.
func (r *Rooms) Read(
	ctx context.Context, read func(bytes int), lost func(what error), said func(room string, lines []byte),
) error {
	fetched := map[blobs.Hash]bool{}
	large := func(what string, hash blobs.Hash) ([]byte, error) {
		text, err := r.Streams.Large(ctx, Stream, hash)
		read(len(text))
		if streams.Unreadable(err) {
			lost(fmt.Errorf("%s: %w", what, err))
			return nil, nil
		}
		return text, err
	}
	at, err := r.Streams.Each(ctx, Stream, streams.At{}, func(n int, text []byte, err error) error {
		read(len(text))
		var e entry
		if err == nil {
			e, err = decode(text)
		}
		if err != nil {
			lost(fmt.Errorf("entry %d: %w", n, err))
			return nil
		}
		for _, part := range e.Items {
			if !part.Large.IsZero() {
				if part.lines, err = large("lines of room "+part.Room, part.Large); err != nil {
					return err
				}
			}
			said(part.Room, part.lines)
			for _, hash := range part.Files {
				if fetched[hash] {
					continue
				}
				fetched[hash] = true
				if _, err := large("a file in room "+part.Room, hash); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var known step
	_ = durable.ReadJSON(filepath.Join(r.Dir, "share", stepFile), all, &known) // without it nothing is known
	if err == nil && at.N < known.N {
		lost(fmt.Errorf("its newest entries are gone: %d", known.N-at.N))
	}
	return err
}
