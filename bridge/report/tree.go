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

// Stretch is a part of a life, from one beginning of its requests to the next.
type Stretch struct {
	Epoch int       `json:"epoch"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
	Back  int       `json:"back,omitempty"` // the entry that it goes on behind, of a branch
	From  int       `json:"from,omitempty"` // its first entry and its last, if any
	To    int       `json:"to,omitempty"`
	Words string    `json:"words,omitempty"` // the gist of its most relevant entries
	Marks []string  `json:"marks,omitempty"` // labels, and forks of this home

	relevance int // of the faded range whose gist Words are
}

// Tree lists the stretches of a life, oldest first.
func (h Home) Tree(id home.Identity) ([]Stretch, error) {
	forks, err := h.forksOf(id)
	if err != nil {
		return nil, err
	}
	stretches := tree{forks: forks}
	err = life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		stretches.read(e)
		return nil
	})
	if err != nil {
		return stretches.list, id.Unread(err)
	}
	return stretches.list, nil
}

// forksOf returns the names of an identity's forks in this home, by the line of its LIFE at which they begin.
func (h Home) forksOf(id home.Identity) (map[int64][]string, error) {
	all, err := h.List()
	if err != nil {
		return nil, err
	}
	forks := map[int64][]string{}
	for _, other := range all {
		first, _ := life.First(other.LIFE()) // zero of a file that is no life
		boot, ok := event.As[event.Boot](first)
		if ok && boot.Fork.Self == id.Self {
			forks[boot.Fork.Line] = append(forks[boot.Fork.Line], other.Name)
		}
	}
	return forks, nil
}

// tree follows the lines of LIFE from stretch to stretch.
type tree struct {
	list  []Stretch
	next  Stretch // of a branch whose epoch is still to come
	line  int64   // number of the newest line
	last  int     // the newest entry
	forks map[int64][]string
}

// read takes in the next line.
func (t *tree) read(line life.Event) {
	t.line++
	t.begin(line)
	if len(t.list) == 0 {
		return
	}
	now := &t.list[len(t.list)-1]
	if note, ok := event.As[event.Note](line); ok && note.Why == "branch" {
		now = &t.next
		now.Back, _, _ = mind.ParseID(note.Back)
	}
	t.enter(now, line)
	t.fade(line)
	if line.Kind == "labelled" {
		t.label(now, line.Get("label"))
	}
	for _, name := range t.forks[t.line] {
		now.Marks = append(now.Marks, fmt.Sprintf("e%d forks into %s", t.last, name))
	}
}

// begin begins a stretch with the first line of an epoch.
func (t *tree) begin(line life.Event) {
	epoch, ok := event.As[event.Epoch](line)
	if !ok {
		return
	}
	if n := len(t.list); n > 0 && t.list[n-1].Epoch == epoch.K {
		return
	}
	t.next.Epoch, t.next.Why, t.next.At = epoch.K, epoch.Why, line.At
	t.list, t.next = append(t.list, t.next), Stretch{}
}

// enter adds the entry of a line to a stretch. The first words of a stretch stand for it until something fades.
func (t *tree) enter(now *Stretch, line life.Event) {
	n, k, err := mind.ParseID(line.Arg(0))
	isEntry := err == nil && k == 0
	if isEntry && line.Kind != "posted" {
		now.From, now.To, t.last = cmp.Or(now.From, n), n, n
	}
	talk := line.Kind == "inbound" || line.Kind == "reply"
	if talk && now.Words == "" && len(line.Refs) > 0 {
		now.Words = line.Refs[0].Gist
	}
}

// fade takes the gist of a faded range for the words of each stretch that the range overlaps, if it is more relevant.
func (t *tree) fade(line life.Event) {
	fade, ok := event.As[event.Fade](line)
	if !ok || fade.To == mind.Card || len(line.Refs) == 0 {
		return
	}
	for i := range t.list {
		s := &t.list[i]
		overlaps := fade.Entries.From <= s.To && s.From <= fade.Entries.To
		if overlaps && fade.Relevance > s.relevance {
			s.Words, s.relevance = line.Refs[0].Gist, fade.Relevance
		}
	}
}

// label moves a label to the newest entry of a stretch.
func (t *tree) label(now *Stretch, label string) {
	is := " is " + label
	same := func(mark string) bool { return strings.HasSuffix(mark, is) }
	for i := range t.list {
		t.list[i].Marks = slices.DeleteFunc(t.list[i].Marks, same)
	}
	now.Marks = append(now.Marks, fmt.Sprintf("e%d%s", t.last, is))
}
