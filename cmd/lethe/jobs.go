package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
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
	}, func(ctx context.Context, id agent.Identity) error {
		if stop != 0 {
			return p.stopJob(ctx, id, stop)
		}
		return p.listJobs(id)
	})
	cmd.Flags().IntVar(&stop, "stop", 0, "stop the job with this `NUMBER`")
	return cmd
}

func (p *program) listJobs(id agent.Identity) error {
	infos := report.Jobs(id)
	if p.json {
		return p.printJSON(infos)
	}
	if len(infos) == 0 {
		fmt.Fprintf(p.out, "%s has had no jobs yet\n", id.Name)
		return nil
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tSTATE\tBEGAN\tEND\tCOMMAND")
	for _, i := range infos {
		end := dash(i.End)
		if i.State == "running" {
			end = "for " + tools.Span(time.Since(i.Began))
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", i.ID, i.State, i.Began.Local().Format("2006-01-02 15:04:05"), oneLine(end), oneLine(blobs.Gist(i.Command)))
	}
	return t.Flush()
}

// stopJob asks a running identity to stop a job, and waits until it has ended.
func (p *program) stopJob(ctx context.Context, id agent.Identity, n int) error {
	job, err := report.StopJob(ctx, id, n)
	if errors.Is(err, agent.ErrNotFound) {
		return hint(err, "%s lists its jobs", p.lethe("jobs %s", id.Name))
	}
	if err != nil {
		return err
	}
	return p.print(job, "stopped job %d of %s\n", n, id.Name)
}
