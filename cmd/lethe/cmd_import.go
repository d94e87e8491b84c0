package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/archive"
	"lethe/cmd/lethe/cli"
)

// importOptions are the flags of lethe import.
type importOptions struct {
	identity string
	name     string
	restore  bool
}

func newImportCommand(app *cli.App) *cobra.Command {
	var options importOptions
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Take in a life that was exported",
		Long: `Import checks an archive while it reads it, and refuses what was altered. A life
that was moved goes on here. Of a copy there is a mirror then, which does not run
before you say what it is to be: the life itself (--restore), since the one that
it was copied from is no more, or the beginning of a new one (lethe fork).`,
		Args: cli.ExactArgs(1),
		RunE: app.MakingHome(func(_ context.Context, args []string) error {
			return runImport(app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.identity, "identity", "", "`FILE` with the age key that the archive is encrypted to")
	flags.StringVar(&options.name, "name", "", "`NAME` that it gets here")
	flags.BoolVar(&options.restore, "restore", false, "it goes on here: the life that this is a copy of is no more")
	return cmd
}

func runImport(app *cli.App, options importOptions, args []string) error {
	in := app.In
	if args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	readOptions := archive.ReadOptions{Name: options.name, Restore: options.restore}
	if options.identity != "" {
		keys, err := os.ReadFile(options.identity)
		if err != nil {
			return err
		}
		readOptions.Keys = keys
	}
	got, err := archive.Read(in, app.Home, app.Look.Store, readOptions)
	if err != nil {
		return err
	}
	if got.Known {
		app.Note("%s came here with this archive before, and lives here: nothing was changed", got.Identity.Name)
		return nil
	}
	tellImported(app, got)
	return nil
}

// tellImported tells the origin of a life that was taken in, and the next step.
func tellImported(app *cli.App, got archive.Result) {
	id := got.Identity
	app.Event("imported", id)
	app.NoteWaiting(app.Home, id)
	if triggers := got.Triggers(); len(triggers) > 0 {
		app.Note("when it runs, its triggers wake it: %s; look at them in %s",
			strings.Join(triggers, ", "), filepath.Join(id.Dir, "triggers"))
	}
	if got.Hired != "" {
		app.Note("it was hired as %s; hire it again, and it is kept running", got.Hired)
	}
	app.Note("%d files, of which %d lines of LIFE are sealed by the key %s; where it comes from, %s names the key, too",
		got.Files(), got.Verdict.Sealed, got.Verdict.Signer, app.Lethe("check %s", got.Name))
	if got.Mirror {
		app.Note("it is a mirror; what it can be: a new life, with %s, or this one, if that is no more elsewhere, with %s",
			app.Lethe("fork %s", id.Name), app.Lethe("import FILE --restore"))
		return
	}
	app.Note("run it with: %s", app.HowToRun(id, ""))
}
