package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Outcome is the line by which a child ends the work that its parent gave it;
// docs/agents.md has the form.
type Outcome struct {
	N      int // lines of its parent that the child had heard: pieces of work
	Failed bool
	Text   string
}

// String is the text of the line: "result 1: the disk is full".
func (o Outcome) String() string {
	word := "result"
	if o.Failed {
		word = "failed"
	}
	return fmt.Sprintf("%s %d: %s", word, o.N, o.Text)
}

// TaskPrefix begins the name of a room in which a child works.
const TaskPrefix = "task-"

// ForWork says whether a child works in a room.
func ForWork(room string) bool { return strings.HasPrefix(room, TaskPrefix) }

var outcome = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(result|failed) ([1-9][0-9]{0,8}): (.*)$`)
})

// ParseOutcome reads the text of a line.
func ParseOutcome(text string) (Outcome, bool) {
	m := outcome().FindStringSubmatch(text)
	if m == nil {
		return Outcome{}, false
	}
	n, _ := strconv.Atoi(m[2]) // digits, by the form
	return Outcome{n, m[1] == "failed", m[3]}, true
}
