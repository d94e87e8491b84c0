package mind

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lethe/life/event"
)

// Wake is a line that wakes the identity. The state holds it from its Fired to the
// end of the turn that it opens.
type Wake struct {
	By    string `json:"by"` // the signer
	Room  string `json:"room"`
	Hash  string `json:"hash"`           // the line's hash
	Line  string `json:"line,omitempty"` // the line; "" once it is heard
	Heard bool   `json:"heard,omitempty"`
}

// Awaits counts the unanswered lines of one signer.
func Awaits(wakes []Wake, by string) (count int) {
	for _, wake := range wakes {
		if wake.By == by {
			count++
		}
	}
	return count
}

// Firing is the newest Fired of one signer.
type Firing struct {
	Last  time.Time `json:"last"`            // the time of the newest by schedule, not by a person's request
	Seen  string    `json:"seen,omitempty"`  // the trigger's note of the newest; see event.Fired
	Asked string    `json:"asked,omitempty"` // the person's request that the newest obeyed, or ""
	Count int       `json:"count"`           // firings so far
}

// Alarms are the lines that wake the identity by themselves.
type Alarms struct {
	Wakes []Wake `json:"wakes,omitempty"` // lines that are not answered yet
	// Fires holds the newest firing of each signer. The key is the signer, or for a trigger with a letter
	// "SIGNER TRIGGER".
	Fires map[string]Firing `json:"fires,omitempty"`
}

// hear reports whether a line of a room wakes the identity, and notes that it was heard. It
// goes by the hash of the line that a Fired of this life has fixed, since a tag proves
// nothing. A line that is heard asleep opens no turn and is forgotten.
func (a *Alarms) hear(room, hash string, asleep bool) bool {
	at := a.waking(room, hash)
	if at < 0 {
		return false
	}
	a.Wakes = slices.Clone(a.Wakes)
	a.Wakes[at].Heard, a.Wakes[at].Line = true, ""
	if asleep {
		a.Wakes = slices.Delete(a.Wakes, at, at+1)
	}
	return true
}

// Waking reports whether a line of a room will wake the identity when it is heard.
func (a *Alarms) Waking(room, hash string) bool { return a.waking(room, hash) >= 0 }

func (a *Alarms) waking(room, hash string) int {
	return slices.IndexFunc(a.Wakes, func(wake Wake) bool {
		isLine := wake.Room == room && wake.Hash == hash
		return isLine && !wake.Heard
	})
}

// maxFires is the number of signers whose newest firings a state keeps.
const maxFires = 256

// countFiring notes the newest firing of a signer. It keeps the maxFires signers that have fired last.
func (a *Alarms) countFiring(fired event.Fired) {
	by := strings.TrimSpace(fired.By + " " + fired.Trigger)
	firing := a.Fires[by]
	firing.Count++
	firing.Seen, firing.Asked = fired.Seen, fired.Manual
	if fired.Manual == "" {
		firing.Last = fired.TS
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

// Job is a command that goes on although its call has a result. A Fired tells its end.
type Job struct {
	ID   int    `json:"id"`
	Room string `json:"room"` // the room that learns of its end
}

// Signer returns the name that signs the line about the job's end.
func (j Job) Signer() string { return fmt.Sprintf("job-%d", j.ID) }

// Background is the list of commands that go on although their calls have results.
type Background struct {
	Jobs    []Job `json:"jobs,omitempty"` // jobs whose end is not recorded yet
	LastJob int   `json:"last_job,omitempty"`
}

// goesOn notes that a call goes on as a job, whose end is for room. With job 0 it does nothing.
func (b *Background) goesOn(job int, room string) {
	if job > 0 {
		b.LastJob = job
		b.Jobs = plus(b.Jobs, Job{ID: job, Room: room})
	}
}

// jobEnded removes the job of a signer. It returns false if no job has that signer.
func (b *Background) jobEnded(by string) bool {
	all := len(b.Jobs)
	b.Jobs = without(b.Jobs, func(j Job) bool { return j.Signer() == by })
	return len(b.Jobs) < all
}
