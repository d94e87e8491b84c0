// Package life is the log of one identity: LIFE.md, one line an event, append
// only, readable with tail -f.
//
//	log, err := life.Create(path)            // or life.Open(path)
//	err = log.Append(event.Line(now, event.Stopped{Why: "signal"}))
//	events, err := log.SinceEpoch()
//
// A line is the commit: what has no line did not happen. Append returns nil
// only when its lines survive power loss; lines given to one Append go out in
// one write. Each line ends in a checksum over the line before it and itself,
// so the log is a chain: a torn end is recognised and set aside at Open, and
// anything else that does not fit is corruption. What Open returns is durable
// too, so nothing is acted upon that a power loss could still take back.
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
// Kind, Args and the keys of Fields are words: printable, without spaces, none
// of = " # ◰ ◱ ◲ ◳ ◆, and no bare "+". Append refuses an event where they are
// not. Values may be any text; bytes that are not UTF-8 become U+FFFD.
type Event struct {
	At     time.Time   // UTC, to the microsecond, year 0 to 9999
	Kind   string      // boot, inbound, reply, call, result, …
	Args   []string    // bare words after the kind: e12, e12.1 BASH
	Fields []Field     // key=value, in order; a key may come again
	Refs   []blobs.Ref // the blobs the event is about
}

// Field is one key=value of an event.
type Field struct{ Key, Value string }

// Get returns the first value of key, or "".
func (e Event) Get(key string) string {
	for _, f := range e.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// All returns every value of key, in order.
func (e Event) All(key string) []string {
	var out []string
	for _, f := range e.Fields {
		if f.Key == key {
			out = append(out, f.Value)
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

// Append are the events that one append has written, in their order, or what a crash has left of them.
type Append []Event

// Add takes in the next event of a log. One that does not follow the one before begins another append.
func (a *Append) Add(e Event, follows bool) {
	if !follows {
		*a = nil
	}
	*a = append(*a, e)
}

// Whole reports whether what its events begin is complete. A power loss or a full disk can keep the first lines of an
// append and take the last ones. A fade is nothing without the epoch that lacks what has faded, and what says that a
// life moved, or that something of it was erased, counts by the seal behind it. Other events make sense without those
// after them.
func (a Append) Whole() bool {
	has := map[string]bool{}
	for _, e := range a {
		has[e.Kind] = true
	}
	sealed := has["erased"] || has["moved"] || has["received"]
	return has[Sealed] || !sealed && (has[Epoch] || !has["fade"])
}
