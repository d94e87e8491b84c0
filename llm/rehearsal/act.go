package rehearsal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// introduction is what the model says about itself, once on a greeting and
// whenever it is asked.
const introduction = `I am the offline rehearsal model: a small program, not intelligent, and I follow plain phrases. Try:
- remember that my favourite colour is teal — and later: what is my favourite colour?
- recall X, what did I say about X?, do you remember X?
- note X (goes to my notes), count to 50, think about X, repeat X, what is 12*7
- run COMMAND, read FILE, write TEXT to FILE, replace "A" with "B" in FILE, list
- say TEXT in ROOM, join ROOM, leave ROOM, compact, uncompact REF
Two orders can be joined: run date and then read notes.txt.`

const introduced = "offline rehearsal model"

// tool names the tool that an intent is a plain call of, or "".
func (in intent) tool() string {
	switch in.verb {
	case runVerb:
		return "BASH"
	case readVerb:
		return "READ_FILE"
	case writeVerb:
		return "WRITE_FILE"
	case replaceVerb:
		return "EDIT_FILE"
	case listVerb:
		return "LIST"
	case sayVerb:
		return "SAY"
	case joinVerb:
		return "JOIN"
	case leaveVerb:
		return "LEAVE"
	case uncompactVerb:
		return "UNCOMPACT"
	case compactVerb:
		return "COMPACT"
	}
	return ""
}

func (in intent) call() Call {
	tool := in.tool()
	switch in.verb {
	case runVerb:
		return call(tool, "command", in.a)
	case writeVerb:
		return call(tool, "path", in.a, "content", in.b)
	case replaceVerb:
		return call(tool, "path", in.c, "old", in.a, "new", in.b)
	case listVerb:
		path := in.a
		if path == "" {
			path = "."
		}
		return call(tool, "path", path)
	case sayVerb:
		return call(tool, "room", in.a, "message", in.b)
	case joinVerb, leaveVerb:
		return call(tool, "room", in.a)
	case uncompactVerb:
		return call(tool, "ref", in.a)
	case compactVerb:
		return call(tool)
	}
	return call(tool, "path", in.a)
}

// An outcome is how a call went, as far as its result tells.
type outcome uint8

const (
	went outcome = iota
	silent
	failed
	interrupted
	notStarted
)

var (
	interruptedRE = regexp.MustCompile(`(?i)^\[?interrupted\b`)
	notStartedRE  = regexp.MustCompile(`(?i)^\[?not started\b`)
	// A failure says so in its first words, or names what was tried on what.
	failedRE = regexp.MustCompile(`(?i)^\W*(?:error|failed|failure|cannot|can't|refused|unknown|bad|invalid|no such|not found|denied|timed out)\b|` +
		`^(?:read|write|edit|list|resolve|say in room|join room|leave room) [^\n:]+: |` +
		`^[^\n]{0,80}: (?:no such|not |permission|does not)`)
	// A command's last line tells how it ended.
	badEndRE  = regexp.MustCompile(`(?i)^\[(?:exit [1-9]|timeout|killed|failed|too much)|\bexit (?:status|code)[ :]*[1-9]`)
	goodEndRE = regexp.MustCompile(`(?:^|\n)\[exit 0[^\n\]]*\]$`)
)

func outcomeOf(result string) outcome {
	last := result[strings.LastIndexByte(result, '\n')+1:]
	switch {
	case interruptedRE.MatchString(result) || interruptedRE.MatchString(last):
		return interrupted
	case notStartedRE.MatchString(result) || notStartedRE.MatchString(last):
		return notStarted
	case result == "" || result == "(no output)":
		return silent
	case badEndRE.MatchString(last) || failedRE.MatchString(result):
		return failed
	}
	return went
}

// report says in a sentence what a call gave.
func report(c Call, result string) string {
	did := c.Name + describe(c)
	result = strings.TrimSpace(goodEndRE.ReplaceAllString(strings.TrimSpace(result), ""))
	switch outcomeOf(result) {
	case interrupted:
		return did + " was interrupted; whether it had an effect I cannot tell."
	case notStarted:
		return did + " was not started."
	case silent:
		return did + " gave no output."
	case failed:
		return did + " failed: " + excerpt(result)
	}
	return did + " gave: " + excerpt(result)
}

// describe quotes the argument that tells a call from its like.
func describe(c Call) string {
	for _, name := range []string{"command", "path", "room", "ref", "query"} {
		if v := argument(c, name); v != "" {
			return " `" + clip(oneLine(v), 80) + "`"
		}
	}
	return ""
}

// excerptRunes is how much of a result is quoted.
const excerptRunes = 700

// excerpt quotes a result: in the sentence when it is one line, else as a block.
// Refs in it become plain words.
func excerpt(text string) string {
	text = clip(plainRefs(text), excerptRunes)
	if !strings.Contains(text, "\n") {
		return text
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n" + fence + "\n" + text + "\n" + fence
}

// clip shortens text to n runes, with … at the end when something is missing.
func clip(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// maxCount bounds counting: 100k numbers are more than anyone waits for.
const maxCount = 100_000

func count(to string) string {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(to))
	if err != nil || n > maxCount {
		return fmt.Sprintf("I only count to %d.", maxCount)
	}
	if n < 1 {
		return "There is nothing to count."
	}
	var b strings.Builder
	b.WriteString("1")
	for i := 2; i <= n; i++ {
		b.WriteString(" ")
		b.WriteString(strconv.Itoa(i))
	}
	return b.String()
}

// ponder is a long chain of thought, to watch one stream.
func (t *turn) ponder(about string) string {
	steps := []string{
		"I am asked to think about %s.", "First I say to myself what %s could mean.",
		"Then I look at it from the other side: what if there were no %s?",
		"Someone who knows %s well would start with an example.", "I have no example of %s, so I imagine one.",
		"The example is small, but %s often is, at first.", "What would change my mind about %s? A fact that I cannot see from here.",
		"So far I only know the words: %s.", "It would be easy to make something up about %s. I will not.",
		"I weigh that once more. %s stays what it was.", "Now I have thought about %s as long as I can.",
		"I will say plainly how little it is.",
	}
	var out []string
	for _, s := range steps {
		if strings.Contains(s, "%s") {
			s = fmt.Sprintf(s, about)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// pick chooses one of the texts by the hash of the request.
func (t *turn) pick(texts ...string) string {
	return texts[(t.salt>>8+uint64(t.now))%uint64(len(texts))]
}

// greet introduces the model the first time.
func (t *turn) greet() string {
	hello := t.pick("Hello", "Hi", "Good to see you") + ", " + t.items[t.now].who
	for _, it := range t.items {
		if it.kind != lineItem && strings.Contains(it.text, introduced) {
			return hello + "! Still the same small program; say help for the phrases."
		}
	}
	return hello + "! " + introduction
}

// chat answers what fits no phrase: shortly, honestly, with the line's own words.
func (t *turn) chat(text string) string {
	topic := clip(oneLine(plainRefs(text)), 60)
	if words := keywords(text); len(words) > 0 {
		topic = strings.Join(spelled(text, words[:min(3, len(words))]), " ")
	}
	if t.items[t.now].agent {
		return t.pick("I heard you: ", "Noted: ", "Understood: ") + topic + "."
	}
	return fmt.Sprintf(t.pick(
		"I heard “%s”, but I am only the rehearsal model and follow plain phrases. Say help to see them.",
		"“%s” is on record. I cannot think about it, only keep it; ask me later with: what did I say about it?",
		"I have no opinion on “%s”: I am a small program. Say help to see what I follow.",
		"Noted, “%s”. Ask me to recall it whenever you like.",
	), topic)
}
