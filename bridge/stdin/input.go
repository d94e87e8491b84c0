package stdin

import (
	"strings"

	"lethe/chat"
)

// understand takes one input apart. A line that starts with a slash is a command
// of the screen and its argument; a second slash or a space in front makes it
// text. Without a command, all is text for the room: also what the agent's harness
// obeys, which travels through the room like any line.
func understand(input string) (command, text string) {
	text = strings.TrimRight(input, " \t\r\n")
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		text = "/" + rest
		if forHarness(text) {
			text = " " + text // else it would act
		}
		return "", text
	}
	if !strings.HasPrefix(text, "/") || strings.Contains(text, "\n") || forHarness(text) {
		return "", text
	}
	command, text, _ = strings.Cut(text, " ")
	return command, strings.TrimSpace(text)
}

func forHarness(text string) bool {
	name, _ := chat.Command(chat.Line{Text: text})
	return name != ""
}

// typed is what was sent, oldest first, and where in it the cursor keys are.
type typed struct {
	lines []string
	at    int    // len(lines) is the draft
	draft string // what was being typed before going back
}

func (t *typed) add(text string) {
	if n := len(t.lines); strings.TrimSpace(text) != "" && (n == 0 || t.lines[n-1] != text) {
		t.lines = append(t.lines, text)
	}
	t.at, t.draft = len(t.lines), ""
}

// previous and next return the text to show in place of the current one.
func (t *typed) previous(current string) string {
	if t.at == 0 {
		return current
	}
	if t.at == len(t.lines) {
		t.draft = current
	}
	t.at--
	return t.lines[t.at]
}

func (t *typed) next(current string) string {
	if t.at == len(t.lines) {
		return current
	}
	if t.at++; t.at == len(t.lines) {
		return t.draft
	}
	return t.lines[t.at]
}
