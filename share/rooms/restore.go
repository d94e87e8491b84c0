package rooms

import (
	"context"
	"fmt"
	"io"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/share/streams"
)

// Restore writes the rooms as they were at a time, by the clocks of those who wrote, into the chats of a home that shares
// nothing, and calls private for each line of a room of the hosts.
func (r *Rooms) Restore(ctx context.Context, at time.Time, private func(room string, lines []byte)) error {
	s := &round{Rooms: r, ctx: ctx}
	size := map[string]int64{}
	_, err := r.Streams.Scan(ctx, Stream, streams.At{}, func(n int, text []byte) error {
		e, err := decode(text)
		if err == nil && e.At.After(at) {
			return io.EOF
		}
		if err == nil {
			err = s.fetch(e.Items)
		}
		var later durable.Syncs
		for _, i := range e.Items {
			if err == nil && !chat.ValidRoom(i.Room) {
				private(i.Room, i.lines)
			} else if err == nil {
				err = durable.WriteEnd(&later, chat.Path(r.Dir, i.Room), size[i.Room], i.lines, 0o600)
				size[i.Room] += int64(len(i.lines))
			}
		}
		if err == nil {
			err = later.Wait()
		}
		if err != nil {
			err = fmt.Errorf("entry %d of the rooms: %w", n, err)
		}
		return err
	})
	if err == io.EOF {
		err = nil
	}
	return err
}
