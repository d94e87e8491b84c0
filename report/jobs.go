package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lethe/agent"
	"lethe/tools"
)

// Job is a command that goes on beside the talk, or did.
type Job struct {
	tools.JobState
	State string `json:"state"` // running, ended or lost
}

func jobOf(s tools.JobState) Job {
	switch {
	case !s.Ended.IsZero():
		return Job{s, "ended"}
	case s.Lost():
		return Job{s, "lost"}
	}
	return Job{s, "running"}
}

// Jobs are those of an identity, the newest first.
func Jobs(id agent.Identity) []Job {
	list := []Job{}
	for _, s := range slices.Backward(tools.ReadJobs(id.Dir)) {
		list = append(list, jobOf(s))
	}
	return list
}

// StopJob asks a running identity to stop a job, and waits at most ten seconds until it
// has ended.
func StopJob(ctx context.Context, id agent.Identity, n int) (Job, error) {
	s, err := tools.ReadJob(id.Dir, n)
	switch {
	case err != nil:
		return Job{}, fmt.Errorf("stop job %d of %s: %w", n, id.Name, agent.ErrNotFound)
	case !s.Ended.IsZero():
		return Job{}, fmt.Errorf("stop job %d of %s: it has ended: %s", n, id.Name, s.End)
	case s.Lost():
		return Job{}, fmt.Errorf("stop job %d of %s: it was killed together with its daemon", n, id.Name)
	}
	if err := agent.AskToStopJob(id, n); err != nil {
		return Job{}, err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			return Job{}, ctx.Err()
		}
		_, running := agent.Running(id) // then it writes down how the job has ended
		if s, err := tools.ReadJob(id.Dir, n); err == nil && (!s.Ended.IsZero() || s.Lost() && !running) {
			return jobOf(s), nil
		}
	}
	return Job{}, fmt.Errorf("stop job %d of %s: it was asked for and still runs", n, id.Name)
}
