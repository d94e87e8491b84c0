package events

import (
	"encoding/json"
	"fmt"
	"strings"

	"lethe/blobs"
)

// Words tells an event to a person, without its time: of what is said all, of other texts one line.
func (e Event) Words() string {
	room := strings.Join(e.Rooms, ", ") + e.Room
	why := ""
	if e.Why != "" {
		why = " (" + e.Why + ")"
	}
	switch e.Type {
	case TurnStart:
		return fmt.Sprintf("turn %d", e.Turn)
	case TurnEnd:
		return fmt.Sprintf("end of turn %d%s", e.Turn, why)
	case UserMessage:
		return fmt.Sprintf("%s in %s: %s", e.By, room, e.Text)
	case MessageDone:
		switch {
		case room != "":
			return fmt.Sprintf("%s → %s: %s", e.By, room, e.Text)
		case e.Status != "":
			return fmt.Sprintf("%s, said nowhere (%s): %s", e.By, e.Status, e.Text)
		}
		return fmt.Sprintf("%s: %s", e.By, e.Text)
	case ThinkingDone:
		return "thought: " + blobs.Gist(e.Text)
	case ToolRequest:
		return "↳ " + e.Tool + " " + blobs.Gist(brief(e.Args)+e.Text)
	case ToolResult:
		if e.Job > 0 {
			return fmt.Sprintf("  goes on as job %d", e.Job)
		}
		return "  " + e.Status + " · " + blobs.Gist(e.Text)
	case FileChanged:
		if e.By == "" {
			return "somebody edited " + e.Path
		}
		return "wrote " + e.Path
	case Usage:
		paid := ""
		if e.USD > 0 {
			paid = fmt.Sprintf(", $%.4f", e.USD)
		}
		return fmt.Sprintf("%s tokens in (%s cached), %s out%s%s", tokens(e.In), tokens(e.Cached), tokens(e.Out), paid, why)
	case Forgot:
		return fmt.Sprintf("forgot %s%s: summaries %d, %s → %s tokens", e.Entries, why, e.Summaries, tokens(int64(e.Before)), tokens(int64(e.After)))
	case Reminded:
		var gists []string
		for _, r := range e.Refs {
			gists = append(gists, r.Gist)
		}
		return "reminded of " + strings.Join(gists, "; ")
	case Opened:
		return "opened " + blobs.Gist(e.Text)
	case Asked:
		return fmt.Sprintf("asks in %s: %s", room, e.question())
	case Answered:
		return fmt.Sprintf("%s has answered %s", e.By, e.question())
	case Fired:
		return fmt.Sprintf("%s fires in %s: %s", e.By, room, blobs.Gist(e.Text))
	case Paused:
		return "pauses: " + blobs.Gist(e.Text)
	case Joined, Left:
		return e.Type + " room " + room
	case Noted:
		return "note" + why + ": " + blobs.Gist(e.Text)
	}
	return strings.TrimSpace(e.Type + why + " " + blobs.Gist(e.Text)) // error, booted, resumed, stopped
}

func (e Event) question() string {
	if e.Question == nil {
		return "?"
	}
	text := e.Question.ID + " " + blobs.Gist(e.Question.Text)
	if e.Choice != "" {
		text += ": " + e.Choice
	}
	return text
}

// brief is the one argument of a call, or all of them as they are.
func brief(args json.RawMessage) string {
	var one map[string]string
	if json.Unmarshal(args, &one) == nil && len(one) == 1 {
		for _, value := range one {
			return value
		}
	}
	return string(args)
}

func tokens(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", n/1000)
}
