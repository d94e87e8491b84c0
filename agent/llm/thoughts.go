package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"lethe/internal/pattern"
)

// Servers that know nothing of thinking leave a model's thoughts in its text, between these tags. The first tag is
// missing where the server's template has said it, the second one in an answer that was cut off.
const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// thoughts takes the thoughts out of a text that streams.
type thoughts struct {
	at   thoughtState
	held string // the end of the pieces so far, which may be the beginning of a tag
}

type thoughtState int

const (
	undecided thoughtState = iota // nothing has come but what may be the first tag
	thinking                      // behind the first tag
	untagged                      // the text began without it
	thought                       // behind the second tag: all is text
	inField                       // thoughts come in a field of their own: all is text
)

// take sorts a piece of text. If all is true, the text that was said before were thoughts, too: reasoning repeats it.
func (t *thoughts) take(said, piece string) (reasoning, text string, all bool) {
	piece, t.held = t.held+piece, ""
	if t.at == undecided {
		start := strings.TrimLeft(piece, " \t\r\n")
		if strings.HasPrefix(thinkBegin, start) {
			t.held = piece
			return "", "", false
		}
		t.at = untagged
		if rest, tagged := strings.CutPrefix(start, thinkBegin); tagged {
			t.at, piece = thinking, rest
		}
	}
	switch t.at {
	case thinking:
		before, after, ends := strings.Cut(piece, thinkEnd)
		if ends {
			t.at = thought
			return before, strings.TrimLeft(after, "\r\n"), false
		}
		t.held = beginning(piece)
		return strings.TrimSuffix(piece, t.held), "", false
	case untagged:
		if i := unopened(said, piece); i >= 0 {
			t.at = thought
			return said + piece[:i], strings.TrimLeft(piece[i+len(thinkEnd):], "\r\n"), true
		}
		t.held = beginning(piece)
		return "", strings.TrimSuffix(piece, t.held), false
	}
	if said == "" {
		piece = strings.TrimLeft(piece, "\r\n")
	}
	return "", piece, false
}

// rest returns the piece that was held back, at the end of the answer.
func (t *thoughts) rest() (reasoning, text string) {
	if t.at == thinking {
		return t.held, ""
	}
	return "", t.held
}

// beginning returns the longest end of a text with which the second tag begins.
func beginning(text string) string {
	for n := min(len(thinkEnd)-1, len(text)); n > 0; n-- {
		if end := text[len(text)-n:]; strings.HasPrefix(thinkEnd, end) {
			return end
		}
	}
	return ""
}

// unopened returns the place of the tag in piece that ends thoughts, or -1. A tag that is quoted, stands in code, or
// follows a first tag in the middle of a text, is text: the answer talks about it.
func unopened(said, piece string) int {
	for from := 0; ; {
		i := strings.Index(piece[from:], thinkEnd)
		if i < 0 {
			return -1
		}
		i += from
		from = i + len(thinkEnd)
		before := said + piece[:i]
		isOpened := strings.Count(before, thinkBegin) > strings.Count(before, thinkEnd)
		isQuoted := before != "" && strings.ContainsAny(before[len(before)-1:], "`'\"")
		line := before[strings.LastIndexByte(before, '\n')+1:]
		inCode := strings.Count(line, "`")%2 == 1 || strings.Count(before, "```")%2 == 1
		isMentioned := isQuoted || inCode
		if isText := isOpened || isMentioned; !isText {
			return i
		}
	}
}

// calledInText finds the marks with which models write calls that their server then does not understand.
var calledInText = pattern.Lazy(`(?m)^\s*(?:<(?:[a-z]+:)?(?:tool_calls?|function_calls?)>|<function=|<invoke name=|` +
	`\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?(?:_section)?(?:_begin)?\|>|<｜tool▁calls?▁begin｜>|` +
	`<\|channel\|>commentary to=)`)

// callInText returns the mark or the beginning of a call that stands in the text of a reply, or "".
// tools are the tools that were offered.
func callInText(text string, tools json.RawMessage) string {
	type tool struct{ Function struct{ Name string } }
	var offered []tool
	_ = json.Unmarshal(tools, &offered) // they were sent: they can be read
	names := func(call string) bool {
		return slices.ContainsFunc(offered, func(t tool) bool {
			return t.Function.Name != "" && strings.Contains(call, t.Function.Name)
		})
	}
	isOffered := func(name string) bool {
		return slices.ContainsFunc(offered, func(t tool) bool { return t.Function.Name == name })
	}
	if at := calledInText().FindStringIndex(text); at != nil {
		inCode := strings.Count(text[:at[0]], "```")%2 == 1
		if !inCode && names(text[at[1]:]) {
			return strings.TrimSpace(text[at[0]:at[1]])
		}
	}
	var call struct {
		Name                  string
		Arguments, Parameters json.RawMessage
	}
	err := json.Unmarshal([]byte(text), &call)
	hasArguments := call.Arguments != nil || call.Parameters != nil
	isCall := err == nil && hasArguments
	if isCall && isOffered(call.Name) {
		return `{"name": "` + call.Name + `"`
	}
	return ""
}
