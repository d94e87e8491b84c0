package agent

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/blobs"
)

// runningJobs shows them to screens.
func (c *caller) runningJobs() (out []status.Job) {
	for _, s := range c.tools.Running() {
		out = append(out, status.Job{ID: s.ID, Command: blobs.Gist(s.Command), Began: s.Began.UTC()})
	}
	return out
}

// jobsGoOn tells which jobs run; "" if no job does.
func (c *caller) jobsGoOn() string {
	if len(c.tools.Running()) == 0 {
		return ""
	}
	return " Jobs go on: " + c.jobsLine()
}

// jobsLine answers /jobs.
func (c *caller) jobsLine() string {
	var lines []string
	for _, s := range c.tools.Running() {
		lines = append(lines, fmt.Sprintf("%s, for %s", wake.JobName(s), tools.Span(time.Since(s.Began))))
	}
	return cmp.Or(strings.Join(lines, "\n"), "No jobs run.")
}

// readWishes reads the wishes, and obeys any that waits for nothing. The watcher tells of later ones.
func (c *caller) readWishes() {
	c.wishes = home.Wishes(c.id)
	for _, w := range c.wishes {
		if job, ok := w.Of(home.WishStopJob); ok {
			_ = w.Drop(c.id)
			n, _ := strconv.Atoi(job)
			_ = c.tools.StopJob(n, "by a person") // one that does not run has ended meanwhile
		}
	}
}
