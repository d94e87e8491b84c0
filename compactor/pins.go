package compactor

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/pattern"
	"lethe/mind"
)

const (
	maxPin       = 240 // runes of one pin
	pinsPerChunk = 6
)

// binding returns the messages of some units whose words may be pinned: the identity's own, and the messages of
// people who count.
func (j Job) binding(units []unit) []speech {
	return slices.DeleteFunc(speeches(units), func(m speech) bool {
		isStranger := m.who != self && !j.in.counts(m.who)
		return isStranger || len(m.sentences) == 0
	})
}

// counts reports whether what a person says may be pinned. Nobody's lines, which bear no name, never are.
func (in Input) counts(name string) bool {
	if name == chat.Unknown {
		return false
	}
	return in.People == nil || in.People(name)
}

// attributed adds to a summary of some units that it rests on words of people who do not count.
func (j Job) attributed(summary string, units []unit) string {
	var names []string
	for _, m := range speeches(units) {
		isStranger := m.who != self && !j.in.counts(m.who)
		if isStranger && !slices.Contains(names, m.who) {
			names = append(names, m.who)
		}
	}
	if j.in.People == nil || len(names) == 0 {
		return summary
	}
	who := truncate(strings.Join(names, ", "), maxPin)
	return fmt.Sprintf("%s\n(It rests on words of %s, too: people in no list.)", summary, who)
}

// named pins the words that a model names, if one of some messages has them. Where they are too many, what people said
// stays.
func (f *Fade) named(pins []string, spoken []speech) {
	var found []said
	for _, text := range pins {
		for _, m := range spoken {
			words := text
			if name, rest, ok := strings.Cut(text, ": "); ok && mind.Plain(name) == mind.Plain(m.who) {
				words = rest // as pins are shown
			}
			if pin := m.pin(words); pin != "" {
				found = append(found, said{m.who, pin})
				break
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].weight() > found[j].weight() })
	for _, s := range found {
		f.pin(s)
	}
}

// pin returns the part of a message that says some words, or "". Words of a person bring all of a short message. Else
// they bring the whole sentences that hold them, and before these the ends of earlier ones that may quote them.
func (m speech) pin(words string) string {
	all, wanted := "", mind.Plain(words)
	from, to := 0, 0
	ends := make([]int, len(m.sentences)) // in all
	for i, sentence := range m.sentences {
		all += mind.Plain(sentence)
		ends[i] = len(all)
	}
	at := strings.Index(all, wanted)
	if at < 0 || wanted == "" {
		return ""
	}
	for i, end := range ends {
		if end <= at {
			from = i + 1
		}
		if end < at+len(wanted) {
			to = i + 1
		}
	}
	whole := strings.Join(m.sentences, " ")
	if m.who != self && utf8.RuneCountInString(said{m.who, whole}.String()) <= maxPin {
		return whole
	}
	var parts []string
	for _, sentence := range m.sentences[:from] {
		if head := quoting().FindString(sentence); head != "" {
			parts = append(parts, strings.TrimSpace(head))
		}
	}
	return strings.Join(append(parts, strings.Join(m.sentences[from:to+1], " ")), " … ")
}

// quoting matches the last words of a sentence before what it may quote: up to its last colon or quotation mark, or the
// sign of a quoted line. It begins with a whole word.
var quoting = pattern.Lazy(`^>|(^|[^!-~]).{0,60}(:(\s|$)|["“”„«»「])`)

// pin adds a pin, unless there are enough or one says the same, and perhaps more.
func (f *Fade) pin(saying said) {
	holds := func(p mind.Pin) bool { return strings.Contains(mind.Plain(p.Text), mind.Plain(saying.String())) }
	if len(f.pins) < pinsPerChunk && !slices.ContainsFunc(f.pins, holds) {
		text := truncate(saying.String(), maxPin)
		f.pins = append(f.pins, mind.Pin{From: f.From, To: f.To, Text: text, Weight: saying.weight()})
	}
}

// pin adds pins, each text once. One that is said again moves to its new place.
func (sw *swap) pin(pins []mind.Pin) {
	for _, pin := range pins {
		i := slices.IndexFunc(sw.Pins, func(q mind.Pin) bool { return mind.Plain(q.Text) == mind.Plain(pin.Text) })
		if i >= 0 {
			pin.Weight = max(pin.Weight, sw.Pins[i].Weight)
			sw.Pins = slices.Delete(sw.Pins, i, i+1)
		}
		sw.Pins = append(sw.Pins, pin)
	}
}

// end takes away the pins that a chunk after them calls over: kept or withdrawn. Of one that says more, the rest stays.
// Pins of a person stay.
func (sw *swap) end(fades []Fade) (note string) {
	var gone []string
	left := func(pins []mind.Pin) (rest []mind.Pin) {
		for _, pin := range pins {
			shown := pin.String()
			for _, f := range fades {
				if pin.From > 0 && pin.From < f.From {
					pin.Text = strike(pin.Text, f.over)
				}
			}
			if pin.Text != "" {
				rest = append(rest, pin)
			} else {
				gone = append(gone, blobs.Unescape(shown))
			}
		}
		return rest
	}
	for i := range fades {
		fades[i].pins = left(fades[i].pins)
	}
	gone = nil // nobody has seen those
	sw.Pins = left(sw.Pins)
	if len(gone) == 0 {
		return ""
	}
	return "No longer pinned, since kept or withdrawn:\n" + strings.Join(gone, "\n") + "\nIf one of them still " +
		"holds, write it into self/MEMORY.md."
}

// noLonger begins a sentence of a pin that does not hold any more, among others that do.
const noLonger = "(no longer: "

// strike marks the sentences of a pin that some texts call over; it returns "" where none is left. What may be a
// quotation ends as a whole: without its beginning it would read as an order.
func strike(pin string, over []string) string {
	who, words, _ := strings.Cut(pin, ": ")
	named := func(part string) bool { // most of each is the other: "No." is in many texts
		return slices.ContainsFunc(over, func(one string) bool {
			return slices.ContainsFunc(sentences(strings.TrimPrefix(one, who+": ")), func(said string) bool {
				return same(part, said) && same(said, part)
			})
		})
	}
	isQuote := quoting().MatchString(strings.ReplaceAll(words, noLonger, ""))
	parts, marked, open := sentences(words), false, false
	for i, part := range parts {
		switch {
		case strings.HasPrefix(part, noLonger):
		case !isQuote && named(part):
			parts[i], marked = noLonger+part+")", true
		default:
			open = true
		}
	}
	switch {
	case marked && open:
		return who + ": " + strings.Join(parts, " ")
	case marked || slices.ContainsFunc(over, func(one string) bool { return same(pin, one) }):
		return ""
	}
	return pin
}

// same reports whether a text names a pin: one holds the other, or most of it.
func same(pin, text string) bool {
	if head, cut := strings.CutSuffix(pin, "…"); cut && len(head) > maxPin/2 {
		_, pin, _ = strings.Cut(head, ": ") // the text may have more, and no speaker
	}
	pin, text = mind.Plain(pin), mind.Plain(text)
	if pin != "" && strings.Contains(text, pin) {
		return true
	}
	isMost := 2*len(text) > len(pin)
	return isMost && strings.Contains(pin, text)
}

// unpin takes pins away until the rest fits into most tokens: the lightest
// first, of equals the oldest. What they came from stays, as gists and cards.
func (sw *swap) unpin(most int) (note string) {
	total := 0
	for _, p := range sw.Pins {
		total += sw.meter.of(p.String() + "\n")
	}
	var gone []string
	for total > most && len(sw.Pins) > 0 {
		pin := slices.MinFunc(sw.Pins, func(a, b mind.Pin) int { return a.Weight - b.Weight })
		at := slices.Index(sw.Pins, pin)
		total -= sw.meter.of(pin.String() + "\n")
		gone = append(gone, blobs.Unescape(pin.String()))
		sw.Pins = slices.Delete(sw.Pins, at, at+1)
	}
	if len(gone) == 0 {
		return ""
	}
	shown := gone[max(0, len(gone)-5):]
	return fmt.Sprintf("Your list of pins is full; %d of them stand there no more and are only reachable by "+
		"their entries now, these the last:\n%s\nWhat must stay before you belongs into self/MEMORY.md.",
		len(gone), strings.Join(shown, "\n"))
}
