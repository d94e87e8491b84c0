package bridge

import "time"

const (
	deniedEvery = time.Hour
	maxDenied   = 4096
	maxID       = 256
)

// denials is when the denial of a person was logged.
type denials map[string]time.Time

func (d denials) note(now time.Time, id string) (tell bool) {
	if len(id) > maxID {
		id = id[:maxID]
	}
	over := func(at time.Time) bool { return now.Sub(at) >= deniedEvery || at.After(now) }
	if at, told := d[id]; told && !over(at) {
		return false
	}
	if len(d) >= maxDenied {
		for id, at := range d {
			if over(at) {
				delete(d, id)
			}
		}
	}
	if len(d) >= maxDenied {
		return false
	}
	d[id] = now
	return true
}
