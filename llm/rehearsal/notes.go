package rehearsal

import (
	"regexp"
	"strings"
)

// memoryFile is where notes go.
const memoryFile = "self/MEMORY.md"

// note appends a line to the agent's own notes: it reads them and writes them
// back whole.
func (t *turn) note(text string) (string, bool) {
	if !t.req.offers("READ_FILE") || !t.req.offers("WRITE_FILE") {
		return "I cannot write to my notes here, but it stands in our conversation: " + text, true
	}
	results, ok := t.do("To add to my notes I first read them.", call("READ_FILE", "path", memoryFile))
	if !ok {
		return "", false
	}
	old, err := fileText(results[0])
	if err != "" {
		return "I did not touch my notes: " + err, true
	}
	results, ok = t.do("Now I write them back with the new line.", call("WRITE_FILE", "path", memoryFile, "content", old+"- "+oneLine(text)+"\n"))
	if !ok {
		return "", false
	}
	if outcomeOf(strings.TrimSpace(results[0])) > silent {
		return "I could not write it down: " + excerpt(results[0]), true
	}
	return "I wrote it down: " + text, true
}

// fileHeading is the line that READ_FILE puts above a text.
var fileHeading = regexp.MustCompile(`^\[self/MEMORY\.md: [^\n]*\]\n?`)

// fileText takes the text of a file out of the result of reading it: without the
// heading, and only when it is whole.
func fileText(result string) (text, trouble string) {
	heading := fileHeading.FindString(result)
	if strings.ContainsAny(result, "◱◳") || strings.Contains(heading, "next page") || strings.Contains(result, "…[line ") {
		return "", "they are too long for me to see whole"
	}
	trimmed := strings.TrimSpace(result)
	if trimmed == "" || trimmed == "(no output)" || heading == "" && noSuchFile.MatchString(trimmed) {
		return "", ""
	}
	if heading == "" && outcomeOf(trimmed) != went {
		return "", excerpt(trimmed)
	}
	if text = strings.TrimRight(result[len(heading):], "\n"); text == "" {
		return "", ""
	}
	return text + "\n", ""
}

var noSuchFile = regexp.MustCompile(`(?i)no such file|does not exist|not found`)
