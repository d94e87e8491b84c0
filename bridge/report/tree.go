package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Stretch is what came into a life from one beginning of its requests to the next.
type Stretch struct {
	Epoch int       `json:"epoch"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
	Back  int       `json:"back,omitempty"` // the entry that it goes on behind, of a branch
	From  int       `json:"from,omitempty"` // its first entry and its last, if any
	To    int       `json:"to,omitempty"`
	Words string    `json:"words,omitempty"` // what it was about
	Marks []string  `json:"marks,omitempty"` // labels, and forks of this home

	relevance int // of the range that has faded whose gist Words are
}

// Tree lists the stretches of a life, oldest first.
func (h Home) Tree(id home.Identity) (list []Stretch, err error) {
	forks, line, next, last := map[int64][]string{}, int64(0), Stretch{}, 0
	all, err := h.List()
	if err != nil {
		return nil, err
	}
	for _, other := range all {
		boot, _ := life.First(other.LIFE()) // of what is no life, nothing
		if b, ok := event.As[event.Boot](boot); ok && b.Fork.Self == id.Self {
			forks[b.Fork.Line] = append(forks[b.Fork.Line], other.Name)
		}
	}
	err = life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		line++
		if epoch, ok := event.As[event.Epoch](e); ok && (len(list) == 0 || epoch.K != list[len(list)-1].Epoch) {
			next.Epoch, next.Why, next.At = epoch.K, epoch.Why, e.At
			list, next = append(list, next), Stretch{}
		} else if len(list) == 0 {
			return nil
		}
		now := &list[len(list)-1]
		if note, ok := event.As[event.Note](e); ok && note.Why == "branch" { // its epoch is still to come
			now = &next
			now.Back, _, _ = mind.ParseID(note.Back)
		}
		if n, k, err := mind.ParseID(e.Arg(0)); err == nil && k == 0 && e.Kind != "posted" {
			now.From, now.To, last = cmp.Or(now.From, n), n, n
		}
		if (e.Kind == "inbound" || e.Kind == "reply") && now.Words == "" && len(e.Refs) > 0 {
			now.Words = e.Refs[0].Gist
		}
		fade, _ := event.As[event.Fade](e)
		for i := range list {
			s := &list[i]
			if fade.Entries.From <= s.To && s.From <= fade.Entries.To && fade.Relevance > s.relevance &&
				fade.To != mind.Card && len(e.Refs) > 0 {
				s.Words, s.relevance = e.Refs[0].Gist, fade.Relevance
			}
		}
		if e.Kind == "labelled" {
			is := " is " + e.Get("label")
			for i := range list { // the label was elsewhere before
				list[i].Marks = slices.DeleteFunc(list[i].Marks, func(mark string) bool { return strings.HasSuffix(mark, is) })
			}
			now.Marks = append(now.Marks, fmt.Sprintf("e%d%s", last, is))
		}
		for _, name := range forks[line] {
			now.Marks = append(now.Marks, fmt.Sprintf("e%d forks into %s", last, name))
		}
		return nil
	})
	if err != nil {
		err = id.Unread(err)
	}
	return list, err
}
