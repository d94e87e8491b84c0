package compactor

import (
	"fmt"
	"maps"
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

// named pins the sentences that a model names, if people or the identity itself have said
// them: what tools and other agents say binds nobody. Where they are too many, what people said
// stays.
func (f *Fade) named(pins []string, words []said) {
	texts := map[string]string{} // by speaker, all that each said
	for _, s := range words {
		texts[s.who] += plain(s.text)
	}
	var found []said
	for _, text := range pins {
		for _, who := range slices.Sorted(maps.Keys(texts)) {
			if name, rest, ok := strings.Cut(text, ": "); ok && plain(name) == plain(who) {
				text = rest // as pins are shown
			}
			if strings.Contains(texts[who], plain(text)) {
				found = append(found, said{who, text})
				break
			}
		}
	}
	slices.SortStableFunc(found, func(a, b said) int { return b.weight() - a.weight() })
	for _, s := range found {
		f.pin(s)
	}
}

// pin adds a pin, unless there are enough or one says the same, and perhaps more.
func (f *Fade) pin(saying said) {
	holds := func(p mind.Pin) bool { return strings.Contains(plain(p.Text), plain(saying.String())) }
	if len(f.pins) < pinsPerChunk && !slices.ContainsFunc(f.pins, holds) {
		text := truncate(saying.String(), maxPin)
		f.pins = append(f.pins, mind.Pin{From: f.From, To: f.To, Text: text, Weight: saying.weight()})
	}
}

// plain is a text whatever its case and punctuation.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// pin adds pins, each text once. One that is said again moves to its new place.
func (sw *swap) pin(pins []mind.Pin) {
	for _, pin := range pins {
		i := slices.IndexFunc(sw.Pins, func(q mind.Pin) bool { return plain(q.Text) == plain(pin.Text) })
		if i >= 0 {
			pin.Weight = max(pin.Weight, sw.Pins[i].Weight)
			sw.Pins = slices.Delete(sw.Pins, i, i+1)
		}
		sw.Pins = append(sw.Pins, pin)
	}
}

// end takes away the pins that a chunk after them calls over: kept or withdrawn. Pins of a person
// stay.
func (sw *swap) end(fades []Fade) (note string) {
	var gone []string
	over := func(pin mind.Pin) bool {
		named := func(text string) bool { return same(pin.Text, text) }
		return pin.From > 0 && slices.ContainsFunc(fades, func(f Fade) bool {
			return pin.From < f.From && slices.ContainsFunc(f.over, named)
		})
	}
	sw.Pins = slices.DeleteFunc(sw.Pins, func(pin mind.Pin) bool {
		if !over(pin) {
			return false
		}
		gone = append(gone, blobs.Unescape(pin.String()))
		return true
	})
	for i := range fades {
		fades[i].pins = slices.DeleteFunc(slices.Clone(fades[i].pins), over)
	}
	if len(gone) == 0 {
		return ""
	}
	return "No longer pinned, since kept or withdrawn:\n" + strings.Join(gone, "\n") + "\nIf one of them still " +
		"holds, write it into self/MEMORY.md."
}

// same reports whether a text names a pin: one holds the other, or most of it.
func same(pin, text string) bool {
	if head, cut := strings.CutSuffix(pin, "…"); cut && len(head) > maxPin/2 {
		_, pin, _ = strings.Cut(head, ": ") // the text may have more, and no speaker
	}
	pin, text = plain(pin), plain(text)
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
