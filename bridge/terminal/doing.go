package terminal

import (
	"fmt"
	"strings"
	"time"

	"lethe/agent/status"
)

// doing says in a row what an identity does, or what it waits for.
func doing(s status.Status, live status.Live, now time.Time) string {
	switch {
	case s.State == status.Acting && live.Output != "":
		return "runs " + oneLine(s.Tool) + ": " + lastLine(live.Output)
	case s.State == status.Acting:
		return "runs " + oneLine(s.Tool)
	case s.State == status.Thinking && !s.SilentSince.IsZero():
		return "waits: nothing from the model since " + s.SilentSince.Local().Format("15:04:05")
	case s.State == status.Thinking && live.Text != "":
		return "writes: " + lastLine(live.Text)
	case s.State == status.Thinking:
		return strings.TrimSpace("thinks " + lastLine(live.Thinking))
	case s.Error != "":
		return oneLine(s.Error)
	case len(s.Questions) > 0:
		return "asks: " + oneLine(s.Questions[0].Text) + since(s.Questions[0].Asked, now)
	case len(s.Trouble) > 0:
		return oneLine(s.Trouble[0])
	case s.State == status.Stopped:
		return ""
	case len(s.Jobs) > 0:
		return fmt.Sprintf("waits for job %d: %s", s.Jobs[0].ID, oneLine(s.Jobs[0].Command)) + since(s.Jobs[0].Began, now)
	case s.Children > 0:
		return "waits for " + count(s.Children, "child", "children")
	}
	return ""
}

// since says when a wait began. It is a time and no duration, so that nothing has to be drawn anew.
func since(at, now time.Time) string {
	form := "15:04"
	if now.Sub(at) > 20*time.Hour {
		form = "2 Jan 15:04"
	}
	return " · since " + at.Local().Format(form)
}
