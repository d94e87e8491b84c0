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

// pin adds the pins of a chunk to those of a state, each text once. One that is
// said again moves to its new place.
func pin(s *mind.Context, f Fade) {
	for _, p := range f.pins {
		i := slices.IndexFunc(s.Pins, func(q mind.Pin) bool { return plain(q.Text) == plain(p.Text) })
		if i >= 0 {
			p.Weight = max(p.Weight, s.Pins[i].Weight)
			s.Pins = slices.Delete(s.Pins, i, i+1)
		}
		s.Pins = append(s.Pins, p)
	}
}

// unpin takes pins away until the rest fits into most tokens: the lightest
// first, of equals the oldest. What they came from stays, as gists and cards.
func unpin(s *mind.Context, meter Meter, most int) (note string) {
	total := 0
	for _, p := range s.Pins {
		total += meter(p.String() + "\n")
	}
	var gone []string
	for total > most && len(s.Pins) > 0 {
		at := 0
		for i, p := range s.Pins {
			if p.Weight < s.Pins[at].Weight {
				at = i
			}
		}
		total -= meter(s.Pins[at].String() + "\n")
		gone = append(gone, blobs.Unescape(s.Pins[at].String()))
		s.Pins = slices.Delete(s.Pins, at, at+1)
	}
	if len(gone) == 0 {
		return ""
	}
	shown := gone[max(0, len(gone)-5):]
	return fmt.Sprintf("Your list of pins is full; %d of them stand there no more and are only reachable by their entries now, these the last:\n%s\nWhat must stay before you belongs into self/MEMORY.md.",
		len(gone), strings.Join(shown, "\n"))
}
