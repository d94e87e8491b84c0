package agent

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/mind"
)

// draft is an event that is about to happen, with the bodies of its blobs.
type draft struct {
	event  life.Event
	bodies []body
	stored []mind.Ref // blobs that are durable already

}

type body struct {
	gist string
	data []byte
}

// happen drafts an event. An entry's number is put in by commit: write it as "e".
func happen(kind string, args []string, kv ...string) draft {
	return draft{event: life.New(time.Time{}, kind, args, kv...)}
}

func (d draft) with(gist string, data []byte) draft {
	d.bodies = append(d.bodies, body{gist, data})
	return d
}

// naming adds refs to blobs that were put before.
func (d draft) naming(refs ...mind.Ref) draft {
	for _, r := range refs {
		if !r.Hash.IsZero() {
			d.stored = append(d.stored, r)
		}
	}
	return d
}

func (d draft) field(key, value string) draft {
	d.event.Fields = append(d.event.Fields, life.Field{Key: key, Value: value})
	return d
}

// happening is an event whose blobs are durable.
type happening struct {
	life.Event
	bodies []mind.Body
}

// commit makes drafts happen, together: blobs first, then their lines in one
// append, then the state in memory. After an error nothing in memory has
// changed, and the log alone knows what happened: the identity has to be opened
// again.
func (a *Agent) commit(drafts ...draft) error {
	events, err := a.prepare(drafts)
	if err != nil {
		return err
	}
	a.broken = errBehind // a panic from here on may be recovered, as in a tool
	if err := a.append(events); err != nil {
		return err
	}
	if err := a.apply(events); err != nil {
		return err
	}
	a.broken = nil
	return nil
}

// errBehind says that events were recorded and not applied.
var errBehind = errors.New("the state in memory is behind the log; the identity has to be opened again")

// prepare puts the blobs of drafts. No secret of this process gets into them or
// their events; an epoch holds what was recorded before, and is left as it is.
func (a *Agent) prepare(drafts []draft) ([]happening, error) {
	parent := a.state.LastBlob
	at := a.now()
	var last body // what many calls share is put once
	var ref blobs.Ref
	var out []happening
	for _, d := range drafts {
		if d.event.Kind != life.Epoch {
			d = d.redacted()
		}
		e := happening{Event: d.event}
		e.At = at
		if show := a.noteShows(d); show > 0 {
			e.Fields = append(slices.Clip(e.Fields), life.Field{Key: "show", Value: strconv.Itoa(show)})
		}
		for _, r := range d.stored {
			e.Refs = append(e.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
			e.bodies = append(e.bodies, mind.Body{Hash: r.Hash})
		}
		for _, b := range d.bodies {
			if ref.Hash == "" || b.gist != last.gist || !bytes.Equal(b.data, last.data) {
				h, err := a.store.Put(blobs.Meta{At: at, Gist: b.gist, Life: a.id.Self, Parent: parent}, b.data)
				if err != nil {
					return nil, fmt.Errorf("record %s: %w", e.Kind, err)
				}
				parent, last, ref = h, b, blobs.Ref{Hash: a.store.Short(h), Gist: blobs.Gist(b.gist)}
			}
			e.Refs = append(e.Refs, ref)
			e.bodies = append(e.bodies, mind.Body{Hash: parent, Data: b.data})
		}
		out = append(out, e)
	}
	return out, nil
}

// redacted is the draft without secrets.
func (d draft) redacted() draft {
	d.event.Args, d.event.Fields, d.bodies = slices.Clone(d.event.Args), slices.Clone(d.event.Fields), slices.Clone(d.bodies)
	for i, arg := range d.event.Args {
		d.event.Args[i] = secret.Text(arg)
	}
	for i, f := range d.event.Fields {
		d.event.Fields[i].Value = secret.Text(f.Value)
	}
	for i, b := range d.bodies {
		d.bodies[i] = body{secret.Text(b.gist), secret.Bytes(b.data)}
	}
	return d
}

// append writes the lines of events, which then have happened.
func (a *Agent) append(events []happening) error {
	lines := make([]life.Event, len(events))
	for i, e := range events {
		lines[i] = e.Event
	}
	if err := a.log.Append(lines...); err != nil {
		return fmt.Errorf("record %s: %w", lines[0].Kind, err)
	}
	a.sinceEpoch += len(events)
	if a.cfg.Tell != nil {
		for _, e := range lines {
			a.cfg.Tell(a.id, e)
		}
	}
	return nil
}

// apply folds events into the state.
func (a *Agent) apply(events []happening) error {
	for _, e := range events {
		if io := a.rooms[e.Get("room")]; io != nil {
			io.readAhead = nil // the state's cursor knows better now
		}
		if err := a.state.Apply(e.Event, e.bodies...); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

// noteShows bounds what a note brings into the context, as a result is bounded:
// what a person writes into a file of the identity has any length. 0 is all.
func (a *Agent) noteShows(d draft) int {
	if d.event.Kind != mind.Note || len(d.bodies[0].data) < 1000 {
		return 0
	}
	return fit(mind.Result(d.bodies[0].data, 0, mind.Ref{}), d.bodies[0].gist, maxResult, a.budget())
}

// now is the time of the next event: the clock's, but never before the last
// event's, so that a clock that jumps back does not turn a life around.
func (a *Agent) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if now.Before(a.last) {
		return a.last
	}
	a.last = now
	return now
}

// entryID is the number that the k-th new entry of the next commit gets.
func (a *Agent) entryID(k int) string { return mind.EntryID(a.state.Next + k) }
