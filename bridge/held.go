package bridge

import (
	"fmt"
	"time"
)

// sends is how sending fares, over all peers. What fetching brings says nothing of it.
type sends struct {
	trouble
	failing map[string]bool      // peers whose newest part failed
	since   map[string]time.Time // by peer: since when its next line waits, save for what the other side asked it to
}

func newSends() sends {
	return sends{failing: map[string]bool{}, since: map[string]time.Time{}}
}

// told moves a peer's waiting on by what the other side wants it to wait, or to now
// where that has not said how long.
func (s *sends) told(now time.Time, key string, d time.Duration) {
	at, ok := s.since[key]
	switch {
	case ok && d > 0:
		s.since[key] = at.Add(d)
	case ok:
		s.since[key] = now
	}
}

// drop ends what was noted of a peer.
func (s *sends) drop(key string) {
	delete(s.failing, key)
	delete(s.since, key)
	if len(s.failing) == 0 {
		s.end()
	}
}

// begins notes that there is something to send to a peer, or to find out how.
func (v *vital) begins(now time.Time, key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, waits := v.out.since[key]; !waits {
		v.out.since[key] = now
	}
}

// unsent records that a part did not go out.
func (v *vital) unsent(now time.Time, key string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.failing[key] = true
	began, tell := v.out.note(now, err.Error())
	v.show(key, err)
	v.touch(began)
	switch {
	case tell && began:
		v.log.Warn("cannot send to "+v.name, "peer", key, "err", err)
	case tell:
		v.log.Warn("still cannot send to "+v.name, "peer", key, "for", now.Sub(v.out.began).Round(time.Second), "err", err)
	}
}

// sent records that nothing holds up a peer any more.
func (v *vital) sent(now time.Time, key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if at, waited := v.out.since[key]; waited && now.Sub(at) > beatHealth {
		v.touch(true) // it may show as late
	}
	over, told := v.out.failing[key] && len(v.out.failing) == 1, !v.out.quiet
	v.out.drop(key)
	if over {
		v.touch(true)
	}
	if over && told {
		v.log.Info("sends to "+v.name+" again", "after", now.Sub(v.out.began).Round(time.Second))
	}
}

// left records that a Deliver has ended, whatever held it up.
func (v *vital) left(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.drop(key)
	v.touch(false)
}

// late is since when the line waits that errors have held up longest, by the clock of
// now. The caller holds mu.
func (v *vital) late(now time.Time) (wall time.Time) {
	oldest := now
	for _, at := range v.out.since {
		if at.Before(oldest) {
			oldest = at
		}
	}
	if in := v.here[inboxTrouble]; in != nil && in.text != "" && in.began.Before(oldest) {
		oldest = in.began
	}
	if waits := now.Sub(oldest); waits > 0 {
		return now.Add(-waits).UTC()
	}
	return time.Time{}
}

// roomyFor is how long nobody may have waited before an inbox is not full any more.
const roomyFor = time.Minute

// fullness is how long the inbox has been full. One that is full all the time has
// room for a moment whenever a line has passed.
type fullness struct {
	since time.Time // zero: it is not full
	last  time.Time // when somebody waited for room last
	now   bool      // somebody waits
}

// fill records that somebody waits for room in the inbox.
func (v *vital) fill(now time.Time, lines int, busiest string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.full.now, v.full.last = true, now
	if !v.full.since.IsZero() {
		return
	}
	v.full.since = now
	v.pulse.Error = fmt.Sprintf("the inbox is full with %d lines, most of them of %s: nobody is heard until some have passed", lines, busiest)
	v.pulse.ErrorAt = now.UTC()
	v.touch(true)
	v.log.Warn("the inbox is full: nobody is heard until lines have passed", "lines", lines, "most_of", busiest)
}

// roomy records that who waited does not any more.
func (v *vital) roomy(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.full.now, v.full.last = false, now
	v.touch(false)
}

// drained ends the fullness of an inbox that nobody has waited for lately. The caller
// holds mu.
func (v *vital) drained(now time.Time) {
	if v.full.since.IsZero() || v.full.now || now.Sub(v.full.last) < roomyFor {
		return
	}
	v.log.Info("the inbox has room again", "after", v.full.last.Sub(v.full.since).Round(time.Second))
	v.full = fullness{}
	v.touch(true)
}
