package mind

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"lethe/mind/message"
)

//go:embed harness.md
var harness string

// Bounds of the notes and the log in a prompt, in characters.
const (
	MaxMemory = 4000
	MaxLife   = 6000
)

// Places are the placeholders in Rules. System replaces them for each identity.
var Places = []string{"{{name}}", "{{self}}", "{{segment}}", "{{summarise}}"}

// Rules returns the rules for identities, which people may replace by their own.
func Rules() string { return harness }

// Called follows the rules of an identity that is woken only by lines that mention it.
const Called = "\n\nCalled by name. You share rooms with others. " +
	"Only what says @{{name}} or @all there is for you; the rest you " +
	"hear so that you know it, and you owe it no answer. To call somebody, write @ and the name."

// VersionMark begins a line in people's own rules that names the version of Rules they began with; the version and -->
// follow.
const VersionMark = "<!-- from harness "

// RulesVersion returns the digest of Rules.
func RulesVersion() string { return Digest([]byte(harness)) }

// System renders the first message of a request, without a clock or a counter.
// The refs lead to SEGMENT.md and SUMMARISE.md.
func System(name, self, soul, rules string, segment, summarise Ref) string {
	values := []string{name, self[:min(16, len(self))], segment.String(), summarise.String()}
	var fill []string
	for i, place := range Places {
		fill = append(fill, place, values[i])
	}
	text := strings.NewReplacer(fill...).Replace(rules)
	return strings.TrimSpace(outside(soul)) + "\n\n" + strings.TrimSpace(text)
}

// OrderTail, as Params.Order, puts MEMORY and LIFE at the end of each request,
// always current: the classic order, for people who prefer recency to cost.
const OrderTail = "tail"

const (
	pastHeader   = "◆ past"
	memoryHeader = "◆ memory"
	lifeHeader   = "◆ life"
)

// Notes renders MEMORY, within its bound, and the newest lines of LIFE, if there are any.
func Notes(memory string, life []string) string {
	notes := memoryHeader + "\n" + memoryText(memory)
	if len(life) > 0 {
		notes += "\n" + lifeHeader + "\n" + strings.Join(life, "\n")
	}
	return notes
}

// noMemory replaces a MEMORY without text.
const noMemory = "(empty)"

// wholeMemory renders all of MEMORY.
func wholeMemory(memory string) string { return cmp.Or(outside(strings.TrimSpace(memory)), noMemory) }

// memoryText renders MEMORY, within its bound.
func memoryText(memory string) string {
	memory = strings.TrimSpace(memory)
	shown := CutRunes(memory, MaxMemory)
	if rest := memory[len(shown):]; rest != "" {
		return moreMemory(outside(shown), rest)
	}
	return wholeMemory(memory)
}

// moreMemory returns the shown part of a MEMORY, and a line with the length of the rest.
func moreMemory(shown, rest string) string {
	return fmt.Sprintf("%s\n(%d more characters are in self/MEMORY.md)", shown, utf8.RuneCountInString(rest))
}

// CutMemory shortens a MEMORY that weighs more than most characters, as message.Weight counts them. (A prompt also cuts
// it to MaxMemory.)
func CutMemory(text string, most int) string {
	weight := 0
	for at, char := range text {
		if weight += message.Weight(string(char)); weight > most {
			return moreMemory(text[:at], text[at:])
		}
	}
	return text
}
