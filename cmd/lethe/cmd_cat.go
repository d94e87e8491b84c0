package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/screen"
)

// catOptions are the flags of lethe cat.
type catOptions struct {
	meta bool
	raw  bool
}

func newCatCommand(app *cli.App) *cobra.Command {
	var options catOptions
	cmd := &cobra.Command{
		Use:        "cat REF",
		SuggestFor: []string{"show"},
		Short:      "Print a stored text: an answer, a result, a summary",
		Long: `Cat prints the text that is stored under a hash, or the beginning of one, and checks
it against the hash. An answer of the model is printed as text, followed by its calls
of tools; --raw prints it as it is stored, with the reasoning.`,
		Example: `  lethe cat 3fa9c0d2e1b4a5f6
  lethe cat --meta 3fa9c0d2e1b4a5f6`,
		Args: cli.ExactArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runCat(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.meta, "meta", false, "print the description instead: hash, time, gist, parent")
	flags.BoolVar(&options.raw, "raw", false, "print the bytes as they are stored")
	return cmd
}

func runCat(ctx context.Context, app *cli.App, options catOptions, args []string) error {
	if options.meta && options.raw {
		return exit.Usagef("--meta and --raw exclude each other")
	}
	ref, err := app.ParseHash(args[0])
	if err != nil {
		return err
	}
	blob, err := app.FindText(ctx, ref)
	if err != nil {
		return err
	}
	if options.meta {
		meta := screen.Sanitize(string(blobs.Encode(blob.Meta, nil)))
		return app.Print(report.BlobOf(blob), "hash: %s\n%s", blob.Hash, meta)
	}
	read := report.Read(blob)
	text := cmp.Or(read.Text, read.Body)
	if options.raw {
		text = read.Body
	}
	if console.IsTerminal(app.Out) { // a pipe gets the bytes as they are
		text = screen.Sanitize(text)
	}
	return app.Print(read, "%s", text)
}
