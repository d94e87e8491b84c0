package main

import (
	"errors"

	"lethe/agent/home"
	"lethe/bridge/report"
)

func (p *program) jobsCommand(c call, id home.Identity) error {
	if c.is("all") {
		list, all, err := p.look.Commands(id, c.number("limit"))
		return p.words("ran", list, err, id.Name, all)
	}
	stop := c.number("stop")
	if stop == 0 {
		return p.words("jobs", report.Jobs(id), nil, id.Name)
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
