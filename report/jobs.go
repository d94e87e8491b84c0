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
func Jobs(id home.Identity) []Job {
	list := []Job{}
	for _, s := range slices.Backward(tools.ReadJobs(id.Dir)) {
		list = append(list, jobOf(s))
	}
	return list
}
