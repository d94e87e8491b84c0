// Package life is the log of one identity: LIFE.md, one line an event, append
// only, readable with tail -f.
//
//	log, err := life.Create(path)            // or life.Open(path)
//	err = log.Append(event.Line(now, event.Stopped{Why: "signal"}))
//	events, err := log.SinceEpoch()
//
// A line is the commit: an event without a line did not happen. Append returns
// nil only when its lines survive power loss; lines given to one Append go out in
// one write. Each line ends in a checksum over the line before it and itself, so
// the log is a chain: Open recognises a torn end and sets it aside, and any other
// line that does not fit is corruption. The lines of an opened log are durable,
// too, so nobody acts upon a line that a power loss could still take back.
//
// Resume reads the log backwards to the newest epoch, so its cost follows the
// epoch and not the life. Create and Open are for the process that holds the
// identity's lock; everybody else uses View or Scan, which change nothing.
//
// The format is specified in docs/life.md.
package life

import (
	"time"

	"lethe/blobs"
)

// Event is one line of a life. Package life/event has a type for each kind.
//
// Kind, Args and the keys of Fields are words: printable, without spaces, without
// = " # ◰ ◱ ◲ ◳ ◆, and not a bare "+". Append refuses an event with other texts
// there. Values may be any text; invalid UTF-8 becomes U+FFFD.
type Event struct {
	At     time.Time   // UTC, to the microsecond, year 0 to 9999
	Kind   string      // boot, inbound, reply, call, result, …
	Args   []string    // bare words after the kind: e12, e12.1 BASH
	Fields []Field     // key=value, in order; a key may occur several times
	Refs   []blobs.Ref // the blobs the event is about
}

// Field is one key=value of an event.
type Field struct{ Key, Value string }

// Get returns the first value of key, or "".
func (e Event) Get(key string) string {
	for _, field := range e.Fields {
		if field.Key == key {
			return field.Value
		}
	}
	return ""
}

// All returns every value of key, in order.
func (e Event) All(key string) []string {
	var out []string
	for _, field := range e.Fields {
		if field.Key == key {
			out = append(out, field.Value)
		}
	}
	return out
}

// Arg returns the i-th bare word, or "".
func (e Event) Arg(i int) string {
	if i < len(e.Args) {
		return e.Args[i]
	}
	return ""
}

// Append lists the events that one append has written, in order. A crash may have taken the last ones.
type Append []Event

// Add adds the next event of a log. With follows false, the event begins another append, and Add drops the others.
func (a *Append) Add(e Event, follows bool) {
	if !follows {
		*a = nil
	}
	*a = append(*a, e)
}

// Whole reports whether the append is complete. A power loss or a full disk can keep the first lines of an append and
// take the last ones. An erasure, a move or a reception counts only with the seal behind it, and a fade only with the
// epoch behind it. Other events make sense without later ones.
func (a Append) Whole() bool {
	has := map[string]bool{}
	for _, event := range a {
		has[event.Kind] = true
	}
	switch {
	case has[Sealed]:
		return true
	case has["erased"], has["moved"], has["received"]:
		return false
	}
	return has[Epoch] || !has["fade"]
}
