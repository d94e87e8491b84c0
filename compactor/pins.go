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

// promises pins the sentences of a chunk that have at least such a weight as promises, but for those with which the
// identity repeats a person's rule.
func (f *Fade) promises(words []said, least int) {
	for weight := 3; weight >= least; weight-- {
		for _, s := range words {
			if s.weight == weight && !slices.ContainsFunc(words, s.echoes) {
				f.pin(s.String(), weight)
			}
		}
	}
}

// echoes reports whether the identity repeats a person's rule: half of its longer words are in it.
func (s said) echoes(rule said) bool {
	words, same := 0, 0
	for word := range strings.FieldsSeq(spaced(s.text)) {
		if len(word) > 3 {
			words++
			same += strings.Count(spaced(rule.text), " "+word+" ")
		}
	}
	return s.weight < 3 && rule.weight == 3 && 2*same >= words
}

// named pins the sentences that a model names, if people or the identity itself have said
// them: what tools and other agents say binds nobody. Where they are too many, people's rules
// stay.
func (f *Fade) named(pins []string, words []said) {
	all := speeches(words)
	var found []said
	for _, text := range pins {
		for _, s := range all {
			if _, rest, ok := strings.Cut(text, ": "); ok && plain(text[:len(text)-len(rest)]) == plain(s.who) {
				text = rest // as pins are shown
			}
			if strings.Contains(s.text, plain(text)) {
				s.text = text
				found = append(found, s)
				break
			}
		}
	}
	slices.SortStableFunc(found, func(a, b said) int { return b.weight - a.weight })
	for _, s := range found {
		f.pin(s.String(), s.weight)
	}
}

// speeches joins all that each speaker said, as plain shows it. The weight is that of
// their rules.
func speeches(words []said) []said {
	var out []said
	texts := map[string]*strings.Builder{}
	for _, s := range words {
		if texts[s.who] == nil {
			texts[s.who] = new(strings.Builder)
			out = append(out, said{who: s.who, weight: weightOf(s.who)})
		}
		texts[s.who].WriteString(plain(s.text))
	}
	for i, s := range out {
		out[i].text = texts[s.who].String()
	}
	return out
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

// end takes away the pins that were kept or withdrawn: those that a chunk after them says
// are over. What a person has pinned is theirs.
func (sw *swap) end(fades []Fade) (note string) {
	var gone []string
	over := func(p mind.Pin) bool {
		return slices.ContainsFunc(fades, func(f Fade) bool {
			return p.From > 0 && p.From < f.From && slices.ContainsFunc(f.over, func(text string) bool { return same(p.Text, text) })
		})
	}
	sw.Pins = slices.DeleteFunc(sw.Pins, func(p mind.Pin) bool {
		if !over(p) {
			return false
		}
		gone = append(gone, blobs.Unescape(p.String()))
		return true
	})
	for i := range fades {
		fades[i].pins = slices.DeleteFunc(slices.Clone(fades[i].pins), over)
	}
	if len(gone) == 0 {
		return ""
	}
	return "No longer pinned, since kept or withdrawn:\n" + strings.Join(gone, "\n") + "\nIf one of them still holds, write it into self/MEMORY.md."
}

// same reports whether a text names a pin: one holds the other, or most of it.
func same(pin, text string) bool {
	if head, cut := strings.CutSuffix(pin, "…"); cut && len(head) > maxPin/2 {
		_, pin, _ = strings.Cut(head, ": ") // the text may have more, and no speaker
	}
	pin, text = plain(pin), plain(text)
	return pin != "" && strings.Contains(text, pin) || 2*len(text) > len(pin) && strings.Contains(pin, text)
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
