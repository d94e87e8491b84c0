package main

import (
	"errors"
	"time"

	"lethe/blobs"
	"lethe/home"
	"lethe/report"
	"lethe/tools"
)

func (p *program) jobsCommand(c call, id home.Identity) error {
	stop := c.number("stop")
	if stop == 0 {
		return list(p, report.Jobs(id), nil, id.Name+" has had no jobs yet", "JOB\tSTATE\tBEGAN\tEND\tCOMMAND", jobRow)
	}
	job, err := report.StopJob(c, id, stop)
	if errors.Is(err, home.ErrNotFound) {
		return hint(err, "‹jobs %s› lists its jobs", id.Name)
	}
	if err != nil {
		return err
	}
	return p.print(job, "stopped job %d of %s\n", stop, id.Name)
}

func jobRow(j report.Job) []any {
	end := j.End
	if j.State == "running" {
		end = "for " + tools.Span(time.Since(j.Began))
	}
	return []any{j.ID, j.State, j.Began, end, blobs.Gist(j.Command)}
}
