package mind

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind/message"
)

//go:embed harness.md
var harness string

// Bounds of the notes and the log in a prompt, in characters.
const (
	MaxMemory = 4000
	MaxLife   = 6000
)

// Places are what Rules has to name, for what differs between identities.
var Places = []string{"{{name}}", "{{self}}", "{{segment}}", "{{summarise}}"}

// Rules are those by which identities live, unless people have others.
func Rules() string { return harness }

// Called follows the rules of an identity that is woken only by lines that mention it.
const Called = "\n\nCalled by name. You share rooms with others. Only what says @{{name}} or @all there is for you; the rest you " +
	"hear so that you know it, and you owe it no answer. To call somebody, write @ and the name."

// VersionMark begins a line that says from which version of Rules others were made; the version and --> follow.
const VersionMark = "<!-- from harness "

// RulesVersion tells versions of Rules apart.
func RulesVersion() string { return Digest([]byte(harness)) }

// Outside makes text that comes from outside fit to stand in a prompt: it can forge no structure.
func Outside(text string) string { return outside(text) }

// System renders the first message of a request. There is no clock and no
// counter in it. The refs are those of SEGMENT.md and SUMMARISE.md.
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

func (c Context) fadedText() string {
	var texts []string
	for _, r := range c.Faded {
		texts = append(texts, c.Line(r))
	}
	return cmp.Or(strings.Join(texts, "\n"), "Nothing has faded yet.")
}

// Notes renders MEMORY, within its bound, and the newest lines of LIFE, if there are any.
func Notes(memory string, life []string) string {
	notes := memoryHeader + "\n" + memoryText(memory)
	if len(life) > 0 {
		notes += "\n" + lifeHeader + "\n" + strings.Join(life, "\n")
	}
	return notes
}

// noMemory stands for a MEMORY without text.
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

// moreMemory tells behind the shown part of a MEMORY how much is left out.
func moreMemory(shown, rest string) string {
	return fmt.Sprintf("%s\n(%d more characters are in self/MEMORY.md)", shown, utf8.RuneCountInString(rest))
}

// CutMemory shortens a MEMORY that weighs more than so many characters, as message.Weight counts them; a prompt bounds it
// to MaxMemory besides.
func CutMemory(text string, most int) string {
	weight := 0
	for i, r := range text {
		if weight += message.Weight(string(r)); weight > most {
			return moreMemory(text[:i], text[i:])
		}
	}
	return text
}

// Text is a named text that an identity goes by and that comes from elsewhere, such as MEMORY.md. The log records
// which version of it the identity knows: a Note tells of another one, or the next epoch begins with it.
type Text struct {
	Name string
	Body []byte
}

// Version is how the log names what the text says.
func (t Text) Version() event.File {
	return event.File{Name: t.Name, Hash: Digest(t.Body)}
}

// Digest is the part of a hash that tells texts of one kind apart.
func Digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// Knowledge is the list of texts, tools and blobs that an identity knows of from outside its context.
type Knowledge struct {
	// Files maps the names of texts to the digests of the versions that the identity knows; see Text.
	Files map[string]string `json:"files,omitempty"`
	// Used counts successful calls of others' tools, by name.
	Used map[string]int `json:"used,omitempty"`
	// Grants has the hashes of other lives' blobs that a user has named.
	Grants map[string]bool `json:"grants,omitempty"`
}

// use counts a successful call of a tool of others. Copies of a state share the map, so it makes another one.
func (k *Knowledge) use(tool string) {
	used := map[string]int{}
	maps.Copy(used, k.Used)
	used[tool]++
	k.Used = used
}

// Knows reports whether the log has told the identity what a text says.
func (k *Knowledge) Knows(t Text) bool { return k.Files[t.Name] == t.Version().Hash }

// learn notes the version of a text that the identity knows from now on.
func (k *Knowledge) learn(v event.File) {
	if v.Name != "" {
		k.Files[v.Name] = v.Hash
	}
}
