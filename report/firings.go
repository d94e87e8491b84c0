package report

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"lethe/life"
	"lethe/life/event"
)

// Firings is what LIFE tells of the lines that one signer has woken the identity with.
type Firings struct {
	Last    time.Time `json:"last,omitzero"` // when the newest was due
	Fired   int       `json:"fired"`
	Missed  int       `json:"missed"`
	Nothing int       `json:"nothing"`  // turns answered with (nothing)
	USD     float64   `json:"cost_usd"` // of the turns; those of several lines are shared
	Model   string    `json:"-"`        // of the newest
}

// history follows LIFE from firings to the ends of their turns.
type history struct {
	at      life.Mark // that was read
	by      map[string]*Firings
	fired   []*firing // and not heard yet
	heard   []*Firings
	turn    int
	in      []*Firings // whose lines are answered in the turn
	nothing bool       // the newest reply is posted nowhere, and calls nothing
}

// firing is a line that stands behind an offset of a room.
type firing struct {
	of *Firings
	event.Place
}

// histories holds what was read of each log, so that only what is new is read.
var histories = struct {
	sync.Mutex
	of map[string]*history
}{of: map[string]*history{}}

func firingsOf(path string) (map[string]*Firings, error) {
	histories.Lock()
	defer histories.Unlock()
	h := cmp.Or(histories.of[path], &history{by: map[string]*Firings{}})
	err := h.read(path)
	if errors.Is(err, life.ErrOtherLog) {
		h = &history{by: map[string]*Firings{}}
		err = h.read(path)
	}
	histories.of[path] = h
	all := map[string]*Firings{}
	for by, f := range h.by {
		f := *f
		for _, in := range h.in { // the newest turn may go on
			if in == h.by[by] && h.nothing {
				f.Nothing++
			}
		}
		all[by] = &f
	}
	return all, err
}

// read reads what is new.
func (h *history) read(path string) error {
	return life.ReadOn(path, &h.at, func(line life.Event, _ bool) error {
		if !slices.Contains([]string{"fired", "inbound", "reply", "call"}, line.Kind) || len(h.by) == 0 &&
			line.Kind != "fired" {
			return nil
		}
		e, err := event.Parse(line)
		if err == nil {
			h.apply(e)
		}
		return err
	})
}

func (h *history) apply(e event.Event) {
	switch e := e.(type) {
	case event.Fired:
		f := h.by[e.By]
		if f == nil {
			f = new(Firings)
			h.by[e.By] = f
		}
		if e.Again != "" {
			h.fired = slices.DeleteFunc(h.fired, func(g *firing) bool { return g.of == f && g.Room == e.Posts[0].Room })
		} else {
			f.Last, f.Fired, f.Missed = e.TS, f.Fired+1, f.Missed+e.Missed
		}
		for _, p := range e.Posts[:min(1, len(e.Posts))] {
			h.fired = append(h.fired, &firing{f, p})
		}
	case event.Inbound:
		h.fired = slices.DeleteFunc(h.fired, func(f *firing) bool {
			hears := f.Room == e.Room && f.Size() < e.At.To
			if hears && !e.Asleep {
				h.heard = append(h.heard, f.of)
			}
			return hears
		})
	case event.Reply:
		if e.Turn != h.turn {
			h.endTurn()
			h.turn = e.Turn
		}
		h.in, h.heard = append(h.in, h.heard...), nil
		for _, f := range h.in {
			f.USD, f.Model = f.USD+e.USD/float64(len(h.in)), e.Model
		}
		h.nothing = len(e.Posts) == 0 && !e.Refused
	case event.Call:
		h.nothing = false
	}
}

func (h *history) endTurn() {
	for _, f := range h.in {
		if h.nothing {
			f.Nothing++
		}
	}
	h.in, h.nothing = nil, false
}
