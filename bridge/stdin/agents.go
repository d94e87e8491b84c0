package stdin

import (
	"slices"
	"strings"

	"lethe/internal/status"
)

// agent is an identity as its status file shows it.
type agent struct {
	status.Status
	Dir   string
	Alive bool   // its process runs
	Live  string // the reply it is writing, so far
}

// hears says whether the agent runs and is subscribed to room.
func (a agent) hears(room string) bool {
	return a.Alive && slices.Contains(a.Rooms, room)
}

func (a agent) working() bool {
	return a.Alive && (a.State == status.Thinking || a.State == status.Acting)
}

// busyIn says whether the agent works on something that room waits for.
func (a agent) busyIn(room string) bool { return a.Alive && a.BusyIn(room) }

// done says whether everything in room up to the byte offset to is answered, if
// it ever will be: it was heard, and no turn for the room is under way. What
// was answered was posted before this could be seen.
func (a agent) done(room string, to int64) bool {
	if !a.Alive {
		return true
	}
	return a.Heard[room] >= to && !a.working() && a.State != status.Starting &&
		!slices.Contains(a.Answering, room)
}

// reason is why an agent is paused.
func (a agent) reason() string {
	if r := oneLine(a.Error); r != "" {
		return r
	}
	return "the status gives no reason"
}

// readAgent reads one identity's directory; ok is false when it shows nothing.
func readAgent(dir string) (a agent, ok bool) {
	s, err := status.Read(dir)
	if err != nil {
		return a, false
	}
	a = agent{Status: s, Dir: dir, Alive: s.State != status.Stopped && status.Alive(s.PID)}
	if a.working() {
		a.Live = status.ReadLive(dir)
	}
	return a, true
}

// readAgents reads the identities in dirs, by name; those that do not run are
// left out.
func readAgents(dirs []string) []agent {
	var all []agent
	for _, dir := range dirs {
		if a, ok := readAgent(dir); ok && a.Alive {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b agent) int { return strings.Compare(a.Name+a.Self, b.Name+b.Self) })
	return all
}

// listeners are the agents that hear room; the one called self, a name or a
// hash, comes first.
func listeners(agents []agent, room, self string) []agent {
	var heard []agent
	for _, a := range agents {
		if !a.hears(room) {
			continue
		}
		if self != "" && (a.Name == self || a.Self == self) {
			heard = slices.Insert(heard, 0, a)
			continue
		}
		heard = append(heard, a)
	}
	return heard
}
