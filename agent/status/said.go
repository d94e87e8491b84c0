package status

import (
	"fmt"
	"strings"
	"time"
)

// Used returns the tokens of the next request, without the tokens that are kept free for its answer.
func (s Status) Used() int { return s.ContextTokens - s.ContextAnswer }

// Said is the status in words, for a room: of an identity that is asleep until somebody acts, or busy. cost is its cost
// in words.
func (s Status) Said(asleep, busy bool, cost string, now time.Time) string {
	model := s.Model
	if s.Offline {
		model += " (offline rehearsal)"
	}
	parts := []string{
		fmt.Sprintf("%s %.16s, model %s", s.Name, s.Self, model),
		fmt.Sprintf("turns %d", s.Turn),
		fmt.Sprintf("context %d of %d tokens", s.Used(), s.ContextLimit),
		"hears " + strings.Join(s.Rooms, ", "),
		fmt.Sprintf("tokens in %d (%d cached), out %d", s.InputTokens, s.CachedTokens, s.OutputTokens),
		cost + " USD",
		s.doing(asleep, busy),
	}
	if !s.SilentSince.IsZero() {
		silence := time.Since(s.SilentSince).Truncate(time.Second)
		parts = append(parts, fmt.Sprintf("nothing has come from the model for %s", silence))
	}
	parts = append(parts, s.Brief(now)...)
	parts = append(parts, s.Trouble...)
	return strings.Join(parts, "; ")
}

// doing describes the work of an identity, or the reason that it waits.
func (s Status) doing(asleep, busy bool) string {
	switch {
	case asleep:
		return "paused: " + s.Error
	case s.Error != "":
		return s.Error
	case busy:
		return "working"
	}
	return "idle"
}
