// Package talk reads a text from the command line, says it to identities, and waits for their answers: lethe say,
// answer, ask and chat --once go this way.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/screen"
)

var (
	// errTimeout: the answer was not there when the time had passed.
	errTimeout = errors.New("wait for an answer: timed out")
	// errNoAnswer: the identity took its turn and had nothing to say.
	errNoAnswer = errors.New("wait for an answer: the turn ended without one")
)

// Ask asks the identity of the flags, or the default one, which runs meanwhile, and prints its answer. It waits for
// timeout at most; 0 is no bound.
func Ask(ctx context.Context, app *cli.App, text string, timeout time.Duration) error {
	return app.Talk(ctx, func(ctx context.Context, identity *host.Identity, banner string) error {
		app.Tell(banner)
		return await(ctx, app, app.RoomOf(identity.Identity), text, timeout, identity)
	})
}

// AskRoom asks the identities that hear a room and run, at any host, and prints their answers. It waits for timeout at
// most; 0 is no bound.
func AskRoom(ctx context.Context, app *cli.App, room, text string, timeout time.Duration) error {
	return app.BesideHearers(ctx, room, func(ctx context.Context, all []*host.Identity) error {
		return await(ctx, app, room, text, timeout, all...)
	})
}

// await says a text in a room, and prints the answer of each identity.
func await(
	ctx context.Context, app *cli.App, room, text string, timeout time.Duration, identities ...*host.Identity,
) error {
	if timeout != 0 {
		bounded, end := context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer end()
		ctx = bounded
	}
	var faults []error
	answered := false
	began := time.Now()
	tellTrouble := func(event events.Event) error {
		if event.Type == events.Error && event.Why == "secret" {
			app.Note("%s: %s", event.Agent, event.Text)
		} else if event.Type == events.Error {
			app.Note("%s has waited %s: %s", event.Agent, time.Since(began).Round(time.Second), event.Text)
		}
		return nil
	}
	for reply, err := range host.SayTo(ctx, app.Settings.UserName(), room, text, identities, tellTrouble) {
		switch {
		case home.IsElsewhere(err): // which says what to do
		case errors.Is(err, host.ErrNotHeard):
			err = exit.Hint(err, "rooms are named when it starts: %s", app.HowToHear(room))
		case errors.Is(err, host.ErrStopped):
			err = exit.Hint(err, "start it with: %s", app.HowToHear(room))
		}
		answered = answered || reply.Text != ""
		faults = append(faults, printReply(app, reply), err, unfinished(app, reply))
	}
	fault := errors.Join(faults...)
	if !answered && fault == nil {
		return errNoAnswer
	}
	return fault
}

// printReply prints the words of a reply.
func printReply(app *cli.App, reply host.Reply) error {
	if reply.Text == "" {
		return nil
	}
	if app.JSON {
		return console.PrintLine(app.Out, reply)
	}
	_, err := fmt.Fprintln(app.Out, screen.Sanitize(reply.Text))
	return err
}

// unfinished notes the command that answers a question of a reply, and fails if its turn was cut off.
func unfinished(app *cli.App, reply host.Reply) error {
	if asked := reply.Question; asked != nil && !app.JSON {
		answer := "TEXT"
		if len(asked.Options) > 0 {
			answer = cmp.Or(asked.Options[0], answer)
		}
		app.Note("%s waits for the answer; give it with: %s",
			reply.Name, app.Lethe("answer %s %s", asked.ID, console.Quoted(answer)))
	}
	if reply.Ended != "" {
		return fmt.Errorf("wait for an answer: the turn of %s was cut off: %s", reply.Name, reply.Ended)
	}
	return nil
}
