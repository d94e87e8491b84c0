package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Question is what the line of an identity asks of people. docs/rooms.md has the form of the
// line. A tag is a claim, so anybody can write such a line: the identity that asked takes an
// answer only to what it has recorded as open.
type Question struct {
	ID      string    `json:"id"`                // "q" and 6 hex digits: the beginning of the hash of the question's blob
	Text    string    `json:"text"`              // may hold newlines
	Options []string  `json:"options,omitempty"` // of one line each, at most MaxOptions; none, or a last one with "…": any text
	For     []string  `json:"for,omitempty"`     // who may answer; none: everybody in people of config.toml
	Until   time.Time `json:"until,omitzero"`    // zero: no deadline
}

// MaxOptions is how many options a question has at most.
const MaxOptions = 8

var (
	questionID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^q[0-9a-f]{6}$`) })
	questionBegin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\? q[0-9a-f]{6}:`) })
	refusal       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^no(?:[^\pL\pN'’-]|$)`) })
	questionForm  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\? (q[0-9a-f]{6}):(.*?)((?:\n[1-8]\) [^\n]*)*)` +
			`(?:\nfor: ([^\n]*))?(?:\nuntil: ([^\n]+))?$`)
	})

	questionTail = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:[1-8]\) |for: |until: )`)
	}) // begins a line that is no text
)

// ValidQuestionID says whether id has the form of a question's id.
func ValidQuestionID(id string) bool { return questionID().MatchString(id) }

// String returns the text of the question's line. Parsing it gives the question back, but for
// white space at the ends and before a line of the text that looks like an option.
func (q Question) String() string {
	lines := strings.Split(newlineOnly.Replace(strings.TrimSpace(q.Text)), "\n")
	for i, line := range lines {
		if i > 0 && questionTail().MatchString(line) {
			lines[i] = " " + line
		}
	}
	for i, option := range q.Options {
		lines = append(lines, fmt.Sprintf("%d) %s", i+1, fields(option)))
	}
	if len(q.For) > 0 {
		lines = append(lines, "for: "+strings.Join(q.For, " "))
	}
	if !q.Until.IsZero() {
		lines = append(lines, "until: "+q.Until.UTC().Format(time.RFC3339))
	}
	return "? " + q.ID + ": " + strings.Join(lines, "\n")
}

// newlineOnly reads each end of a line as one newline.
var newlineOnly = strings.NewReplacer("\r\n", "\n", "\r", "\n", lineSep, "\n")

// ParseQuestion reads the text of a line as a question. It is false where the text has another form.
func ParseQuestion(text string) (Question, bool) {
	m := questionForm().FindStringSubmatch(text)
	if m == nil {
		return Question{}, false
	}
	q := Question{ID: m[1], Text: strings.TrimSpace(m[2])}
	if m[4] != "" {
		q.For = strings.Fields(m[4])
	}
	_, further, _ := strings.Cut(m[2], "\n")
	ok := q.Text != "" && !questionTail().MatchString(further)
	for i, line := range strings.Split(m[3], "\n")[1:] {
		option := line[len("1) "):]
		ok = ok && int(line[0]-'1') == i && option == fields(option) && option != ""
		q.Options = append(q.Options, option)
	}
	if m[5] != "" {
		at, err := time.Parse(time.RFC3339, m[5])
		ok = ok && err == nil
		q.Until = at.UTC()
	}
	if !ok {
		return Question{}, false
	}
	return q, true
}

// NoQuestion returns the text so that its line is no question: where it has a question's beginning,
// a space stands before it.
func NoQuestion(text string) string {
	if questionBegin().MatchString(text) {
		return " " + text
	}
	return text
}

// Answer reads a message as the answer to the question: its id and then an option, the option's number or, where the
// options allow it, any text. choice is the option as the question has it, if it is one. Where "no" is an option,
// "No, wait: keep it" is that. cited says that the message begins with the id; without it, only somebody who knows
// that no other question is open can say that this one is meant. A message that cites another id is no answer.
func (q Question) Answer(text string) (choice string, cited, ok bool) {
	id, text := Cited(text)
	if cited = id != ""; cited && id != q.ID {
		return "", false, false
	}
	said, word := fields(text), ""
	if refusal().MatchString(said) {
		word = "no"
	}
	for _, said := range []string{said, strings.TrimRight(said, ".!)"), word} { // a person's "Yes." and "1)"
		for _, option := range q.Options {
			if strings.EqualFold(said, fields(option)) {
				return option, cited, true
			}
		}
		if len(said) == 1 && '1' <= said[0] && int(said[0]-'0') <= len(q.Options) {
			return q.Options[said[0]-'1'], cited, true
		}
	}
	n := len(q.Options)
	return "", cited, text != "" && (n == 0 || strings.HasSuffix(q.Options[n-1], "…"))
}

// Cited parts the id of a question that a message begins with, if it does, from the answer in words.
func Cited(text string) (id, words string) {
	text = strings.TrimSpace(text)
	first, rest := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		first, rest = text[:i], strings.TrimSpace(text[i:])
	}
	if id = strings.ToLower(strings.TrimRight(first, ":,.")); ValidQuestionID(id) {
		return id, rest
	}
	return "", text
}

// Answerers are the users who may answer; people are those of config.toml.
func (q Question) Answerers(people []string) []string {
	if len(q.For) > 0 {
		return q.For
	}
	return people
}

// MayAnswer says whether a user of this name may answer. A name in people has power, and Bob is not bob; those that a
// question names were written by a model, and their case does not count.
func (q Question) MayAnswer(name string, people []string) bool {
	named := slices.ContainsFunc(q.For, func(p string) bool { return strings.EqualFold(p, name) })
	return name != Unknown && (named || len(q.For) == 0 && slices.Contains(people, name))
}

// fields writes runs of white space as one space.
func fields(s string) string { return strings.Join(strings.Fields(s), " ") }
