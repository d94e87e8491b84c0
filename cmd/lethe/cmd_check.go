package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/cmd/lethe/check"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/cmd/lethe/restore"
	"lethe/life"
)

// checkOptions are the flags of lethe check.
type checkOptions struct {
	against    string
	checkpoint bool
	repair     bool
	share      bool
}

func newCheckCommand(app *cli.App) *cobra.Command {
	var options checkOptions
	cmd := &cobra.Command{
		Use:   "check [NAME]...",
		Short: "Check that nothing was altered, damaged or lost, and mend it",
		Long: `Check holds identities, or the whole home, against what was written: stored texts against their
hashes, LIFE line by line and against its seals, which the key of the home has signed, each epoch
against the lines before it, rooms, links, modes and what crashes have left. It says what is
wrong, what that means and what --repair would do. It changes nothing, and identities
may run. With --repair it mends what it can; it moves files to lost+found in the home
and deletes none.

Who has the key, or cuts LIFE back to an earlier seal, is found only with a checkpoint that
you have kept somewhere else.`,
		Example: `  lethe check
  lethe check ada --checkpoint > ada.checkpoint   # keep it elsewhere, or send it to somebody
  lethe check ada --against ada.checkpoint        # what it states must be there, unaltered
  lethe check --repair`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			app.AsIs = !options.repair
			if err := app.Prepare(cmd, false); err != nil {
				return err
			}
			if options.share {
				return restore.Check(cmd.Context(), app)
			}
			return runCheck(cmd.Context(), app, options, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.against, "against", "",
		"a checkpoint in `FILE`, or - for standard input: it has to go on from there")
	flags.BoolVar(&options.checkpoint, "checkpoint", false,
		"print the newest checkpoint of one life, if no fault is found")
	flags.BoolVar(&options.share, "share", false, "read the store of [share], and say what a restore would lose")
	flags.BoolVar(&options.repair, "repair", false, "mend what can be mended; no identity may run")
	return cmd
}

func runCheck(ctx context.Context, app *cli.App, options checkOptions, args []string) error {
	request, err := checkRequest(ctx, app, options, args)
	if err != nil {
		return err
	}
	var found *check.Report
	mended := []check.Finding{}
	if options.repair {
		mended, found, err = check.Repair(app.Home, app.Look.Store, request)
	} else {
		found, err = check.Home(app.Home, app.Look.Store, request)
	}
	sound := err == nil && found.Faults == 0
	onlyCheckpoint := options.checkpoint && !app.JSON
	if sound && onlyCheckpoint {
		return found.Proofs[0].WriteCheckpoint(app.Out)
	}
	if found != nil { // also beside an error
		err = errors.Join(err, showCheck(app, found, mended, request.Against))
	}
	if err == nil && found.Faults > 0 {
		err = fmt.Errorf("check %s: %w: faults: %d", app.Home.Dir, home.ErrCorrupt, found.Faults)
		return exit.Hint(err, "what stands above at --repair is what %s does; docs/check.md says what each fault means",
			app.Lethe("check --repair"))
	}
	return err
}

// checkRequest finds the lives and the checkpoint that the flags and arguments name.
func checkRequest(
	ctx context.Context, app *cli.App, options checkOptions, names []string,
) (request check.Options, err error) {
	ofOne := options.checkpoint || options.against != ""
	if ofOne && len(names) > 1 {
		return request, exit.Usagef("a checkpoint is of one life: name one")
	}
	if ofOne && len(names) == 0 {
		names = []string{""} // the default one
	}
	if len(names) > 0 { // another host may have them: what is here is an older copy
		app.Shared = host.Share(&app.Home, app.Settings.Settings, app.Look.Store, app.LogTo(app.Err))
	}
	for _, name := range names {
		id, err := app.FindToChange(ctx, name)
		if err != nil {
			return request, err
		}
		request.Lives = append(request.Lives, id)
	}
	if _, err := app.Store(); err != nil {
		return request, err
	}
	if options.against != "" {
		from, err := check.ReadCheckpoint(app.In, options.against, request.Lives[0])
		if err != nil {
			return request, err
		}
		request.Against = &from
	}
	began, show := time.Now(), app.Progress()
	request.Tell = func(blobs, of int, bytes int64) {
		speed := float64(bytes) / 1e6 / time.Since(began).Seconds()
		show(int64(blobs), int64(of), "%d of %d blobs, %.0f MB/s", blobs, of, speed)
	}
	return request, nil
}

// showCheck shows a report, and before it what was mended. against may be nil.
func showCheck(app *cli.App, found *check.Report, mended []check.Finding, against *life.Checkpoint) error {
	value := struct {
		*check.Report
		Mended []check.Finding `json:"mended,omitempty"`
	}{found, mended}
	return app.Show(value, func(out io.Writer) {
		for _, finding := range mended {
			fmt.Fprintf(out, "mended    %s: %s\n", finding.Where, console.OneLine(finding.What))
		}
		found.Write(out, against)
	})
}
