package compactor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"lethe/blobs"
	"lethe/mind"
)

const (
	maxPin       = 240 // runes of one pin
	pinsPerChunk = 6
)

// promises pins the rules and promises of a chunk. Without all, only sentences that
// begin as a rule does are taken.
func (f *Fade) promises(words []said, all bool) {
	for weight := 3; weight > 0; weight-- {
		for _, s := range words {
			if s.weight == weight && (all || s.strict) {
				f.pin(s.String(), weight)
			}
		}
	}
}

// pin adds a pin, unless there are enough or one says the same, and perhaps more.
func (f *Fade) pin(text string, weight int) {
	said := func(p mind.Pin) bool { return strings.Contains(plain(p.Text), plain(text)) }
	if len(f.pins) < pinsPerChunk && !slices.ContainsFunc(f.pins, said) {
		f.pins = append(f.pins, mind.Pin{From: f.From, To: f.To, Text: truncate(text, maxPin), Weight: weight})
	}
}

// plain is a text whatever its case and punctuation.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// pin adds pins, each text once. One that is said again moves to its new place.
func (sw *swap) pin(pins []mind.Pin) {
	for _, p := range pins {
		i := slices.IndexFunc(sw.Pins, func(q mind.Pin) bool { return plain(q.Text) == plain(p.Text) })
		if i >= 0 {
			p.Weight = max(p.Weight, sw.Pins[i].Weight)
			sw.Pins = slices.Delete(sw.Pins, i, i+1)
		}
		sw.Pins = append(sw.Pins, p)
	}
}

// unpin takes pins away until the rest fits into most tokens: the lightest
// first, of equals the oldest. What they came from stays, as gists and cards.
func (sw *swap) unpin(most int) (note string) {
	total := 0
	for _, p := range sw.Pins {
		total += sw.meter(p.String() + "\n")
	}
	var gone []string
	for total > most && len(sw.Pins) > 0 {
		at := 0
		for i, p := range sw.Pins {
			if p.Weight < sw.Pins[at].Weight {
				at = i
			}
		}
		total -= sw.meter(sw.Pins[at].String() + "\n")
		gone = append(gone, blobs.Unescape(sw.Pins[at].String()))
		sw.Pins = slices.Delete(sw.Pins, at, at+1)
	}
	if len(gone) == 0 {
		return ""
	}
	shown := gone[max(0, len(gone)-5):]
	return fmt.Sprintf("Your list of pins is full; %d of them stand there no more and are only reachable by their entries now, these the last:\n%s\nWhat must stay before you belongs into self/MEMORY.md.",
		len(gone), strings.Join(shown, "\n"))
}
