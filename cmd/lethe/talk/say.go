package talk

import (
	"context"

	"lethe/agent/host"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
)

// Say appends a line to a room, and notes if no identity hears the room.
func Say(ctx context.Context, app *cli.App, room, as, text string) error {
	if err := cli.CheckSigner(as); err != nil {
		return err
	}
	near := app.NearestRoom(room)
	line, err := host.Post(app.Home, room, as, text)
	if err != nil {
		return err
	}
	app.Refresh(ctx) // no daemon need run here
	heard := len(app.Look.Hearers(room)) > 0
	if !heard && app.Elsewhere() == nil { // an identity of another host may hear it
		app.Note("%sno identity hears room %s; the line waits there. To have it heard: %s", near, room, app.HowToHear(room))
	}
	if app.JSON { // heard: an identity is subscribed to the room
		return console.PrintLine(app.Out, console.Object{"room": room, "name": as, "at": line.At, "heard": heard})
	}
	return nil
}
