package report

import (
	"slices"
	"time"

	"lethe/life"
	"lethe/life/event"
)

// Firings counts the lines in LIFE with which one signer has woken the identity.
type Firings struct {
	Last   time.Time `json:"last,omitzero"` // when the newest was due
	Fired  int       `json:"fired"`
	Missed int       `json:"missed"`
	USD    float64   `json:"cost_usd"` // of the turns; several lines share the cost of their turn
	Model  string    `json:"-"`        // of the newest
}

// history follows LIFE from firings to the ends of their turns.
type history struct {
	by    map[string]*Firings
	fired []firing // and not heard yet
	heard []*Firings
	turn  int
	in    []*Firings // whose lines are answered in the turn
}

// firing is a line that stands behind an offset of a room.
type firing struct {
	of *Firings
	event.Place
}

// firingsOf reads the firings of a log, by signer.
func firingsOf(path string) (map[string]*Firings, error) {
	h := history{by: map[string]*Firings{}}
	err := life.Scan(path, func(line life.Event, _ int64) error {
		isTurn := line.Kind == "inbound" || line.Kind == "reply"
		matters := isTurn && len(h.by) > 0
		if !matters && line.Kind != "fired" {
			return nil
		}
		e, err := event.Parse(line)
		if err == nil {
			h.apply(e)
		}
		return err
	})
	return h.by, err
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
			h.fired = slices.DeleteFunc(h.fired, func(g firing) bool { return g.of == f && g.Room == e.Posts[0].Room })
		} else {
			f.Last, f.Fired, f.Missed = e.TS, f.Fired+1, f.Missed+e.Missed
		}
		for _, p := range e.Posts[:min(1, len(e.Posts))] {
			h.fired = append(h.fired, firing{f, p})
		}
	case event.Inbound:
		h.fired = slices.DeleteFunc(h.fired, func(f firing) bool {
			hears := f.Room == e.Room && f.Size() < e.At.To
			if hears && !e.Asleep {
				h.heard = append(h.heard, f.of)
			}
			return hears
		})
	case event.Reply:
		if e.Turn != h.turn {
			h.turn, h.in = e.Turn, nil
		}
		h.in, h.heard = append(h.in, h.heard...), nil
		for _, f := range h.in {
			f.USD, f.Model = f.USD+e.USD/float64(len(h.in)), e.Model
		}
	}
}
