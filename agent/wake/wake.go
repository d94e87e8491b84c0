// Package wake holds what wakes an identity by itself: its triggers, its jobs, and the life that it reviews.
//
//	t := wake.NewTriggers(config)        // one goroutine calls it
//	commits, next, err := t.Due(view)    // what it has to say now, and when the clock makes more of it due
//
// A source knows the identity by a View, which nobody changes, and returns what the loop of the identity is to commit.
package wake

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/audience"
)

// View is the part of a mind that sources look at, as of a moment. It shares nothing that changes.
type View struct {
	Now     time.Time
	Joined  []string               // rooms that the identity hears and may speak in
	Company []string               // the same without rooms of children
	Fires   map[string]mind.Firing // the newest firing of each signer
	Wakes   []mind.Wake            // lines that woke it and are unanswered
	Files   map[string]string      // digests of own files that LIFE knows
	Jobs    []mind.Job             // those whose end is not recorded
	Last    blobs.Hash             // the newest blob of the life
	Wishes  []home.Wish            // of people, that are not obeyed yet

	Audience audience.Readers // of the identity
	Mind     *mind.State      // until Due returns
	Free     int              // children that may begin to work

	Busy   bool        // something is owed
	Unread func() bool // whether its rooms hold lines that it has not heard

	Together func(room, other string) bool // whether the same people read two rooms
}

// HeardFor returns room if it is still heard, otherwise any room that is and that the same people read, otherwise "".
func (v View) HeardFor(room string) string {
	if slices.Contains(v.Joined, room) {
		return room
	}
	for _, other := range v.Joined {
		if v.Together(room, other) {
			return other
		}
	}
	return ""
}

// Commit is a list of records that are written together.
type Commit []journal.Record

// Source is something that wakes the identity. The goroutine of the loop alone calls it.
type Source interface {
	// Due returns what is to be recorded now, and when the clock makes more of it due: zero when only Config.Wake tells.
	// It waits for nothing but files.
	Due(View) (commits []Commit, next time.Time, err error)
}

// Config is common to all sources. Its functions may be called from Due; Wake from any goroutine.
type Config struct {
	Home        home.Home
	Identity    home.Identity
	Store       *blobs.Store
	Log         *slog.Logger
	Tools       *tools.Set
	AddTriggers string   // AddSpoken (the default) or AddAlways
	Webhooks    []string // triggers of mail whose directories the HTTP server fills: ada/github

	// Wake makes the loop ask its sources soon.
	Wake func()
	// Notice returns a line for rooms. Notify adds the rooms that reach people wherever they are.
	Notice func(text string, rooms ...string) event.Notice
	Notify func(rooms ...string) []string
	// Put stores a text behind another one; it is durable with the record that refers to it.
	Put func(m blobs.Meta, text []byte) (mind.Ref, error)
	// Run runs the command of a trigger in the sandbox, beside the loop.
	Run func(ctx context.Context, name, command string) (printed, failure string)
}

// Fire returns the record that wakes the identity: a line signed by e.By in a room that the identity hears, with the time
// at which it was due. rooms also get the line as a notice.
func (c *Config) Fire(e event.Fired, text string, due time.Time, rooms ...string) journal.Record {
	e.Notice = c.Notice(text, rooms...)
	e.TS = due.UTC().Truncate(time.Second)
	return journal.Record{Event: e}
}

// Sooner returns the earliest of some times. A zero one never comes.
func Sooner(times ...time.Time) (soonest time.Time) {
	for _, at := range times {
		if at.IsZero() {
			continue
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}
