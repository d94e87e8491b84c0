package part_test

import (
	"slices"
	"testing"

	"lethe/agent/part"
	"lethe/chat"
	"lethe/mind"
	"lethe/mind/audience"
)

// A text of a private room goes to notices of those alone who read the room.
func TestMentionedApart(t *testing.T) {
	var s mind.State
	s.Rooms = map[string]*mind.Room{"ann": {Joined: true, Readers: audience.Readers{"ann"}}}
	v := part.View{State: &s, Notify: []string{chat.NotifyRoom("ann"), chat.NotifyRoom("ben")}}
	if got := v.Notified("ann"); !slices.Equal(got, []string{"ann", chat.NotifyRoom("ann")}) {
		t.Errorf("a question in the room reaches %q", got)
	}
	got := v.Mentioned("@ann @ben it is done", "ann")
	if !slices.Equal(got, []string{"ann", chat.NotifyRoom("ann")}) {
		t.Errorf("the text reaches %q", got)
	}
}
