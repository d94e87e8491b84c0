package mind

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/life/event"
)

// Pin is a standing rule or a promise that must not fade: one line of the past
// that stays when what it came from is a gist or part of a card.
type Pin struct {
	From   int    `json:"from,omitempty"` // the entries it came from; 0 when a person added it
	To     int    `json:"to,omitempty"`
	Text   string `json:"text"`             // one line, escaped
	Weight int    `json:"weight,omitempty"` // of two, the lighter gives way first
	Epoch  int    `json:"epoch,omitempty"`  // since which it is there
}

const pinsHeader = "◆ pins"

// String renders a pin as a line of the past and of context.md.
func (p Pin) String() string {
	if p.From == 0 {
		return "- " + p.Text
	}
	return fmt.Sprintf("- e%d..e%d: %s", p.From, p.To, p.Text)
}

var listMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-*]? ?`) })

// readPins reads what a person left of the list. A line that was there keeps
// what is known of it; another one is a pin of theirs.
func (c Context) readPins(body string) []Pin {
	known := map[string]Pin{}
	for _, p := range c.Pins {
		known[p.String()] = p
	}
	pins := []Pin{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		p, ok := known[line]
		if !ok {
			text := listMark().ReplaceAllString(line, "")
			p = Pin{Text: model(strings.Clone(text)), Weight: PinnedByPerson} // a copy: not the whole file
		}
		if p.Text != "" {
			pins = append(pins, p)
		}
	}
	return pins
}

// PinForGood adds pins that no summary ends.
func (c *Context) PinForGood(texts ...string) {
	for _, text := range texts {
		c.Pins = append(c.Pins, Pin{Text: text, Weight: PinnedByPerson})
	}
}

// PinnedByPerson is the weight of a pin that a person wrote, more than any other.
const PinnedByPerson = 100

func pinsText(pins []Pin) string {
	text := ""
	if len(pins) > 0 {
		text = "\n" + pinsHeader
	}
	for _, p := range pins {
		text += "\n" + p.String()
	}
	return text
}

// Name is how a range is called in a prompt: e5..e7.
func (r Range) Name() string { return event.Entries{From: r.From, To: r.To}.String() }

// Line renders a faded range as it stands in the past: its header, its ref
// and, for a summary, the text.
func (c Context) Line(r Range) string {
	head := fmt.Sprintf("◆ %s %s%s %s", r.Name(), r.Level, overtaken(c.Overtaken[r.Name()]), r.Original)
	if r.Text == "" {
		return head
	}
	return Indent(head + "\n" + r.Text)
}

// Forgotten renders what has faded, and the pins, as they stand in the past.
func (c Context) Forgotten() string { return c.fadedText() + pinsText(c.Pins) }

// Fade returns the event that tells of the range.
func (r Range) Fade() event.Fade {
	return event.Fade{Entries: event.Entries{From: r.From, To: r.To}, To: r.Level, Relevance: r.Relevance}
}

// Notes returns the pins, MEMORY and what is shown of LIFE as they stand in the past,
// without those that go last.
func (s Stable) Notes() string {
	for _, header := range []string{pinsHeader, memoryHeader} {
		if i := strings.Index(s.Past, "\n"+header+"\n"); i >= 0 { // escaped everywhere else
			return s.Past[i+1:]
		}
	}
	return ""
}

// Memory returns MEMORY as it stands in the past: without the space around it, and no more
// than is shown.
func (s Stable) Memory() string {
	_, memory, _ := strings.Cut(s.Past, "\n"+memoryHeader+"\n")
	memory, _, _ = strings.Cut(memory, "\n"+lifeHeader)
	if memory == noMemory {
		return ""
	}
	return blobs.Unescape(memory)
}

// Original renders an entry as Full does, with all of what was clipped. A text
// that cannot be read stays clipped: its own ref says where the rest would be.
func (e *Entry) Original(read func(blobs.Hash) ([]byte, error)) string {
	whole := *e
	whole.Show, whole.Calls = 0, nil
	if clipped(e.Text) && e.View == nil { // no reply is
		if body, err := read(e.Ref.Hash); err == nil {
			_ = whole.load(body) // fails for replies only
		}
	}
	for _, c := range e.Calls {
		call := *c
		if clipped(c.Text) && c.View == nil {
			if body, err := read(c.Result.Hash); err == nil {
				call.Text = blobs.Escape(string(body)) // with its NULs, which no request has
			}
		}
		whole.Calls = append(whole.Calls, &call)
	}
	return whole.Full()
}

// clipped finds the mark of clip, which no text from outside can hold.
func clipped(text string) bool { return strings.Contains(text, "\n◳ ") }

// Listing is one line of a card: a faded range that the card stands for.
type Listing struct {
	Ref      blobs.Ref
	From, To int
	At       time.Time // of its newest entry; zero when that is not known
	// Overtaken is the last entry of what has overtaken it, or 0.
	Overtaken int
}

func overtaken(by int) string {
	if by == 0 {
		return ""
	}
	return ", overtaken by " + EntryID(by)
}

const listingTime = "2006-01-02 15:04"

// String renders the line. It begins with the hash, as a search hit does.
func (l Listing) String() string {
	at := ""
	if !l.At.IsZero() {
		at = ", " + l.At.UTC().Format(listingTime)
	}
	gist := cmp.Or(blobs.Gist(l.Ref.Gist), "…")
	return fmt.Sprintf("hash=%s gist=%s (e%d..e%d%s%s)", l.Ref.Hash, gist, l.From, l.To, at, overtaken(l.Overtaken))
}

var listingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^hash=([0-9a-f]{12,64}) gist=(.*) ` +
		`\(e(\d+)\.\.e(\d+)(?:, ([-0-9: ]+))?(?:, overtaken by e(\d+))?\)$`)
})

// ReadCard returns the ranges that the body of a card lists, oldest first. They
// are ranges of entries, or cards again.
func ReadCard(body []byte) []Listing {
	var out []Listing
	for _, m := range listingLine().FindAllStringSubmatch(string(body), -1) {
		l := Listing{Ref: blobs.Ref{Hash: m[1], Gist: m[2]}}
		l.From, _ = strconv.Atoi(m[3]) // digits, by the pattern
		l.To, _ = strconv.Atoi(m[4])
		l.At, _ = time.Parse(listingTime, m[5])
		l.Overtaken, _ = strconv.Atoi(m[6])
		out = append(out, l)
	}
	return out
}

// OpenedText is how a result of UNCOMPACT begins; the hash follows.
const OpenedText = "original of hash="
