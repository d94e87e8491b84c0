package report

import (
	"slices"

	"lethe/home"
	"lethe/tools"
)

// Job is a command that goes on beside the talk, or did.
type Job struct {
	tools.JobState
	State string `json:"state"` // running, ended or lost
}

func jobOf(id home.Identity, s tools.JobState) Job {
	_, running := home.Running(id)
	switch {
	case s.End == tools.Lost, s.Ended.IsZero() && !running:
		return Job{s, "lost"}
	case s.Ended.IsZero():
		return Job{s, "running"}
	}
	return Job{s, "ended"}
}

// Jobs are those of an identity, the newest first.
func Jobs(id home.Identity) []Job {
	list := []Job{}
	for _, s := range slices.Backward(tools.ReadJobs(id.Dir)) {
		list = append(list, jobOf(id, s))
	}
	return list
}
