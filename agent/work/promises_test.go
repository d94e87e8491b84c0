package work_test

import (
	"slices"
	"testing"

	"lethe/agent/work"
	"lethe/mind"
)

// A promise stands bare while no step, trigger, job or question has its words. What people said is none.
func TestPromises(t *testing.T) {
	s := &mind.State{}
	for _, text := range []string{
		"I: I will send ann the report about Munich on Fridays.", "ann: send me a report of Berlin every Monday", "I: Soon.",
		"I: I shall water it.", "I: Ich gieße die Blumen jeden Dienstag.", "be kind",
	} {
		s.Pins = append(s.Pins, mind.Pin{Text: text})
	}
	for _, c := range []struct {
		texts []string
		bare  []int
	}{
		{nil, []int{0, 2, 3, 4}},
		{[]string{"3 the reports", "munich"}, []int{0, 3, 4}}, // a word each
		{[]string{"cron = \"0 9 * * 5\"\nsay = \"report on munich\"", "shall i water it?"}, []int{4}},
		{[]string{"am dienstag: blumen gießen"}, []int{0, 3}},
	} {
		var bare []int
		for _, pin := range work.Promises(s, c.texts) {
			bare = append(bare, slices.IndexFunc(s.Pins, func(p mind.Pin) bool { return p.String() == pin }))
		}
		if !slices.Equal(bare, c.bare) {
			t.Errorf("%q: %v, want %v", c.texts, bare, c.bare)
		}
	}
}
