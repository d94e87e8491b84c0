package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// jobsOptions are the flags of lethe jobs.
type jobsOptions struct {
	all   bool
	limit int
	stop  int
}

func newJobsCommand(app *cli.App) *cobra.Command {
	var options jobsOptions
	cmd := &cobra.Command{
		Use:   "jobs [NAME]",
		Short: "List the commands that an identity runs beside the talk, or stop one",
		Long: `Jobs lists the commands of an identity that took longer than its BASH call waits, or
that it started in the background: those that run, and the newest that have ended. A
job that is lost was killed together with its daemon.

Each has a directory agents/<self>/jobs/N with its command and its log.`,
		Example: `  lethe jobs ada
  lethe jobs ada --stop 3
  lethe jobs ada --all`,
		Args: cli.MaximumArgs(1),
		RunE: app.ReadingIdentity(
			func([]string) bool { return options.all }, // jobs themselves are at their host
			func(ctx context.Context, id home.Identity, _ []string) error { return runJobs(ctx, app, id, options) },
		),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.all, "all", false, "list all commands that ever ran, newest first, and who said yes to them")
	flags.IntVar(&options.limit, "limit", 50, "with --all: at most `N` commands")
	flags.IntVar(&options.stop, "stop", 0, "stop the job with this `NUMBER`")
	return cmd
}

func runJobs(ctx context.Context, app *cli.App, id home.Identity, options jobsOptions) error {
	if options.all {
		ran, count, err := app.Look.Commands(id, options.limit)
		if err != nil {
			return err
		}
		return app.Show(ran, func(out io.Writer) { writeRan(out, id, ran, count) })
	}
	if options.stop == 0 {
		jobs := report.Jobs(id)
		return app.Show(jobs, func(out io.Writer) { writeJobs(out, id, jobs) })
	}
	job, err := report.StopJob(ctx, id, options.stop)
	if errors.Is(err, home.ErrNotFound) {
		return exit.Hint(err, "%s lists its jobs", app.Lethe("jobs %s", id.Name))
	}
	if err != nil {
		return err
	}
	return app.Print(job, "stopped job %d of %s\n", options.stop, id.Name)
}

func writeJobs(out io.Writer, id home.Identity, jobs []report.Job) {
	if len(jobs) == 0 {
		fmt.Fprintf(out, "%s has had no jobs yet\n", id.Name)
		return
	}
	rows := console.NewTable("JOB", "STATE", "BEGAN", "END", "COMMAND")
	for _, job := range jobs {
		end := job.End
		if job.State == "running" {
			end = "for " + console.Since(job.Began)
		}
		rows.Row(job.ID, job.State, job.Began, end, blobs.Gist(job.Command))
	}
	rows.Write(out)
}

// writeRan lists commands; count is the number of all that ever ran.
func writeRan(out io.Writer, id home.Identity, ran []*report.Ran, count int) {
	if len(ran) == 0 {
		fmt.Fprintf(out, "%s has run no commands yet\n", id.Name)
	} else {
		rows := console.NewTable("AT", "CALL", "END", "BYTES", "YES", "COMMAND")
		for _, command := range ran {
			call, yes := command.ID, ""
			if command.Job != 0 {
				call += fmt.Sprintf(" (job %d)", command.Job)
			}
			if command.By != "" {
				yes = fmt.Sprintf("%s (%s)", command.By, command.Question)
			}
			rows.Row(command.At, call, command.End, command.Bytes, yes, command.Command)
		}
		rows.Write(out)
	}
	if len(ran) < count {
		fmt.Fprintf(out, "%d of %d: --limit shows more\n", len(ran), count)
	}
}
