package agent

import (
	"slices"
	"time"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// gone is the source of lines that were to wake the identity and have gone from their rooms before
// it heard them: somebody has edited the room, or removed it. They are posted again.
type gone struct {
	*Agent
	since time.Time // when that was found; an editor may be about to write the room
}

func (g *gone) next() time.Time {
	switch {
	case len(g.lines()) == 0:
		g.since = time.Time{}
		return g.since
	case g.since.IsZero():
		g.since = time.Now()
	}
	return g.since.Add(settleTime)
}

func (g *gone) due(now time.Time) (out []record, err error) {
	if g.since.IsZero() || now.Before(g.since.Add(settleTime)) {
		return nil, nil
	}
	for _, w := range g.lines() {
		e := event.Fired{By: w.By, Again: w.Hash, Notice: event.Notice{Posting: g.posting(w.Room)}}
		out = append(out, record{event: e})
	}
	g.since = time.Time{}
	return out, nil
}

func (g *gone) lines() []mind.Wake {
	return slices.DeleteFunc(g.state.Gone(), func(w mind.Wake) bool { return !g.heardAll(w.Room) })
}

// heardAll reports whether a room has nothing that is still to be heard.
func (a *Agent) heardAll(room string) bool {
	if !slices.Contains(a.joined(), room) {
		return false
	}
	inode, size, err := chat.End(a.path(room))
	at := a.cursor(room)
	return err == nil && (size == 0 || size == at.Offset && inode == at.Inode)
}
