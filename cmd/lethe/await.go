package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"lethe/agent/events"
	"lethe/agent/host"
	"lethe/internal/screen"
)

// inquiry is a line that somebody waits for the answers to.
type inquiry struct {
	room, text string
	timeout    time.Duration // 0: no bound
}

var (
	// errTimeout: the answer was not in when the time had passed.
	errTimeout = errors.New("wait for an answer: timed out")
	// errNoAnswer: the identity took its turn and had nothing to say.
	errNoAnswer = errors.New("wait for an answer: the turn ended without one")
)

// await posts the line, and prints the answer of each identity.
func await(ctx context.Context, app *app, inquiry inquiry, identities ...*host.Identity) error {
	if inquiry.timeout != 0 {
		bounded, end := context.WithTimeoutCause(ctx, inquiry.timeout, errTimeout)
		defer end()
		ctx = bounded
	}
	var faults []error
	answered := false
	user := app.settings.UserName()
	for reply, err := range host.SayTo(ctx, user, inquiry.room, inquiry.text, identities, app.trouble) {
		switch {
		case errors.Is(err, host.ErrNotHeard):
			err = hint(err, "rooms are named when it starts: %s", app.howToHear(inquiry.room))
		case errors.Is(err, host.ErrStopped):
			err = hint(err, "start it with: %s", app.howToHear(inquiry.room))
		}
		answered = answered || reply.Text != ""
		faults = append(faults, app.printReply(reply), err, app.unfinished(reply))
	}
	fault := errors.Join(faults...)
	if !answered && fault == nil {
		return errNoAnswer
	}
	return fault
}

// trouble tells why an answer takes so long.
func (c *console) trouble(event events.Event) error {
	if event.Type == events.Error {
		c.note("%s waits: %s", event.Agent, event.Text)
	}
	return nil
}

// printReply prints the words of a reply.
func (c *console) printReply(reply host.Reply) error {
	if reply.Text == "" {
		return nil
	}
	if c.json {
		return printLine(c.out, reply)
	}
	_, err := fmt.Fprintln(c.out, screen.Sanitize(reply.Text))
	return err
}

// unfinished tells how to answer a question that a reply asks, and fails if its turn was cut off.
func (c *console) unfinished(reply host.Reply) error {
	if asked := reply.Question; asked != nil && !c.json {
		answer := "TEXT"
		if len(asked.Options) > 0 {
			answer = cmp.Or(asked.Options[0], answer)
		}
		c.note("%s waits for the answer; give it with: %s", reply.Name,
			c.lethe("answer %s %s", asked.ID, quoted(answer)))
	}
	if reply.Ended != "" {
		return fmt.Errorf("wait for an answer: the turn of %s was cut off: %s", reply.Name, reply.Ended)
	}
	return nil
}
