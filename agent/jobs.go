package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/tools"
	"lethe/wake"
)

// endJobs stops all jobs and records their ends, when the daemon stops in good order.
func (a *Agent) endJobs() error {
	a.tools.StopJobs()
	for {
		records, err := a.jobs.Due(a.wakeView())
		if err != nil || len(records) == 0 {
			return err
		}
		if err := a.fire(records); err != nil {
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
	var ids []string
	for _, s := range a.tools.Running() {
		ids = append(ids, strconv.Itoa(s.ID))
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf(
		" Jobs that go on: %s (/jobs lists them, /jobs stop %s stops one).",
		strings.Join(ids, ", "),
		ids[0],
	)
}

// jobsLine answers /jobs and /jobs stop N.
func (a *Agent) jobsLine(l chat.Line) string {
	list := a.tools.Running()
	if n := jobToStop(l); n > 0 {
		if slices.ContainsFunc(list, func(s tools.JobState) bool { return s.ID == n }) {
			return fmt.Sprintf("Job %d is being stopped; a line tells its end.", n)
		}
		return fmt.Sprintf("No job %d runs.%s", n, a.jobsGoOn())
	}
	if len(list) == 0 {
		return "No jobs run."
	}
	var lines []string
	for _, s := range list {
		lines = append(lines, fmt.Sprintf("%s, for %s", wake.JobName(s), tools.Span(time.Since(s.Began))))
	}
	return strings.Join(lines, "\n")
}

// jobToStop is the job that a person's command stops; 0 is none.
func jobToStop(l chat.Line) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.Arg, "stop "))
	return n
}

// stopJob stops a job. One that does not run has ended meanwhile, or there is none, which was answered.
func (a *Agent) stopJob(number, by string) {
	if n, err := strconv.Atoi(number); err == nil {
		_ = a.tools.StopJob(n, "by "+by)
	}
}
