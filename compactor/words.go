package compactor

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/mind"
)

// said is a sentence that somebody said.
type said struct {
	who  string // self for the identity
	text string
}

// self stands for the identity itself as a speaker.
const self = "I"

func (s said) String() string { return s.who + ": " + s.text }

// speech holds the sentences that a person or the identity itself said at once.
type speech struct {
	who       string
	sentences []string
}

// speeches lists what people and the identity itself said in some units. Other agents and tool results are left out: a
// rule that they state binds nobody.
func speeches(units []unit) (all []speech) {
	for _, unit := range units {
		switch unit.Kind {
		case mind.Reply:
			all = append(all, speech{self, sentences(unit.Text)})
		case mind.Inbound:
			who := ""
			for _, line := range strings.Split(unit.Text, "\n") {
				if tag, rest, ok := roomLine(line); ok {
					user, isUser := strings.CutPrefix(tag, "USER:")
					line, who = rest, ""
					if isUser {
						who = user
						all = append(all, speech{who: who})
					}
				}
				if who != "" {
					newest := &all[len(all)-1]
					newest.sentences = append(newest.sentences, sentences(line)...)
				}
			}
		}
	}
	return all
}

// talk lists the sentences of messages.
func talk(units []unit) (all []said) {
	for _, m := range speeches(units) {
		for _, sentence := range m.sentences {
			all = append(all, said{m.who, sentence})
		}
	}
	return all
}

// roomLine splits a line of a room as it is rendered: USER:ada, and the text. A
// line without a tag goes on with the message above it.
func roomLine(line string) (tag, text string, ok bool) {
	head, text, closed := strings.Cut(line, "]")
	tag, _, _ = strings.Cut(head, " ")
	tag, open := strings.CutPrefix(tag, "[")
	hasSpeaker := strings.HasPrefix(tag, "USER:") || strings.HasPrefix(tag, "AGENT:")
	inBrackets := open && closed
	if !inBrackets || !hasSpeaker {
		return "", "", false
	}
	return tag, strings.TrimPrefix(text, " "), true
}

func sentences(text string) (all []string) {
	for _, piece := range sentence().FindAllString(text, -1) {
		if s := oneLine(piece); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// sentence matches a sentence or a line.
var sentence = pattern.Lazy(`(?s).+?(?:[.!?]["”’)]*(?:\s+|$)|[。！？\n]\s*|$)`)

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// rule matches a sentence with which a person asks for something to be kept. A summariser finds others, too.
var rule = pattern.Lazy(`(?i)^(@\S+ )?(please )?(always|never|remember|from now on|(new )?rules?)\b.*[^?]$`)

// rule reports whether a person states a rule.
func (s said) rule() bool { return s.who != self && rule().MatchString(s.text) }

// weight is the weight of a pin: the identity's own give way first.
func (s said) weight() int {
	if s.who == self {
		return 2
	}
	return 3
}

// identifiers lists the distinctive names of a text, the most frequent first: addresses, paths, dotted, dashed and
// snake names, codes and numbers, without structure characters.
func identifiers(text string, most int) []string {
	return frequent(text, most, func(s string) bool { return len(s) >= 3 && names(s) })
}

// keywords lists the words and names that a text uses most, the most frequent first.
func keywords(text string, most int) []string {
	return telling(frequent(strings.ToLower(text), most, func(s string) bool {
		return len(s) > 3 && !slices.Contains(common, s)
	}))
}

func breaks(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`<>()[]{}|\\,;=“”‘’。，◰◱◲◳◆", r)
}

// names reports whether a word is a name rather than a word of a language: it
// holds a digit, a joint, or capitals only.
func names(word string) bool {
	letters, capitals, digits, joints, joint := 0, 0, 0, 0, true
	for _, letter := range word {
		was := joint
		joint = strings.ContainsRune("._/:@-", letter)
		switch {
		case '0' <= letter && letter <= '9':
			digits++
		case unicode.IsUpper(letter):
			capitals++
		case unicode.IsLetter(letter):
			letters++
		case joint && !was:
			joints++
		}
	}
	isShort := letters+capitals+digits < 3
	isAcronym := capitals == utf8.RuneCountInString(word) && capitals <= 11
	hasSign := digits+joints > 0
	isDistinct := hasSign || isAcronym
	return isDistinct && !isShort
}

// telling leaves out words that were cut, and mere numbers, times, dates and hashes: out of its sentence a size reads
// like a year.
func telling(words []string) []string {
	return slices.DeleteFunc(words, func(word string) bool {
		return strings.HasSuffix(word, "…") || strings.Trim(word, "0123456789abcdef.:/-") == ""
	})
}

// frequent counts the words of a text that count and returns the most
// frequent ones, of equals the earlier.
func frequent(text string, most int, counts func(word string) bool) []string {
	count := map[string]int{}
	var order []string
	for _, word := range strings.FieldsFunc(blobs.Unescape(text), breaks) {
		word = strings.Trim(word, ".,:;-/+*=#@!?%&~^")
		count[word]++
		if count[word] > 1 || len(word) > 200 {
			continue
		}
		if utf8.RuneCountInString(word) <= 60 && counts(word) {
			order = append(order, word)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return count[order[i]] > count[order[j]] })
	return order[:min(most, len(order))]
}

// common are words that tell nothing about a text, and words of the structure around it.
var common = strings.Fields(`about after again also another because been before being both cannot could does done down each
even every find first from give given good have here into just know like line lines look make many more most much need
only other over said same says should since some such sure take than that their them then there these they thing think
this those through told under until very want were what when where which while will with would your yours you're it's
don't let's okay yes please thanks thank user agent room entry inbound reply result call note hash gist turn error true
false null none text name file files`)

// gist makes a gist of a text; a cut leaves no half word.
func gist(text string) string { return blobs.Gist(truncate(oneLine(text), blobs.MaxGist)) }

// truncate returns the first n runes of a text, a cut marked and never through an escape or, unless it is a long one,
// a word.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	head := mind.CutRunes(text, max(0, n-1))
	if i := strings.LastIndexByte(head, ' '); i > len(head)/2 {
		head = head[:i]
	}
	return strings.TrimRight(head, "◰ ") + "…"
}
