package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
	"lethe/tools"
)

func (p *program) jobsCommand() *cobra.Command {
	var stop int
	cmd := &cobra.Command{
		Use:   "jobs [NAME]",
		Short: "List the commands that an identity runs beside the talk, or stop one",
		Long: `Jobs lists the commands of an identity that took longer than its BASH call waits, or
that it started in the background: those that run, and the newest that have ended. A
job that is lost was killed together with its daemon.

Each has a directory agents/<self>/jobs/N with its command and its log.`,
		Example: `  lethe jobs ada
  lethe jobs ada --stop 3`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, err := p.find(first(list))
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("stop") {
				return p.stopJob(cmd.Context(), id, stop)
			}
			return p.listJobs(id)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().IntVar(&stop, "stop", 0, "stop the job with this `NUMBER`")
	return cmd
}

// jobInfo is one line of lethe jobs.
type jobInfo struct {
	tools.JobState
	State string `json:"state"` // running, ended or lost
}

func (p *program) listJobs(id agent.Identity) error {
	infos := []jobInfo{}
	for _, s := range slices.Backward(tools.ReadJobs(id.Dir)) { // the newest first
		info := jobInfo{s, "running"}
		switch {
		case !s.Ended.IsZero():
			info.State = "ended"
		case s.Lost():
			info.State = "lost"
		}
		infos = append(infos, info)
	}
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
	s, err := tools.ReadJob(id.Dir, n)
	switch {
	case err != nil:
		return hint(fmt.Errorf("stop job %d of %s: %w", n, id.Name, agent.ErrNotFound), "%s lists its jobs", p.lethe("jobs %s", id.Name))
	case !s.Ended.IsZero():
		return fmt.Errorf("stop job %d of %s: it has ended: %s", n, id.Name, s.End)
	case s.Lost():
		return fmt.Errorf("stop job %d of %s: it was killed together with its daemon", n, id.Name)
	}
	if err := agent.AskToStopJob(id, n); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s, err := tools.ReadJob(id.Dir, n); err == nil && (!s.Ended.IsZero() || s.Lost()) {
			if p.json {
				return p.printJSON(jobInfo{s, "ended"})
			}
			fmt.Fprintf(p.out, "stopped job %d of %s\n", n, id.Name)
			return nil
		}
	}
	return fmt.Errorf("stop job %d of %s: it was asked for and still runs", n, id.Name)
}
