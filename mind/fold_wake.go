package mind

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lethe/chat"
	"lethe/life/event"
)

// Events of what wakes the identity by itself: lines in rooms that others sign for it.

// maxFires is how many signers' newest firings are kept.
const maxFires = 256

// fired owes the line that wakes the identity, and waits for it to be heard.
func (s *State) fired(e event.Fired) error {
	if len(e.Posts) == 0 {
		return errors.New("no room")
	}
	if e.Again != "" {
		return s.firedAgain(e)
	}
	line, err := s.post(Post{ID: e.ID, Wakes: true}, e.By, chat.NoQuestion(e.Say), e.Posting)
	if err != nil {
		return err
	}
	id, once := strings.CutPrefix(e.By, Deadline)
	if once {
		s.closeQuestion(id)
	}
	s.Notices++
	wake := Wake{By: e.By, Room: e.Posts[0].Room, Hash: chat.Hash(line), Line: string(line)}
	s.Wakes = plus(s.Wakes, wake)
	if s.jobEnded(e.By) || once || s.Child(e.Posts[0].Room) != nil { // of which there is nothing more to know
		return nil
	}
	s.countFiring(e)
	return nil
}

// countFiring notes the newest firing of a signer. Of more than maxFires signers it drops those that fired first.
func (a *Alarms) countFiring(e event.Fired) {
	by := strings.TrimSpace(e.By + " " + e.Trigger)
	firing := a.Fires[by]
	firing.Count++
	firing.Seen, firing.Asked = e.Seen, e.Manual
	if e.Manual == "" {
		firing.Last = e.TS
	}
	fires := maps.Clone(a.Fires)
	fires[by] = firing
	earlier := func(x, y string) int { return fires[x].Last.Compare(fires[y].Last) }
	for len(fires) > maxFires {
		delete(fires, slices.MinFunc(slices.Sorted(maps.Keys(fires)), earlier))
	}
	a.Fires = fires
}

// end forgets the lines that the turn which ends has answered.
func (a *Alarms) end() { a.Wakes = without(a.Wakes, func(w Wake) bool { return w.Heard }) }

// firedAgain owes the line of a firing once more: it has gone from its room before it was heard.
func (s *State) firedAgain(e event.Fired) error {
	for _, w := range s.LostWakes() {
		if p := e.Posts[0]; w.Room == p.Room && w.Hash == e.Again {
			s.Outbox = append(s.Outbox, Post{ID: e.ID, Room: p.Room, Line: w.Line, Mark: p.Mark, Wakes: true})
			s.Notices++
			return nil
		}
	}
	return errors.New("no line that was posted and not heard")
}

// LostWakes returns the lines that were posted and not heard. Where nothing in their rooms is unread, they have
// gone from there.
func (s *State) LostWakes() []Wake {
	return without(s.Wakes, func(w Wake) bool { return w.Heard || w.Line == "" || s.posts(w) })
}

// hear reports whether a line of a room is one that wakes the identity, and notes that
// it was heard. A tag proves nothing: only a line that a Fired of this life has fixed
// does. One that is heard asleep is over.
func (a *Alarms) hear(room, hash string, asleep bool) bool {
	i := a.waking(room, hash)
	if i < 0 {
		return false
	}
	a.Wakes = slices.Clone(a.Wakes)
	a.Wakes[i].Heard, a.Wakes[i].Line = true, ""
	if asleep {
		a.Wakes = slices.Delete(a.Wakes, i, i+1)
	}
	return true
}

// posts reports whether the line of a wake is still to be posted.
func (t *Talk) posts(w Wake) bool {
	return slices.ContainsFunc(t.Outbox, func(p Post) bool {
		return p.Wakes && p.Room == w.Room && p.Line == w.Line
	})
}

// Waking reports whether a line of a room will wake the identity when it is heard.
func (a *Alarms) Waking(room, hash string) bool { return a.waking(room, hash) >= 0 }

func (a *Alarms) waking(room, hash string) int {
	return slices.IndexFunc(a.Wakes, func(w Wake) bool { return w.Room == room && w.Hash == hash && !w.Heard })
}

// Awaits counts the lines that somebody signed and that are still unanswered.
func Awaits(wakes []Wake, by string) (n int) {
	for _, w := range wakes {
		if w.By == by {
			n++
		}
	}
	return n
}

// goesOn notes that a call goes on as a job, whose end a room is told; 0 is none.
func (b *Background) goesOn(job int, room string) {
	if job > 0 {
		b.LastJob = job
		b.Jobs = plus(b.Jobs, Job{ID: job, Room: room})
	}
}

// Signer signs the line that tells the end of a job.
func (j Job) Signer() string { return fmt.Sprintf("job-%d", j.ID) }

// jobEnded notes the end of the job of that signer, if it is one of a job.
func (b *Background) jobEnded(by string) bool {
	all := len(b.Jobs)
	b.Jobs = without(b.Jobs, func(j Job) bool { return j.Signer() == by })
	return len(b.Jobs) < all
}

// TurnRoom is the first room that the turn under way answers to, or else the first that
// is heard; "" when none is.
func (s *State) TurnRoom() string {
	for _, room := range slices.Concat(s.Waiting, s.Peers, slices.Sorted(maps.Keys(s.Rooms))) {
		if s.joinedTo(room) {
			return room
		}
	}
	return ""
}

// joinedTo reports whether the identity hears a room.
func (t *Talk) joinedTo(room string) bool {
	known := t.Rooms[room]
	return known != nil && known.Joined
}

// countAgentTurn counts a turn in rooms where only agents speak.
func (t *Talk) countAgentTurn(rooms ...string) {
	for _, room := range rooms {
		t.room(room).AgentTurns++
	}
}
