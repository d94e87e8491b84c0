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
	goRoom // view the room Text
	ask    // an unknown command: make sure
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
	case "/help", "/?":
		return command{intent: help}
	case "/quit", "/exit", "/q":
		return command{intent: quit}
	case "/rooms":
		return command{intent: rooms}
	case "/room", "/join":
		if arg == "" {
			return command{intent: rooms}
		}
		return command{goRoom, strings.TrimPrefix(arg, "#")}
	}
	if forHarness(text) {
		return command{say, text}
	}
	return command{ask, text}
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

// recall is the input history: what was sent, oldest first, and where in it
// the cursor keys are.
type recall struct {
	lines []string
	at    int    // len(lines) is the draft
	draft string // what was being typed before going back
}

func (r *recall) add(text string) {
	if n := len(r.lines); n == 0 || r.lines[n-1] != text {
		r.lines = append(r.lines, text)
	}
	if len(r.lines) > 500 {
		r.lines = r.lines[len(r.lines)-500:]
	}
	r.at, r.draft = len(r.lines), ""
}

// back and forth return the text to show, and whether there was one.
func (r *recall) back(current string) (string, bool) {
	if r.at == 0 {
		return "", false
	}
	if r.at == len(r.lines) {
		r.draft = current
	}
	r.at--
	return r.lines[r.at], true
}

func (r *recall) forth() (string, bool) {
	if r.at >= len(r.lines) {
		return "", false
	}
	if r.at++; r.at == len(r.lines) {
		return r.draft, true
	}
	return r.lines[r.at], true
}
