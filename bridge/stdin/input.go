package stdin

import (
	"fmt"
	"slices"
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

// maxInput bounds the lines of the input; a key takes the time of all of them.
const maxInput = 200

// fold puts a name in the place of a text that is too long for the input, unfold the text in that of
// its name.
func (m *model) fold(text string) string {
	if strings.Count(text, "\n") < maxInput && len(text) < maxInput*100 {
		return text
	}
	i := slices.Index(m.folded, text)
	if i < 0 {
		i = len(m.folded)
		m.folded = append(m.folded, text)
	}
	return m.nameOf(i)
}

func (m *model) nameOf(i int) string {
	return fmt.Sprintf("[text %d: %s]", i+1, count(strings.Count(m.folded[i], "\n")+1, "line", "lines"))
}

func (m *model) unfold(input string) string {
	for i, text := range m.folded {
		input = strings.ReplaceAll(input, m.nameOf(i), text)
	}
	return input
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
