package mind

import (
	"fmt"
	"maps"
	"slices"
)

// goesOn notes that a call goes on as a job, whose end a room is told; 0 is none.
func (s *State) goesOn(job int, room string) {
	if job > 0 {
		s.LastJob = job
		s.Jobs = plus(s.Jobs, Job{ID: job, Room: room})
	}
}

// Signer signs the line that tells the end of a job.
func (j Job) Signer() string { return fmt.Sprintf("job-%d", j.ID) }

// jobEnded notes the end of the job of that signer, if it is one of a job.
func (s *State) jobEnded(by string) bool {
	all := len(s.Jobs)
	s.Jobs = without(s.Jobs, func(j Job) bool { return j.Signer() == by })
	return len(s.Jobs) < all
}

// TurnRoom is the first room that the turn under way answers to, or else the first that
// is heard; "" when none is.
func (s *State) TurnRoom() string {
	joined := func(name string) bool { return s.Rooms[name] != nil && s.Rooms[name].Joined }
	rooms := slices.Concat(s.Waiting, s.Peers, slices.Sorted(maps.Keys(s.Rooms)))
	if i := slices.IndexFunc(rooms, joined); i >= 0 {
		return rooms[i]
	}
	return ""
}
