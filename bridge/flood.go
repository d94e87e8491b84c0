package bridge

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// perMinute is how many lines a person may say in a minute, more than anybody types: so many
	// at once, and after that one a second.
	perMinute = 60
	// manySpeakers is how many persons are counted; then all begin anew.
	manySpeakers = 1000
)

// Flood says that lines of a person were refused, because more came than a person can type.
type Flood struct{ Key, Peer, Room string }

// speaker is a person as flood limits count: commands to the harness count apart, since /stop
// may have to end what a flood began.
type speaker struct {
	key     string
	command bool
}

// allowance is how many lines a speaker may say, by the times of the other side: what
// waited there while the bridge was away is no flood.
type allowance struct {
	*rate.Limiter
	told time.Time // when a refusal was told last
}

// admit counts a line of somebody. It says whether the line passes, and, at most once a
// minute, whether its refusal is to be told.
func (in *inbox) admit(who speaker, at time.Time) (passes, tell bool) {
	if who.key == "" {
		return true, false
	}
	a := in.speakers[who]
	if a == nil {
		if len(in.speakers) >= manySpeakers {
			clear(in.speakers)
		}
		a = &allowance{Limiter: rate.NewLimiter(rate.Every(time.Minute/perMinute), perMinute)}
		in.speakers[who] = a
	}
	if a.AllowN(at, 1) {
		return true, false
	}
	if tell = at.Sub(a.told) >= time.Minute; tell {
		a.told = at
	}
	return false, tell
}
