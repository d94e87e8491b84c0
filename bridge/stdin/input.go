package stdin

import (
	"strings"

	"lethe/chat"
)

// intent is what a line typed on the screen asks for.
type intent int

const (
	nothing intent = iota
	say            // append Text to the room
	help
	quit
	rooms
	goRoom  // view the room Text
	unknown // a slash, and no command
)

// command is a typed line, understood.
type command struct {
	intent intent
	Text   string
}

// harness commands are for the agent's harness and travel through the room like any line.
var harness = []string{"/model", "/status", "/stop"}

// understand reads one input. A line that starts with a slash is a command; a
// second slash or a space in front makes it text.
func understand(input string) command {
	text := strings.TrimRight(input, " \t\r\n")
	if strings.TrimSpace(text) == "" {
		return command{}
	}
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		literal := "/" + rest
		if forHarness(literal) {
			literal = " " + literal // else it would act
		}
		return command{say, literal}
	}
	if !strings.HasPrefix(text, "/") || strings.Contains(text, "\n") {
		return command{say, text}
	}
	word, arg := split(text)
	switch word {
	case "/help":
		return command{intent: help}
	case "/quit":
		return command{intent: quit}
	case "/rooms":
		return command{intent: rooms}
	case "/room":
		if arg == "" {
			return command{intent: rooms}
		}
		return command{goRoom, strings.TrimPrefix(arg, "#")}
	}
	if forHarness(text) {
		return command{say, text}
	}
	return command{unknown, text}
}

func forHarness(text string) bool {
	_, _, ok := chat.Command(chat.Line{Text: text})
	return ok
}

func split(text string) (word, arg string) {
	word, arg, _ = strings.Cut(text, " ")
	return word, strings.TrimSpace(arg)
}

// typed is what was sent, oldest first, and where in it the cursor keys are.
type typed struct {
	lines []string
	at    int    // len(lines) is the draft
	draft string // what was being typed before going back
}

func (t *typed) add(text string) {
	if n := len(t.lines); n == 0 || t.lines[n-1] != text {
		t.lines = append(t.lines, text)
	}
	t.at, t.draft = len(t.lines), ""
}

// previous and next return the text to show, and whether there was one.
func (t *typed) previous(current string) (string, bool) {
	if t.at == 0 {
		return "", false
	}
	if t.at == len(t.lines) {
		t.draft = current
	}
	t.at--
	return t.lines[t.at], true
}

func (t *typed) next() (string, bool) {
	if t.at >= len(t.lines) {
		return "", false
	}
	if t.at++; t.at == len(t.lines) {
		return t.draft, true
	}
	return t.lines[t.at], true
}
