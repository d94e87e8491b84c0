package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/chat"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// A RunE is the function of a cobra.Command.
type RunE = func(*cobra.Command, []string) error

// WithHome opens the home for a command that looks at it; a missing home is empty.
func (app *App) WithHome(run func(context.Context, []string) error) RunE {
	return func(cmd *cobra.Command, args []string) error {
		if err := app.Prepare(cmd, false); err != nil {
			return err
		}
		return errors.Join(run(cmd.Context(), args), app.dropCopies())
	}
}

// MakingHome opens the home for a command that needs one; a missing home is made.
func (app *App) MakingHome(run func(context.Context, []string) error) RunE {
	return func(cmd *cobra.Command, args []string) error {
		if err := app.Prepare(cmd, true); err != nil {
			return err
		}
		return errors.Join(run(cmd.Context(), args), app.dropCopies())
	}
}

// WithIdentity is WithHome for a command about the identity that its first argument names, or about the default one.
func (app *App) WithIdentity(run func(context.Context, home.Identity, []string) error) RunE {
	return app.withFound(app.FindToChange, run)
}

// ReadingIdentity is WithIdentity for a command that only reads if reads says so: then it reads a life that another host
// has, too.
func (app *App) ReadingIdentity(
	reads func(args []string) bool, run func(context.Context, home.Identity, []string) error,
) RunE {
	return func(cmd *cobra.Command, args []string) error {
		if !reads(args) {
			return app.WithIdentity(run)(cmd, args)
		}
		return app.withFound(app.FindToRead, run)(cmd, args)
	}
}

func (app *App) withFound(
	find finder, run func(context.Context, home.Identity, []string) error,
) RunE {
	return app.WithHome(func(ctx context.Context, args []string) error {
		id, err := find(ctx, Argument(args, 0))
		if err != nil {
			return err
		}
		return run(ctx, id, args)
	})
}

// Prepare checks the flags that commands share, and opens the home; makes: a missing home is made.
func (app *App) Prepare(cmd *cobra.Command, makes bool) error {
	if flag := cmd.Flag("home"); flag != nil && flag.Changed {
		app.Again = " --home " + console.Quoted(app.HomeDir)
	}
	if err := CheckRooms(app.Runs.Rooms...); err != nil {
		return err
	}
	err := app.Open(makes)
	if app.Shared != nil {
		app.Shared.Until(cmd.Context())
	}
	return err
}

// Argument returns the n-th argument, "" where there are fewer.
func Argument(args []string, n int) string {
	if n >= len(args) {
		return ""
	}
	return args[n]
}

// CheckRooms refuses texts that cannot name a room.
func CheckRooms(rooms ...string) error {
	for _, room := range rooms {
		if !chat.ValidRoom(room) {
			return exit.Usagef("%q is not the name of a room: up to 64 of a-z, 0-9, - and _, a letter or digit first", room)
		}
	}
	return nil
}

// CheckName refuses texts that cannot name an identity.
func CheckName(name string) error {
	if !home.ValidName(name) {
		return exit.Usagef("%q is not a name for an identity: a lower-case letter, then up to 31 of a-z, 0-9 and -", name)
	}
	return nil
}

// CheckSigner refuses names that cannot sign a line.
func CheckSigner(as string) error {
	if as != chat.CleanName(as) {
		return exit.Usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	return nil
}

// ConfirmPrice tells what requests cost, and asks whether to send them unless yes is set.
func (app *App) ConfirmPrice(requests int, model string, tokens int, about string, usd budget.USD, yes bool) error {
	price := about + " " + usd.String() + " USD"
	if usd == 0 {
		price = "nobody has told the price"
	}
	app.Note("%d requests to %s, about %d tokens of input: %s", requests, model, tokens, price)
	return app.Agree(yes, "Ask them?", "not confirmed, nothing was asked")
}
