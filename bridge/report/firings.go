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
	past := history{by: map[string]*Firings{}}
	err := life.Scan(path, func(line life.Event, _ int64) error {
		isTurn := line.Kind == "inbound" || line.Kind == "reply"
		matters := isTurn && len(past.by) > 0
		if !matters && line.Kind != "fired" {
			return nil
		}
		e, err := event.Parse(line)
		if err == nil {
			past.apply(e)
		}
		return err
	})
	return past.by, err
}

func (h *history) apply(e event.Event) {
	switch e := e.(type) {
	case event.Fired:
		firings := h.by[e.By]
		if firings == nil {
			firings = new(Firings)
			h.by[e.By] = firings
		}
		if e.Again != "" {
			room := e.Posts[0].Room
			h.fired = slices.DeleteFunc(h.fired, func(f firing) bool { return f.of == firings && f.Room == room })
		} else {
			firings.Last, firings.Fired, firings.Missed = e.TS, firings.Fired+1, firings.Missed+e.Missed
		}
		for _, p := range e.Posts[:min(1, len(e.Posts))] {
			h.fired = append(h.fired, firing{firings, p})
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
