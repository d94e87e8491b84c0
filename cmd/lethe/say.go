package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/host"
	"lethe/chat"
)

// sayOptions are the flags of lethe say.
type sayOptions struct {
	as string
}

func newSayCommand(app *app) *cobra.Command {
	var options sayOptions
	cmd := &cobra.Command{
		Use:   "say ROOM TEXT...",
		Short: "Append one message to a room",
		Example: `  lethe say dev "are you there?"
  lethe say dev --as bob -- --help is a flag`,
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
			return runSay(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "sign with this `NAME` (default: yours)")
	return cmd
}

func runSay(ctx context.Context, app *app, options sayOptions, args []string) error {
	room, text := args[0], strings.Join(args[1:], " ")
	if err := checkRooms(room); err != nil {
		return err
	}
	return app.say(ctx, room, cmp.Or(options.as, app.settings.UserName()), text)
}

// say appends a line to a room, and tells where no identity hears it.
func (app *app) say(ctx context.Context, room, as, text string) error {
	if err := checkSigner(as); err != nil {
		return err
	}
	near := app.nearestRoom(room)
	line, err := host.Post(app.home, room, as, text)
	if err != nil {
		return err
	}
	app.refresh(ctx) // no daemon need run here
	heard := len(app.look.Hearers(room)) > 0
	if !heard {
		app.note("%sno identity hears room %s; the line waits there. To have it heard: %s", near, room, app.howToHear(room))
	}
	if app.json { // heard: an identity is subscribed to the room
		return printLine(app.out, object{"room": room, "name": as, "at": line.At, "heard": heard})
	}
	return nil
}

// checkSigner refuses names that cannot sign a line.
func checkSigner(as string) error {
	if as != chat.CleanName(as) {
		return usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	return nil
}
