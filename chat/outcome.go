package chat

import (
	"fmt"
	"strconv"
	"strings"

	"lethe/internal/pattern"
)

// Outcome is a child's line that ends the work which its parent gave it.
// docs/agents.md has the form.
type Outcome struct {
	N      int // pieces of work so far: lines of its parent that the child had heard
	Failed bool
	Text   string
}

// String returns the text of the line: "result 1: the disk is full".
func (o Outcome) String() string {
	word := "result"
	if o.Failed {
		word = "failed"
	}
	return fmt.Sprintf("%s %d: %s", word, o.N, o.Text)
}

// TaskPrefix begins the names of rooms where children work.
const TaskPrefix = "task-"

// ForWork reports whether a child works in a room.
func ForWork(room string) bool { return strings.HasPrefix(room, TaskPrefix) }

var outcome = pattern.Lazy(`(?s)^(result|failed) ([1-9][0-9]{0,8}): (.*)$`)

// ParseOutcome reads the text of a line. It returns false for a text that is not an outcome.
func ParseOutcome(text string) (Outcome, bool) {
	match := outcome().FindStringSubmatch(text)
	if match == nil {
		return Outcome{}, false
	}
	pieces, _ := strconv.Atoi(match[2]) // digits, by the form
	return Outcome{pieces, match[1] == "failed", match[3]}, true
}
