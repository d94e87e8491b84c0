package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"lethe/blobs"
	"lethe/home"
	"lethe/report"
	"lethe/tools"
)

func (p *program) jobsCommand() *cobra.Command {
	var stop int
	cmd := p.about(&cobra.Command{
		Use:   "jobs [NAME]",
		Short: "List the commands that an identity runs beside the talk, or stop one",
		Long: `Jobs lists the commands of an identity that took longer than its BASH call waits, or
that it started in the background: those that run, and the newest that have ended. A
job that is lost was killed together with its daemon.

Each has a directory agents/<self>/jobs/N with its command and its log.`,
		Example: `  lethe jobs ada
  lethe jobs ada --stop 3`,
	}, func(ctx context.Context, id home.Identity) error {
		if stop == 0 {
			return list(p, report.Jobs(id), id.Name+" has had no jobs yet", "JOB\tSTATE\tBEGAN\tEND\tCOMMAND", jobRow)
		}
		job, err := report.StopJob(ctx, id, stop)
		if errors.Is(err, home.ErrNotFound) {
			return hint(err, "%s lists its jobs", p.lethe("jobs %s", id.Name))
		}
		if err != nil {
			return err
		}
		return p.print(job, "stopped job %d of %s\n", stop, id.Name)
	})
	cmd.Flags().IntVar(&stop, "stop", 0, "stop the job with this `NUMBER`")
	return cmd
}

func jobRow(j report.Job) []any {
	end := j.End
	if j.State == "running" {
		end = "for " + tools.Span(time.Since(j.Began))
	}
	return []any{j.ID, j.State, j.Began, end, blobs.Gist(j.Command)}
}
