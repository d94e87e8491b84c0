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
	err := s.gather()
	for room := range s.step.Sizes {
		path := filepath.Join(s.anew, chat.FileName(room))
		if err == nil && chat.ValidRoom(room) {
			err = durable.Rename(path, chat.Path(r.Dir, room))
		} else if err == nil {
			var lines []byte
			lines, err = os.ReadFile(path)
			private(room, lines)
		}
	}
	if err == nil {
		err = durable.SyncDir(chat.Dir(r.Dir))
	}
	return err
}
