package stdin

import (
	"time"

	"lethe/chat"
	"lethe/internal/secret"
)

// message is one line of a room.
type message = chat.Line

// readBytes bounds one read of a room, so that a flood does not hold the feed.
const readBytes = 1 << 20

// room is a view on one room's file: the lines from some point to its end.
type room struct {
	name, path string
	cursor     chat.Cursor
}

func newRoom(cfg Config, name string) *room {
	return &room{name: name, path: chat.Path(cfg.Home, name)}
}

// last starts over at the last n lines.
func (r *room) last(n int) ([]message, error) {
	_, _, cursor, err := chat.Tail(r.path, n)
	if err != nil {
		return nil, err
	}
	r.cursor = cursor
	lines, _, err := r.next()
	return lines, err
}

// next returns what was appended since. When the file is no longer the one that
// was read, fresh is true and the lines are its end.
func (r *room) next() (lines []message, fresh bool, err error) {
	for more := true; more; {
		b, err := chat.Read(r.path, r.cursor, readBytes)
		if err != nil {
			return lines, false, err
		}
		if b.Restarted {
			lines, err := r.last(history)
			return lines, true, err
		}
		lines = append(lines, b.Lines...)
		r.cursor, more = b.Next, b.More
	}
	return lines, false, nil
}

// say appends text and returns where its line ends.
func (r *room) say(user, text string) (to int64, err error) {
	line, err := chat.Format(false, user, time.Now(), secret.Text(text))
	if err != nil {
		return 0, err
	}
	_, to, err = chat.Append(r.path, line)
	return to, err
}
