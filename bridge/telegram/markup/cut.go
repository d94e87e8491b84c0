package markup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// cut returns where the message that begins at pos ends; more than pos.
//
// If what follows does not fit, a code block that would be cut, but fits whole into a message of
// its own, is left to the next one if a quarter of this one is filled without it. One that has
// to be cut is cut between two lines, at best before one that is not indented.
func (s *splitter) cut(pos int) int {
	stop := s.reach(pos)
	if stop == len(s.text) {
		return stop
	}
	quarter := pos + (stop-pos)/4
	if p := s.block(stop); p != nil && p.start < stop {
		if p.start <= quarter || Units(s.text[p.start:p.end]) > s.limit {
			return s.cutCode(pos, stop, *p)
		}
		stop = p.start
	}
	if at := s.cutProse(pos, stop); at > pos {
		return at
	}
	return cluster(s.text, pos, stop)
}

// cutCode cuts a block of code at the end of a line.
func (s *splitter) cutCode(pos, stop int, p entity) int {
	low := max(pos, p.start)
	third := stop - (stop-low)/3
	last, flush := 0, 0
	for i := stop; i > low && flush == 0; i-- {
		if s.text[i] != '\n' || strings.IndexByte(blanks, s.text[i-1]) >= 0 {
			continue
		}
		if last == 0 {
			last = i
		}
		if i < third {
			break
		}
		if strings.IndexByte(" \n})]", s.text[i+1]) < 0 {
			flush = i
		}
	}
	switch {
	case flush > 0:
		return flush
	case last > 0:
		return last
	case p.start > pos+(stop-pos)/4:
		return p.start
	}
	return cluster(s.text, pos, stop)
}

// The places where prose may be cut, best first. Half and quarter say how much of the message
// is filled at least; a title is a heading, or a line that ends in a colon, and should not be
// the last line.
const (
	paragraphHalf = iota
	lineHalf
	paragraphQuarter
	lineQuarter
	sentenceHalf
	afterTitle
	space
	kinds
)

// cutProse returns the last place of the best kind between pos and stop, not in a code block; 0
// if there is none.
func (s *splitter) cutProse(pos, stop int) int {
	var best [kinds]int
	keep := func(kind, at int) {
		if best[kind] == 0 {
			best[kind] = at
		}
	}
	half, quarter := pos+(stop-pos)/2, pos+(stop-pos)/4
	for i := stop; i > pos; i-- {
		if p := s.block(i); p != nil && p.start < i {
			i = p.start + 1
			continue
		}
		at, before := s.text[i], s.text[i-1]
		if at != '\n' && at != ' ' || before == ' ' || before == '\n' {
			if i > half && endsSentence(s.text[pos:i], false) && !joined(s.text[pos:i], s.text[i:]) {
				keep(sentenceHalf, i)
			}
			continue
		}
		if at == ' ' && joined(" ", s.text[i+1:]) { // a mark stands on the space
			continue
		}
		keep(space, i)
		if at == ' ' {
			if i > half && endsSentence(s.text[pos:i], true) {
				keep(sentenceHalf, i)
			}
			continue
		}
		if s.title(pos, i) {
			if i > half {
				keep(afterTitle, i)
			}
			continue
		}
		paragraph := s.text[i+1] == '\n'
		switch {
		case i > half && paragraph:
			return i
		case i > half:
			keep(lineHalf, i)
		case i > quarter && paragraph:
			keep(paragraphQuarter, i)
		case i > quarter:
			keep(lineQuarter, i)
		}
	}
	i := slices.IndexFunc(best[:], func(at int) bool { return at > 0 })
	if i < 0 {
		return 0
	}
	return best[i]
}

// title says whether the line that ends at i belongs to what follows.
func (s *splitter) title(pos, i int) bool {
	start := pos + strings.LastIndexByte(s.text[pos:i], '\n') + 1
	line := s.text[start:i]
	if strings.HasSuffix(line, ":") {
		return true
	}
	start += len(line) - len(strings.TrimLeft(line, " "))
	at, _ := slices.BinarySearchFunc(s.spans, start, func(e entity, start int) int { return e.start - start })
	for ; at < len(s.spans) && s.spans[at].start == start; at++ {
		if s.spans[at].typ == models.MessageEntityTypeBold && s.spans[at].end >= i {
			return true
		}
	}
	return false
}

// endsSentence says whether a sentence ends where text does, which is before a space or, in
// scripts without spaces, anywhere.
func endsSentence(text string, spaced bool) bool {
	const closers = `"')”’»]`
	text = strings.TrimRight(text[max(0, len(text)-16):], closers)
	r, _ := utf8.DecodeLastRuneInString(text)
	if spaced {
		return strings.ContainsRune(".!?…", r) || strings.ContainsRune("。！？", r)
	}
	return strings.ContainsRune("。！？", r)
}

// cluster returns the last place at or before stop, but after pos, that divides no character as
// people see it; stop if there is none.
func cluster(text string, pos, stop int) int {
	for i := stop; i > pos; i-- {
		if utf8.RuneStart(text[i]) && !joined(text[pos:i], text[i:]) {
			return i
		}
	}
	return stop
}

const joiner = '\u200D'

// joined says whether the end of a and the start of b belong to one character: marks and
// variations follow their letter, a joiner joins, and flags are pairs of letters.
func joined(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	switch {
	case unicode.IsMark(first), first == joiner, last == joiner && first >= 0x80:
		return true
	case 0x1F3FB <= first && first <= 0x1F3FF, 0xE0020 <= first && first <= 0xE007F: // skin tones, tags
		return true
	case 0x1160 <= first && first <= 0x11FF: // vowels and finals of Hangul in parts
		return true
	case flag(first) && flag(last):
		n := 0
		for rest := a; flag(last); n++ {
			rest = rest[:len(rest)-utf8.RuneLen(last)]
			last, _ = utf8.DecodeLastRuneInString(rest)
		}
		return n%2 == 1
	}
	return false
}

// flag reports the letters that flags are written with.
func flag(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
