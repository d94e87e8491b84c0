package bridge

import "time"

// perMinute is how many lines a person may say in a minute, more than anybody types: so many
// at once, and after that one a second.
const perMinute = 60

// Flood says that lines of a person were refused, because more came than a person can type.
type Flood struct{ Key, Peer, Room string }

// speaker is a person as flood limits count: commands to the harness count apart, since /stop
// may have to end what a flood began.
type speaker struct {
	key     string
	command bool
}

// allowance is how many lines a speaker may say now, by the times of the other side: what
// waited there while the bridge was away is no flood.
type allowance struct {
	lines float64
	at    time.Time
	told  time.Time // when a refusal was told last
}

// take says whether a line passes at a time, and, at most once a minute, whether its refusal
// is to be told.
func (a allowance) take(at time.Time) (left allowance, passes, tell bool) {
	if a.at.IsZero() {
		a = allowance{lines: perMinute, at: at}
	}
	if since := at.Sub(a.at); since > 0 {
		a.lines, a.at = min(perMinute, a.lines+since.Minutes()*perMinute), at
	}
	if a.lines >= 1 {
		a.lines--
		return a, true, false
	}
	if tell = a.told.IsZero() || at.Sub(a.told) >= time.Minute; tell {
		a.told = at
	}
	return a, false, tell
}

// manySpeakers is from when on those who have not spoken for a minute are forgotten.
const manySpeakers = 1000

func forgetIdle(speakers map[speaker]allowance, now time.Time) {
	if len(speakers) < manySpeakers {
		return
	}
	for who, a := range speakers {
		if now.Sub(a.at) >= time.Minute {
			delete(speakers, who)
		}
	}
}
