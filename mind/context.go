package mind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/life/event"
)

// Range is a run of entries that have faded.
type Range struct {
	From      int    `json:"from"`     // first entry, inclusive
	To        int    `json:"to"`       // last entry, inclusive
	Level     string `json:"level"`    // Summary, Gist or Card
	Original  Ref    `json:"original"` // a blob with the texts of the entries
	Relevance int    `json:"relevance,omitempty"`
	Summary   *Ref   `json:"summary,omitempty"` // a blob with the text that replaces them
	Text      string `json:"text,omitempty"`    // that text, escaped, so that a resume reads no blob for it

	At    time.Time `json:"at,omitzero"`     // the time of its newest entry
	Epoch int       `json:"epoch,omitempty"` // the epoch that gave it this level
	Count int       `json:"count,omitempty"` // ranges on a card
	Tier  int       `json:"tier,omitempty"`  // of a card: 1 lists gists, 2 lists cards of gists, and so on
}

// Levels of a faded range.
const (
	Summary = "summary"
	Gist    = "gist"
	Card    = "card"
)

// Name returns the range's name in a prompt: e5..e7.
func (r Range) Name() string { return event.Entries{From: r.From, To: r.To}.String() }

// Fade returns the event that records the range.
func (r Range) Fade() event.Fade {
	return event.Fade{Entries: event.Entries{From: r.From, To: r.To}, To: r.Level, Relevance: r.Relevance}
}

// Pin is a standing rule or a promise that must not fade: one line of the past
// that stays when its entries are only a gist or part of a card.
type Pin struct {
	From   int    `json:"from,omitempty"`   // the first of its entries; 0 if a person added the pin
	To     int    `json:"to,omitempty"`     // the last of its entries
	Text   string `json:"text"`             // one line, escaped
	Weight int    `json:"weight,omitempty"` // if there are too many pins, light ones go first
	Epoch  int    `json:"epoch,omitempty"`  // the first epoch with this pin
	Room   string `json:"room,omitempty"`   // where it was said, in a life that knows private rooms
}

const pinsHeader = "◆ pins"

// withheld is the pin in requests of a life whose audience may not read it.
func (p Pin) withheld() Pin { return Pin{From: p.From, To: p.To, Text: "private to room " + p.Room} }

// String renders a pin as a line of the past and of context.md.
func (p Pin) String() string {
	if p.From == 0 {
		return "- " + p.Text
	}
	if p.Room != "" {
		return fmt.Sprintf("- e%d..e%d (%s): %s", p.From, p.To, p.Room, p.Text)
	}
	return fmt.Sprintf("- e%d..e%d: %s", p.From, p.To, p.Text)
}

func pinsText(pins []Pin) string {
	text := ""
	if len(pins) > 0 {
		text = "\n" + pinsHeader
	}
	for _, pin := range pins {
		text += "\n" + pin.String()
	}
	return text
}

var listMark = pattern.Lazy(`^[-*]? ?`)

// PinnedByPerson is the weight of a pin that a person wrote. All other pins weigh less.
const PinnedByPerson = 100

// Context is the past as a request shows it, oldest first.
type Context struct {
	Faded     []Range   `json:"faded,omitempty"`
	Pins      []Pin     `json:"pins,omitempty"` // rules and promises
	Live      []*Entry  `json:"live,omitempty"`
	Overtaken Overtaken `json:"overtaken,omitempty"`
}

// Overtaken maps what is out of date to the last entry that corrects it: a line of a range, by the name of the range,
// ": " and the line; or part of a range, by its name alone. It keeps a range that has gone on a card.
type Overtaken map[string]int

// Of returns what the line of a range says about it, such as `, overtaken by e71: "the code is 4471"`, and the last of
// the entries; "" and 0 where nothing is overtaken. Of single lines it passes over those that shown does not say; ""
// says all.
func (o Overtaken) Of(name, shown string) (mark string, by int) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		of, line, _ := strings.Cut(key, ": ")
		isShown := shown == "" || Says(shown, line)
		if of != name || !isShown {
			continue
		}
		mark, by = mark+", overtaken by "+EntryID(o[key]), max(by, o[key])
		if line != "" {
			mark += `: "` + line + `"`
		}
	}
	return mark, by
}

// Says reports whether a text has some words, whatever their case and punctuation.
func Says(text, words string) bool { return strings.Contains(Plain(text), Plain(words)) }

// Plain is a text without case and punctuation.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// Line renders a faded range for the past: its header, its ref and, for a
// summary, the text.
func (c Context) Line(r Range) string {
	mark, _ := c.Overtaken.Of(r.Name(), "")
	head := fmt.Sprintf("◆ %s %s%s %s", r.Name(), r.Level, blobs.Escape(mark), r.Original)
	if r.Text == "" {
		return head
	}
	return Indent(head + "\n" + r.Text)
}

func (c Context) fadedText() string {
	var texts []string
	for _, faded := range c.Faded {
		texts = append(texts, c.Line(faded))
	}
	return cmp.Or(strings.Join(texts, "\n"), "Nothing has faded yet.")
}

// Forgotten renders the faded ranges and the pins for the past.
func (c Context) Forgotten() string { return c.fadedText() + pinsText(c.Pins) }

// Entry returns the live entry n, or nil.
func (c Context) Entry(n int) *Entry {
	return c.newest(func(e *Entry) bool { return e.N == n })
}

// Unit returns the newest live reply, or nil.
func (c Context) Unit() *Entry {
	return c.newest(func(e *Entry) bool { return e.Kind == Reply })
}

func (c Context) newest(is func(*Entry) bool) *Entry {
	for _, entry := range slices.Backward(c.Live) {
		if is(entry) {
			return entry
		}
	}
	return nil
}

// find returns the call e12.1 of the newest reply.
func (c Context) find(id string) (*Call, error) {
	entryNumber, number, err := ParseID(id)
	if err != nil {
		return nil, err
	}
	entry := c.Entry(entryNumber)
	if entry == nil {
		return nil, errors.New("no such call")
	}
	if number < 1 || number > len(entry.Calls) {
		return nil, errors.New("no such call")
	}
	return entry.Calls[number-1], nil
}

// FadedAt returns the faded range of entry n. If the entry has not faded, the range has no Level.
func (c Context) FadedAt(n int) Range {
	for _, faded := range c.Faded {
		if faded.From <= n && n <= faded.To {
			return faded
		}
	}
	return Range{}
}

// settled returns the last entry before the first unit that still lacks a result. next is the number of the next entry.
func (c Context) settled(next int) int {
	for _, entry := range c.Live {
		if entry.Waits() {
			return entry.N - 1
		}
	}
	return next - 1
}

// readPins reads the list of pins as a person edited it. A line that the list had keeps
// its entries, weight and epoch; a new line is the person's own pin.
func (c Context) readPins(body string) []Pin {
	known := map[string][]Pin{}
	for _, pin := range c.Pins {
		withheld := pin.withheld().String()
		known[withheld] = append(known[withheld], pin)
		known[pin.String()] = []Pin{pin}
	}
	pins := []Pin{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		kept, ok := known[line]
		if !ok {
			text := listMark().ReplaceAllString(line, "")
			text = strings.Clone(text) // the original would hold the whole file in memory
			kept = []Pin{{Text: model(text), Weight: PinnedByPerson}}
		}
		for _, pin := range kept {
			if pin.Text != "" {
				pins = append(pins, pin)
			}
		}
	}
	return pins
}

// PinForGood adds pins that stay until a person removes them. The texts are escaped.
func (c *Context) PinForGood(texts ...string) {
	for _, text := range texts {
		c.Pins = append(c.Pins, Pin{Text: text, Weight: PinnedByPerson})
	}
}

// conserved is Conserved for a life whose next entry has this number.
func (c Context) conserved(next int) (missing []Range, err error) {
	places := slices.Clone(c.Faded)
	for _, entry := range c.Live {
		places = append(places, Range{From: entry.N, To: entry.N})
	}
	due := 1 // the entry whose place comes next
	for _, place := range append(Ordered(places), Range{From: next}) {
		if place.From > due {
			missing = append(missing, Range{From: due, To: place.From - 1})
		}
		if place.From != due {
			err = fmt.Errorf("e%d is neither live nor faded, or is there twice", min(due, place.From))
		}
		due = max(due, place.To+1)
	}
	return missing, err
}

// keep adds the parts of faded ranges that hold entries which stand nowhere in the context. A part of a range keeps the
// original of the whole. next is the number of the life's next entry.
func (c *Context) keep(next int, ranges ...Range) {
	for _, faded := range ranges {
		missing, _ := c.conserved(next)
		for _, gap := range missing {
			part := faded
			part.From, part.To = max(faded.From, gap.From), min(faded.To, gap.To)
			if part.From <= part.To {
				c.Faded = Ordered(append(c.Faded, part))
			}
		}
	}
}

// Ordered sorts ranges, oldest first.
func Ordered(ranges []Range) []Range {
	sort.SliceStable(ranges, func(i, j int) bool { return ranges[i].From < ranges[j].From })
	return ranges
}

// Listing is one line of a card: a faded range that the card stands for.
type Listing struct {
	Ref       blobs.Ref
	From, To  int
	Source    string    // the agent that it was adopted from, which has no entries here; "" if it is the life's own
	At        time.Time // the time of its newest entry; zero if unknown
	Overtaken string    // see Overtaken.Of
}

const listingTime = "2006-01-02 15:04"

// String renders the line. It begins with the hash, as a search hit does.
func (l Listing) String() string {
	at := ""
	if !l.At.IsZero() {
		at = ", " + l.At.UTC().Format(listingTime)
	}
	gist, from := cmp.Or(blobs.Gist(l.Ref.Gist), "…"), fmt.Sprintf("e%d..e%d", l.From, l.To)
	if l.Source != "" {
		from = "from " + l.Source
	}
	return fmt.Sprintf("hash=%s gist=%s (%s%s%s)", l.Ref.Hash, gist, from, at, l.Overtaken)
}

var listingLine = pattern.Lazy(`(?m)^hash=([0-9a-f]{12,64}) gist=(.*) ` +
	`\((?:e(\d+)\.\.e(\d+)|from ([^ ,()]+))(?:, ([-0-9: ]+))?((?:, overtaken by e\d.*)?)\)$`)

// ReadCard returns the ranges that the body of a card lists, oldest first. They
// are ranges of entries, or cards again.
func ReadCard(body []byte) []Listing {
	var out []Listing
	for _, match := range listingLine().FindAllStringSubmatch(string(body), -1) {
		listing := Listing{Ref: blobs.Ref{Hash: match[1], Gist: match[2]}, Source: match[5], Overtaken: match[7]}
		listing.From, _ = strconv.Atoi(match[3]) // digits, by the pattern
		listing.To, _ = strconv.Atoi(match[4])
		listing.At, _ = time.Parse(listingTime, match[6])
		out = append(out, listing)
	}
	return out
}
