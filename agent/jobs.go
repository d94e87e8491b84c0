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

// endJobs stops all jobs and records their ends, when the daemon stops in good order.
func (a *Agent) endJobs() error {
	a.tools.StopJobs()
	for {
		ends, _, err := a.jobs.Due(a.wakeView())
		if err != nil || len(ends) == 0 {
			return err
		}
		if err := a.commit(ends[0]...); err != nil {
			return err
		}
	}
}

// runningJobs shows them to screens.
func (a *Agent) runningJobs() (out []status.Job) {
	for _, s := range a.tools.Running() {
		out = append(out, status.Job{ID: s.ID, Command: blobs.Gist(s.Command), Began: s.Began.UTC()})
	}
	return out
}

// jobsGoOn tells which jobs run; nothing when none does.
func (a *Agent) jobsGoOn() string {
	if len(a.tools.Running()) == 0 {
		return ""
	}
	return " Jobs go on: " + a.jobsLine()
}

// jobsLine answers /jobs.
func (a *Agent) jobsLine() string {
	var lines []string
	for _, s := range a.tools.Running() {
		lines = append(lines, fmt.Sprintf("%s, for %s", wake.JobName(s), tools.Span(time.Since(s.Began))))
	}
	return cmp.Or(strings.Join(lines, "\n"), "No jobs run.")
}

// readWishes looks at the wishes, and obeys those that wait for nothing. The watcher tells of later ones.
func (a *Agent) readWishes() {
	a.wishes = home.Wishes(a.id)
	for _, w := range a.wishes {
		if job, ok := w.Of(home.WishStopJob); ok {
			_ = w.Drop(a.id)
			n, _ := strconv.Atoi(job)
			_ = a.tools.StopJob(n, "by a person") // one that does not run has ended meanwhile
		}
	}
}
