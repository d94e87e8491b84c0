package stdin

import (
	"slices"
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

// local commands are the screen's own; harness commands are for the agent's
// harness and travel through the room like any line.
var (
	local   = []string{"/help", "/quit", "/room", "/rooms"}
	harness = []string{"/model", "/status", "/stop"}
)

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

// complete extends a command as far as it is unambiguous; names are the rooms.
func complete(input string, names []string) string {
	if !strings.HasPrefix(input, "/") || strings.Contains(input, "\n") {
		return input
	}
	if rest, ok := strings.CutPrefix(input, "/room "); ok {
		return "/room " + extend(rest, names)
	}
	words := append(slices.Clone(local), harness...)
	got := extend(input, words)
	if got == "/model" && got != input {
		got += " "
	}
	return got
}

// extend returns the longest common beginning of the words that begin with
// prefix, or prefix.
func extend(prefix string, words []string) string {
	common, found := "", false
	for _, w := range words {
		if !strings.HasPrefix(w, prefix) {
			continue
		}
		if !found {
			common, found = w, true
			continue
		}
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	if !found {
		return prefix
	}
	return common
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
	if len(t.lines) > 500 {
		t.lines = t.lines[len(t.lines)-500:]
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
