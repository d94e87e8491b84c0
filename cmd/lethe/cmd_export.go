package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/cmd/lethe/archive"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
)

// exportOptions are the flags of lethe export.
type exportOptions struct {
	as        string // "" for an archive
	copy      bool
	output    string
	to        []string
	workspace bool
}

func newExportCommand(app *cli.App) *cobra.Command {
	var options exportOptions
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a life into one file: to move it to another home, or to keep",
		Long: `Export writes all that a life is into one file. The life then goes on where that
file is imported, and no longer here; with --copy it goes on here.`,
		Example: `  lethe export ada > ada.lethe          then, on the other machine: lethe import ada.lethe
  lethe export ada --copy -o ada.lethe  a backup; it may run meanwhile
  lethe export ada --to age1…           that only the owner of the key can read
  lethe export ada --as jsonl           what was said and done, for other programs`,
		Args: cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			if options.as != "" {
				return exportLines(ctx, app, options, args[0])
			}
			return runExport(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.as, "as", "", "jsonl: a line of JSON for each thing said or done; the life goes on here")
	flags.BoolVar(&options.copy, "copy", false, "the life goes on here")
	flags.StringVarP(&options.output, "output", "o", "", "write to this `FILE` instead of standard output")
	flags.StringArrayVar(&options.to, "to", nil, "encrypt to this age `RECIPIENT`; may come again")
	flags.BoolVar(&options.workspace, "workspace", false, "take the files in the workspace along")
	return cmd
}

// exportLines writes what other programs read.
func exportLines(ctx context.Context, app *cli.App, options exportOptions, name string) error {
	if options.as != "jsonl" {
		return exit.Usagef("--as is %q; there is only jsonl", options.as)
	}
	if options.workspace || len(options.to) > 0 {
		return exit.Usagef("--workspace and --to are of archives: leave them out with --as")
	}
	id, err := app.FindToRead(ctx, name)
	if err != nil {
		return err
	}
	write := func(out io.Writer) error { return archive.WriteLines(out, app.Look.Store, id) }
	if options.output == "" {
		return write(app.Out)
	}
	return writeArchive(options.output, write)
}

func runExport(ctx context.Context, app *cli.App, options exportOptions, args []string) error {
	if options.output == "" && console.IsTerminal(app.Out) {
		return exit.Hint(exit.Usagef("an archive is nothing to look at"), "name a file with -o")
	}
	info, err := os.Stat(options.output)
	if err == nil && !info.Mode().IsRegular() { // before the life is marked as moved
		return exit.Usagef("%s is no file: an archive is not written in its place", options.output)
	}
	find := app.FindToChange
	if options.copy && !options.workspace { // which no copy has
		find = app.FindToRead
	}
	id, err := find(ctx, args[0])
	if err != nil {
		return err
	}
	isHere := app.Look.Dir == app.Home.Dir
	if options.copy && isHere {
		warnOfOlder(ctx, app, id)
	}
	var sum archive.Summary
	write := func(out io.Writer) (err error) {
		writeOptions := archive.WriteOptions{Copy: options.copy, To: options.to, Workspace: options.workspace}
		sum, err = archive.Write(out, app.Look.Home, app.Look.Store, id, writeOptions)
		return err
	}
	if options.output == "" {
		err = write(app.Out)
	} else {
		err = writeArchive(options.output, write)
	}
	if errors.As(err, new(*home.RunningError)) {
		return exit.Hint(err, "stop it first: %s; or let it go on here with --copy", app.Lethe("stop %s", id.Name))
	}
	if err != nil {
		return err
	}
	left := "rooms, children, jobs, keys"
	if !options.workspace {
		left += ", workspace"
	}
	if sum.Newer > 0 {
		left += fmt.Sprintf(", the newest %d lines, which no seal covers yet", sum.Newer)
	}
	app.Note("exported %s (%s): %d files, %s, sealed over %d lines with root %s; what stays behind: %s",
		sum.Name, sum.Kind, sum.Files(), console.Megabytes(sum.Bytes), sum.Checkpoint.Size, sum.Checkpoint.Root, left)
	return nil
}

// warnOfOlder tells if a life goes on at another host, or in another home.
func warnOfOlder(ctx context.Context, app *cli.App, id home.Identity) {
	err := app.IsElsewhere(ctx, id)
	if elsewhere, is := errors.AsType[*home.ElsewhereError](err); is {
		app.Warn("this is an older copy: %s goes on at %s", id.Name, cmp.Or(elsewhere.Host, "another home"))
	}
}

// writeArchive writes a file, and names it in an error instead of the temporary one.
func writeArchive(file string, write func(io.Writer) error) error {
	err := durable.WriteWith(file, 0o600, write)
	at, ok := errors.AsType[*fs.PathError](err)
	if ok && strings.HasPrefix(filepath.Base(at.Path), ".tmp-") {
		return fmt.Errorf("write %s: %w", file, at.Err)
	}
	return err
}
