package stdin

import (
	"slices"
	"strings"

	"lethe/internal/status"
)

// agent is an identity that runs, as its status file shows it.
type agent struct {
	status.Status
	Live status.Live // what is under way
	dir  string
}

func (a agent) working() bool {
	return a.State == status.Thinking || a.State == status.Acting
}

// done says whether everything in room up to the byte offset to is answered, if
// it ever will be: it was heard, and no turn for the room is under way. What
// was answered was posted before this could be seen.
func (a agent) done(room string, to int64) bool {
	return a.Heard[room] >= to && !a.working() && a.State != status.Starting &&
		!slices.Contains(a.Answering, room)
}

// readAgents reads the identities in dirs, by name. One that does not run is stopped.
func readAgents(dirs []string) []agent {
	var all []agent
	for _, dir := range dirs {
		s, err := status.Read(dir)
		if err != nil {
			continue
		}
		if !status.Alive(s.PID) {
			s.State = status.Stopped
		}
		a := agent{Status: s, dir: dir}
		if a.working() {
			a.Live = status.ReadLive(dir)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b agent) int { return strings.Compare(a.Name+a.Self, b.Name+b.Self) })
	return all
}

// listeners are the agents that hear room; the one called self, a name or a
// hash, comes first.
func listeners(agents []agent, room, self string) []agent {
	var all []agent
	for _, a := range agents {
		switch {
		case !slices.Contains(a.Rooms, room):
		case self != "" && (a.Name == self || a.Self == self):
			all = slices.Insert(all, 0, a)
		default:
			all = append(all, a)
		}
	}
	return all
}
