package terminal

import (
	"fmt"
	"strings"
	"time"

	"lethe/agent/status"
)

// doing says in a row what an identity does, or what it waits for.
func doing(state status.Status, live status.Live, now time.Time) string {
	switch {
	case state.State == status.Acting && live.Output != "":
		return "runs " + oneLine(state.Tool) + ": " + lastLine(live.Output)
	case state.State == status.Acting:
		return "runs " + oneLine(state.Tool)
	case state.State == status.Thinking && !state.SilentSince.IsZero():
		return "waits: nothing from the model since " + state.SilentSince.Local().Format("15:04:05")
	case state.State == status.Thinking && live.Text != "":
		return "writes: " + lastLine(live.Text)
	case state.State == status.Thinking:
		return strings.TrimSpace("thinks " + lastLine(live.Thinking))
	case state.Error != "":
		return oneLine(state.Error)
	case len(state.Questions) > 0:
		return "asks: " + oneLine(state.Questions[0].Text) + since(state.Questions[0].Asked, now)
	case len(state.Trouble) > 0:
		return oneLine(state.Trouble[0])
	case state.State == status.Stopped:
		return ""
	case len(state.Jobs) > 0:
		job := state.Jobs[0]
		return fmt.Sprintf("waits for job %d: %s", job.ID, oneLine(job.Command)) + since(job.Began, now)
	case state.Children == 1:
		return "waits for 1 child"
	case state.Children > 1:
		return fmt.Sprintf("waits for %d children", state.Children)
	}
	return ""
}

// since gives the beginning of a wait: a time and no duration, so that nothing has to be drawn anew.
func since(at, now time.Time) string {
	form := "15:04"
	if now.Sub(at) > 20*time.Hour {
		form = "2 Jan 15:04"
	}
	return " · since " + at.Local().Format(form)
}
