// Package wake holds what wakes an identity by itself: its triggers, its jobs, and the life that it reviews.
//
//	t := wake.NewTriggers(config)        // one goroutine calls it
//	records := t.Due(view)               // what it has to say now
//	at := t.Next(view)                   // when the clock makes more of it due
//
// A source knows the identity by a View, which nobody changes, and returns Records. The loop of the identity
// commits each of them by itself.
package wake

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/home"
	"lethe/life/event"
	"lethe/mind"
)

// View is the part of a mind that sources look at, as of a moment. It shares nothing that changes.
type View struct {
	Now     time.Time
	Joined  []string               // rooms that the identity hears
	Company []string               // those of them that are no child's
	Fires   map[string]mind.Firing // the newest firing of each signer
	Wakes   []mind.Wake            // lines that woke it and are unanswered
	Files   map[string]string      // digests of own files that LIFE knows
	Jobs    []mind.Job             // those whose end is not recorded
	Last    blobs.Hash             // the newest blob of the life
	Wishes  []home.Wish            // of people, that are not obeyed yet
}

// HeardFor returns a room in which something is told that belongs into room: another one where that is no longer
// heard, and "" where none is.
func (v View) HeardFor(room string) string {
	switch {
	case slices.Contains(v.Joined, room):
		return room
	case len(v.Joined) > 0:
		return v.Joined[0]
	}
	return ""
}

// Record is something that a source has to say: a line that wakes the identity, or a note for the identity alone.
type Record struct {
	Event  event.Event // a Fired or a Note, without its number, its time and its places
	Text   string      // of the line, or of the note
	At     time.Time   // when the line was due
	Rooms  []string    // the rooms of the line
	Urgent bool        // people are told in their rooms for notices, too
	Gist   string      // of the note
	Alert  string      // the line that tells people of the note
	Stored []mind.Ref  // texts that the event refers to
}

// Source is something that wakes the identity. The goroutine of the loop alone calls it.
type Source interface {
	// Due returns what is to be recorded now. It waits for nothing but files.
	Due(View) ([]Record, error)
	// Next is when the clock makes something due; zero when only Config.Stir tells.
	Next(View) time.Time
}

// Config is what sources run with. Its functions may be called from Due and Next; Stir from any goroutine.
type Config struct {
	Home        home.Home
	Identity    home.Identity
	Store       *blobs.Store
	Log         *slog.Logger
	Zone        *time.Location // of schedules
	Workspace   string         // where relative paths of triggers lead
	AddTriggers string         // AddSpoken (the default) or AddAlways
	Commands    bool           // triggers may run commands
	Webhooks    []string       // triggers of mail whose directories the HTTP server fills: ada/github

	// Stir makes the loop ask its sources soon.
	Stir func()
	// Put stores a text behind another one; it is durable with the record that refers to it.
	Put func(m blobs.Meta, text []byte) (mind.Ref, error)
	// Run runs the command of a trigger in the sandbox, beside the loop.
	Run func(ctx context.Context, name, command string) (printed, failure string)
	// MayRun and MaySay say why a trigger of the identity's own may not run a command or post a text.
	MayRun func(key, command string) error
	MaySay func(room, text string) error
}

// Sooner is the earliest of some times; a zero one never comes.
func Sooner(times ...time.Time) (at time.Time) {
	for _, t := range times {
		if at.IsZero() || !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}
