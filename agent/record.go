package agent

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// record is an event to be committed, with its blobs in the order of its refs.
type record struct {
	event  event.Event
	stored []mind.Ref // that are durable already
	bodies []body     // that commit stores
}

// body is the text of a blob, and one line about it.
type body struct {
	gist string
	data []byte
}

// note records what the daemon tells the agent. What is kept goes into blobs beside
// the note's own.
func (a *Agent) note(e event.Note, gist, text string, kept ...body) record {
	e.N = a.state.Next
	return record{event: e, bodies: append([]body{{gist, []byte(text)}}, kept...)}
}

// posting fixes when and where a line is posted.
func (a *Agent) posting(rooms ...string) event.Posting {
	p := event.Posting{TS: time.Now().UTC().Truncate(time.Second)}
	for _, room := range rooms {
		inode, size, err := chat.End(a.path(room))
		if err != nil { // found when it is posted, and searched from the start
			inode, size = 0, 0
		}
		p.Posts = append(p.Posts, event.Place{Room: room, Inode: inode, Size: size})
	}
	return p
}

// notice is a line that the daemon says in rooms; with no rooms, it says nothing.
func (a *Agent) notice(text string, rooms ...string) event.Notice {
	if len(rooms) == 0 {
		return event.Notice{}
	}
	return event.Notice{Say: text, Posting: a.posting(rooms...)}
}

// prepared is a line whose blobs are durable.
type prepared struct {
	life.Event
	bodies []mind.Body
}

// commit makes records happen, together: blobs first, then their lines in one
// append, then the state in memory. After an error nothing in memory has
// changed, and the log alone knows what happened: the identity has to be opened
// again.
func (a *Agent) commit(records ...record) error {
	events, err := a.prepare(records)
	if err != nil {
		return err
	}
	a.log.broken = errBehind // a panic from here on may be recovered, as in a tool
	if err := a.append(events); err != nil {
		return err
	}
	if err := a.apply(events); err != nil {
		return err
	}
	a.log.broken = nil
	return nil
}

// errBehind says that events were recorded and not applied.
var errBehind = errors.New("the state in memory is behind the log; the identity has to be opened again")

// prepare stores the blobs of records. No secret of this process gets into them or
// their lines; an epoch holds what was recorded before, and is left as it is.
func (a *Agent) prepare(records []record) ([]prepared, error) {
	parent := a.state.LastBlob
	at := a.now()
	var last body // what many calls share is stored once
	var ref blobs.Ref
	var out []prepared
	for _, r := range records {
		if note, ok := r.event.(event.Note); ok {
			note.Show = a.noteShow(r.bodies[0])
			r.event = note
		}
		l := prepared{Event: event.Line(at, r.event)}
		_, epoch := r.event.(event.Epoch)
		if !epoch {
			redactLine(l.Event)
		}
		for _, s := range r.stored {
			if !s.Hash.IsZero() {
				l.Refs = append(l.Refs, blobs.Ref{Hash: s.Short, Gist: s.Gist})
				l.bodies = append(l.bodies, mind.Body{Hash: s.Hash})
			}
		}
		for _, b := range r.bodies {
			if !epoch {
				b = body{secret.Text(b.gist), secret.Bytes(b.data)}
			}
			if ref.Hash == "" || b.gist != last.gist || !bytes.Equal(b.data, last.data) {
				h, err := a.store.Put(blobs.Meta{At: at, Gist: b.gist, Life: a.id.Self, Parent: parent}, b.data)
				if err != nil {
					return nil, fmt.Errorf("record %s: %w", l.Kind, err)
				}
				parent, last, ref = h, b, blobs.Ref{Hash: a.store.Short(h), Gist: blobs.Gist(b.gist)}
			}
			l.Refs = append(l.Refs, ref)
			l.bodies = append(l.bodies, mind.Body{Hash: parent, Data: b.data})
		}
		out = append(out, l)
	}
	return out, nil
}

// redactLine takes secrets out of a line, in place.
func redactLine(e life.Event) {
	for i, arg := range e.Args {
		e.Args[i] = secret.Text(arg)
	}
	for i, f := range e.Fields {
		e.Fields[i].Value = secret.Text(f.Value)
	}
}

// append writes the lines of events, which then have happened.
func (a *Agent) append(events []prepared) error {
	lines := make([]life.Event, len(events))
	for i, e := range events {
		lines[i] = e.Event
	}
	if err := a.log.Append(lines...); err != nil {
		return fmt.Errorf("record %s: %w", lines[0].Kind, err)
	}
	a.log.sinceEpoch += len(events)
	if a.cfg.Tell != nil {
		for _, e := range lines {
			a.cfg.Tell(a.id, e)
		}
	}
	return nil
}

// apply folds events into the state.
func (a *Agent) apply(events []prepared) error {
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

// noteShow bounds what a note brings into the context, as a result is bounded:
// what a person writes into a file of the identity has any length. 0 is all.
func (a *Agent) noteShow(text body) int {
	if len(text.data) < 1000 {
		return 0
	}
	return fit(mind.Result(text.data, 0, mind.Ref{}), text.gist, compactor.MaxResult, a.batchChars())
}

// now is the time of the next event: the clock's, but never before the last
// event's, so that a clock that jumps back does not turn a life around.
func (a *Agent) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if now.Before(a.log.last) {
		return a.log.last
	}
	a.log.last = now
	return now
}
