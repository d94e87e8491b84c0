// Package history reads the past of an identity from LIFE: the epochs of its context, which it draws, and the days of its
// cost.
//
//	list, older, err := history.Epochs(store, id, 0) // the newest ones; older is the place to go on at
//	drawing := history.Draw(list, limit)
//	days, more, err := history.Days(id, zone, 30)
package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

const (
	Shown     = 8    // epochs of one reading
	linesRead = 3000 // of LIFE, at most
)

// Epoch is one of the times between two compactions, or edits.
type Epoch struct {
	K          int
	Why        string
	At         time.Time
	Calls      int     // of the model
	USD        float64 // of all calls
	Forgetting float64 // of the calls that summarised, in dollars
	Before     int64   // tokens of the last request before it began; 0 where that is not known
	After      int64   // of its first, and of its last
	Last       int64
	Fades      []Faded    // with which it began
	Reminded   []Reminder // in the order of events
	Again      Again      // of the calls that were read
	Cut        bool       // it began before the lines that were read

	begin int64      // its line in LIFE
	state mind.State // with which it began
	sizes []int64    // tokens of its requests, with their answers
	base  []layer    // of the drawing: what stays as it is
}

// Faded is a run of entries that became shorter.
type Faded struct {
	event.Fade
	Was         string // live, summary, gist or card
	Original    blobs.Ref
	Replacement blobs.Ref
	Away        int // how many refs the words themselves are away
}

// Reminder is something forgotten that came up again: by a hint, or because it was opened.
type Reminder struct {
	Entry    string
	At       time.Time
	Opened   bool
	Hash     string // of the original
	Gist     string
	From, To int // entries; 0 where they are not known

	n int // requests of the epoch before it
}

// placed is a line of LIFE and where it begins.
type placed struct {
	life.Event
	at int64
}

// Epochs reads the newest epochs before a place of LIFE, 0 for its end, and only the part of LIFE that has them. older is
// the place before which the next ones are, 0 if there are none older.
func Epochs(store *blobs.Store, id home.Identity, before int64) (list []*Epoch, older int64, err error) {
	var lines []placed
	seen := map[string]bool{} // epochs
	_, err = life.ReadBack(id.LIFE(), before, func(e life.Event, at int64) (more bool) {
		lines = append(lines, placed{e, at})
		if e.Kind == life.Epoch {
			seen[e.Arg(0)] = true
		}
		return len(seen) <= Shown && len(lines) < linesRead
	})
	if err != nil || len(lines) == 0 {
		return nil, 0, id.Unread(err)
	}
	told := teller{store: store, now: &Epoch{K: -1}, spans: map[string][2]int{},
		again: Rereader{Store: store, Made: map[string]int{}}}
	for _, l := range slices.Backward(lines) {
		if err := told.read(l); err != nil {
			return nil, 0, fmt.Errorf("read %s at byte %d: %w", id.LIFE(), l.at, err)
		}
	}
	list = told.list
	if begin := lines[len(lines)-1].at; begin > 0 && len(list) > 0 {
		list[0].Cut = true
		if len(list) > Shown {
			list = list[1:] // of the one before only the end was read
		}
		older = list[0].begin
	}
	return list, older, nil
}

// teller follows the lines of LIFE from epoch to epoch.
type teller struct {
	store  *blobs.Store
	list   []*Epoch
	now    *Epoch            // the last in list
	fading []Faded           // that no epoch has followed yet
	spans  map[string][2]int // entries, by the first digits of the original's hash
	again  Rereader
}

// digits cuts a hash to the part that each ref shows.
func digits(hash string) string { return hash[:min(16, len(hash))] }

func (t *teller) read(line placed) error {
	if !slices.Contains([]string{"epoch", "fade", "reply", "spent", "hint", "result"}, line.Kind) {
		return nil
	}
	parsed, err := event.Parse(line.Event)
	if err != nil {
		return err
	}
	t.again.Read(line.Event, parsed, &t.now.Again)
	now, refs := t.now, append(line.Refs, blobs.Ref{}, blobs.Ref{})
	switch e := parsed.(type) {
	case event.Fade:
		f := Faded{Fade: e, Original: refs[0], Replacement: refs[1]}
		if e.To == mind.Card {
			f.Original, f.Replacement = blobs.Ref{}, refs[0]
		}
		t.fading = append(t.fading, f)
		return nil
	case event.Epoch:
		if e.K != now.K {
			err = t.begin(&Epoch{K: e.K, Why: e.Why, At: line.At, begin: line.at, Before: now.Last}, refs[0].Hash)
		}
	case event.Reply:
		now.USD += e.USD
		now.Calls++
		now.sizes = append(now.sizes, e.In+e.Out)
		now.After, now.Last = now.sizes[0], e.In+e.Out
	case event.Spent:
		now.USD += e.USD
		now.Calls += e.Calls
		if e.On == "compaction" {
			now.Forgetting += e.USD
		}
	case event.Hint:
		b, _ := t.blob(refs[0].Hash) // without it, the hint tells of nothing
		for _, l := range mind.ReadCard(b.Body) {
			t.spans[digits(l.Ref.Hash)] = [2]int{l.From, l.To}
			t.remind(Reminder{Entry: mind.EntryID(e.N), At: line.At, Hash: l.Ref.Hash, Gist: l.Ref.Gist})
		}
	case event.Result:
		if e.Opened != "" {
			b, _ := t.blob(e.Opened)
			t.remind(Reminder{Entry: e.ID, At: line.At, Hash: e.Opened, Gist: b.Gist, Opened: true})
		}
	}
	t.fading = nil // they take effect only with an epoch in the same append
	return err
}

// begin begins an epoch with the state that a blob has.
func (t *teller) begin(one *Epoch, snapshot string) error {
	b, err := t.blob(snapshot)
	if err == nil {
		err = json.Unmarshal(b.Body, &one.state)
	}
	if err != nil {
		return fmt.Errorf("read epoch %d: %w", one.K, err)
	}
	for _, f := range t.fading {
		f.Was, f.Away = cmp.Or(t.now.at(f.Entries.From).Level, "live"), 1+one.at(f.Entries.From).Tier
		one.Fades = append(one.Fades, f)
	}
	for _, r := range one.state.Faded {
		span := [2]int{r.From, r.To}
		t.spans[digits(r.Original.Hash.String())] = span
		if r.Summary != nil {
			t.spans[digits(r.Summary.Hash.String())] = span
		}
	}
	t.list, t.now = append(t.list, one), one
	return nil
}

func (t *teller) remind(r Reminder) {
	span := t.spans[digits(r.Hash)]
	r.From, r.To, r.n = span[0], span[1], len(t.now.sizes)
	t.now.Reminded = append(t.now.Reminded, r)
}

func (t *teller) blob(hash string) (blob blobs.Blob, err error) {
	h, err := t.store.Resolve(hash)
	if err == nil {
		blob, err = t.store.Get(h)
	}
	return blob, err
}

// at returns the faded range of an entry, or the zero Range for an entry that has not faded.
func (e *Epoch) at(n int) mind.Range {
	for _, r := range e.state.Faded {
		if r.From <= n && n <= r.To {
			return r
		}
	}
	return mind.Range{}
}

// Entries names those from one to another.
func Entries(from, to int) string {
	if from == to {
		return mind.EntryID(from)
	}
	return event.Entries{From: from, To: to}.String()
}
