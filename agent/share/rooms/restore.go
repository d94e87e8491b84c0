package rooms

import (
	"context"
	"os"
	"path/filepath"
	"time"

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
