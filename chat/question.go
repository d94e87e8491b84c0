package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"lethe/internal/pattern"
)

// Question is a question of an identity to people, in a line of a room. docs/rooms.md has the
// form of the line. A tag is a claim, so anybody can write such a line: the identity accepts
// answers only to questions that it has recorded as open.
type Question struct {
	ID   string `json:"id"`   // "q" and 6 hex digits: the beginning of the hash of the question's blob
	Text string `json:"text"` // may hold newlines
	// Options are at most MaxOptions, of one line each. Without options, or if the last ends in "…", people may answer
	// any text.
	Options []string  `json:"options,omitempty"`
	For     []string  `json:"for,omitempty"`  // users who may answer; empty: everybody in people of config.toml
	Until   time.Time `json:"until,omitzero"` // zero: no deadline
}

// MaxOptions is the most options of a question.
const MaxOptions = 8

var (
	questionID    = pattern.Lazy(`^q[0-9a-f]{6}$`)
	questionBegin = pattern.Lazy(`^\? q[0-9a-f]{6}:`)
	refusal       = pattern.Lazy(`(?i)^no(?:[^\pL\pN'’-]|$)`)
	questionForm  = pattern.Lazy(`(?s)^\? (q[0-9a-f]{6}):(.*?)((?:\n[1-8]\) [^\n]*)*)` +
		`(?:\nfor: ([^\n]*))?(?:\nuntil: ([^\n]+))?$`)

	questionTail = pattern.Lazy(`(?m)^(?:[1-8]\) |for: |until: )`) // begins a line that is no text
)

// ValidQuestionID reports whether id has the form of a question's id.
func ValidQuestionID(id string) bool { return questionID().MatchString(id) }

// String returns the text of the question's line. ParseQuestion gives the question back, except
// for white space at the ends and before a line of the text that looks like an option.
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

// newlineOnly makes each line end one newline.
var newlineOnly = strings.NewReplacer("\r\n", "\n", "\r", "\n", lineSep, "\n")

// ParseQuestion reads the text of a line as a question. It returns false if the text has another form.
func ParseQuestion(text string) (Question, bool) {
	match := questionForm().FindStringSubmatch(text)
	if match == nil {
		return Question{}, false
	}
	question := Question{ID: match[1], Text: strings.TrimSpace(match[2])}
	if match[4] != "" {
		question.For = strings.Fields(match[4])
	}
	_, further, _ := strings.Cut(match[2], "\n")
	ok := question.Text != "" && !questionTail().MatchString(further)
	for at, line := range strings.Split(match[3], "\n")[1:] {
		option := line[len("1) "):]
		inOrder := int(line[0]-'1') == at
		clean := option != "" && option == fields(option)
		ok = ok && inOrder
		ok = ok && clean
		question.Options = append(question.Options, option)
	}
	if match[5] != "" {
		at, err := time.Parse(time.RFC3339, match[5])
		ok = ok && err == nil
		question.Until = at.UTC()
	}
	if !ok {
		return Question{}, false
	}
	return question, true
}

// NoQuestion returns the text for a line that is not a question: with a space before it if it begins like
// a question.
func NoQuestion(text string) string {
	if questionBegin().MatchString(text) {
		return " " + text
	}
	return text
}

// Answer reads a message as an answer to the question: the id and then an option, its number or, if the options allow
// it, any text. choice is the option in the question's spelling, or "" for any other text. If "no" is an option, "No,
// wait: keep it" chooses it; if "once" is one and "yes" is not, "yes" means once. cited reports whether the message
// begins with the id; without the id, the caller has to know that the writer meant this question. ok is false for a message that cites another id, or is not an answer.
func (q Question) Answer(text string) (choice string, cited, ok bool) {
	id, text := Cited(text)
	if cited = id != ""; cited && id != q.ID {
		return "", false, false
	}
	said, word := fields(text), ""
	isYes := slices.Contains([]string{"yes", "yes, once"}, strings.ToLower(strings.TrimRight(said, ".!")))
	switch {
	case refusal().MatchString(said):
		word = "no"
	case isYes && !slices.Contains(q.Options, "yes"): // what is asked once or always
		word = "once"
	}
	for _, said := range []string{said, strings.TrimRight(said, ".!)"), word} { // people write "Yes." and "1)"
		for _, option := range q.Options {
			if strings.EqualFold(said, fields(option)) {
				return option, cited, true
			}
		}
		if number, err := strconv.Atoi(said); err == nil && len(said) == 1 {
			if 1 <= number && number <= len(q.Options) {
				return q.Options[number-1], cited, true
			}
		}
	}
	return "", cited, text != "" && q.takesAnyText()
}

// takesAnyText reports whether people may answer with other words than the options.
func (q Question) takesAnyText() bool {
	last := len(q.Options) - 1
	return last < 0 || strings.HasSuffix(q.Options[last], "…")
}

// Cited splits a message into the id of a question at its beginning, or "", and the answer in words.
func Cited(text string) (id, words string) {
	text = strings.TrimSpace(text)
	first, rest := text, ""
	if space := strings.IndexFunc(text, unicode.IsSpace); space >= 0 {
		first, rest = text[:space], strings.TrimSpace(text[space:])
	}
	if id = strings.ToLower(strings.TrimRight(first, ":,.")); ValidQuestionID(id) {
		return id, rest
	}
	return "", text
}

// Answerers returns the users who may answer. people are the users in config.toml.
func (q Question) Answerers(people []string) []string {
	if len(q.For) > 0 {
		return q.For
	}
	return people
}

// MayAnswer reports whether a user of this name may answer. It compares names in For without regard to case, since a
// model wrote them. Names in people have power, so Bob there is not bob.
func (q Question) MayAnswer(name string, people []string) bool {
	if name == Unknown {
		return false
	}
	if len(q.For) == 0 {
		return slices.Contains(people, name)
	}
	return slices.ContainsFunc(q.For, func(named string) bool { return strings.EqualFold(named, name) })
}

// fields makes each run of white space one space.
func fields(s string) string { return strings.Join(strings.Fields(s), " ") }
