package mind_test

import (
	"slices"
	"testing"

	"lethe/mind"
	"lethe/mind/audience"
)

// The final text of a turn reaches rooms that the same people read, also where others were let in to the turn.
func TestAudienceOfATurn(t *testing.T) {
	var s mind.State
	s.Rooms = map[string]*mind.Room{
		"ann": {Joined: true, Readers: audience.Readers{"ann"}},
		"ben": {Joined: true, Readers: audience.Readers{"ben"}},
		"too": {Joined: true, Readers: audience.Readers{"ann"}},
	}
	s.Waiting = []string{"ann", "ben", "too"}
	if got := s.Audience(); !slices.Equal(got, []string{"ann", "too"}) {
		t.Errorf("the answer to Ann reaches %q", got)
	}
}
