package rooms

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
)

// Restore writes the rooms as they were at a time, by the clocks of those who wrote, into the chats of a home that shares
// nothing, and calls private for each line of a room of the hosts.
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
