package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// splitter cuts a doc into messages, from front to back.
type splitter struct {
	doc
	limit int      // units of a message
	pres  []entity // the code blocks of the doc
	next  int      // first span that begins in none of the messages so far
	carry []entity // spans that began in one and go on
}

// split returns d as messages.
func split(d doc, limit int) []Message {
	if limit <= 0 || limit > Limit {
		limit = Limit
	}
	s := &splitter{doc: d, limit: max(limit, 2)} // a surrogate pair has to fit
	s.text = strings.TrimRight(s.text, blanks)
	for _, e := range d.spans {
		if e.typ == models.MessageEntityTypePre {
			s.pres = append(s.pres, e)
		}
	}
	var out []Message
	for pos := s.skip(0); pos < len(s.text); {
		cut := s.cut(pos)
		if m := s.message(pos, cut); !blank(m.Text) {
			out = append(out, m)
		}
		pos = s.skip(cut)
	}
	return out
}

// skip returns where a message begins that begins at or behind pos: not at white space, which
// Telegram would remove, unless it is the indentation of code.
func (s *splitter) skip(pos int) int {
	rest := strings.TrimLeft(s.text[pos:], blanks)
	start := len(s.text) - len(rest)
	line := strings.LastIndexByte(s.text[pos:start], '\n') + 1 + pos
	if p := s.block(start); p != nil && p.start < start {
		return max(line, p.start)
	}
	return start
}

// block returns the code block that text[pos] is part of, or nil.
func (s *splitter) block(pos int) *entity {
	i, _ := slices.BinarySearchFunc(s.pres, pos, func(e entity, pos int) int {
		if e.end <= pos {
			return -1
		}
		return 1
	})
	if i < len(s.pres) && s.pres[i].start <= pos {
		return &s.pres[i]
	}
	return nil
}

// reach returns how far a message that begins at pos can go: as many units and entities as one
// may have.
func (s *splitter) reach(pos int) int {
	stop, units := pos, 0
	for stop < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[stop:])
		if units += runeUnits(r); units > s.limit {
			break
		}
		stop += size
	}
	w := weight{}
	for _, e := range s.carry {
		w.add(pos, e)
	}
	for _, e := range s.spans[s.next:] {
		if e.start >= stop {
			break
		}
		if w.add(e.start, e); w.n > MaxEntities {
			return e.start
		}
	}
	return stop
}

// weight counts entities as the server does, which keeps none inside a style: where one begins,
// the styles around it are cut in two.
type weight struct {
	n    int
	open []entity // styles, each from its last cut
}

func (w *weight) add(at int, e entity) {
	w.n++
	if classes[e.typ] != styling {
		return
	}
	w.open = slices.DeleteFunc(w.open, func(o entity) bool { return o.end <= at })
	for i := range w.open {
		if w.open[i].start < at {
			w.open[i].start = at
			w.n++
		}
	}
	w.open = append(w.open, entity{start: at, end: e.end})
}

// message makes text[pos:cut] a message, with the entities that are part of it.
func (s *splitter) message(pos, cut int) Message {
	for s.next < len(s.spans) && s.spans[s.next].start < cut {
		s.carry = append(s.carry, s.spans[s.next])
		s.next++
	}
	stop := pos + len(strings.TrimRight(s.text[pos:cut], blanks))
	m := Message{Text: s.text[pos:stop]}
	var code []int // where code begins, in bytes of m.Text
	from, units := pos, 0
	for _, e := range s.carry {
		if e = s.clip(e, pos, stop); e.start >= e.end {
			continue
		}
		if e.start > from {
			units += Units(s.text[from:e.start])
			from = e.start
		}
		out := models.MessageEntity{
			Type:   e.typ,
			Offset: units - Units(s.text[e.start:from]),
			Length: Units(s.text[e.start:e.end]),
		}
		switch e.typ {
		case models.MessageEntityTypeTextLink:
			out.URL = e.arg
		case models.MessageEntityTypePre:
			out.Language = e.arg
			code = append(code, e.start-pos)
		}
		m.Entities = append(m.Entities, out)
	}
	m.Text = hold(m.Text, code)
	slices.SortStableFunc(m.Entities, order)
	s.carry = slices.DeleteFunc(s.carry, func(e entity) bool { return e.end <= cut })
	return m
}

// clip returns the part of e in text[pos:stop], trimmed. A quotation that begins with a code block
// begins where that does, at its indentation.
func (s *splitter) clip(e entity, pos, stop int) entity {
	e.start, e.end = max(e.start, pos), min(e.end, stop)
	e = e.trim(s.text)
	if classes[e.typ] == quoting && e.start < e.end {
		if p := s.block(e.start); p != nil {
			e.start = min(e.start, s.clip(*p, pos, stop).start)
		}
	}
	return e
}

// hold makes the spaces at each of the given places no-break spaces: Telegram would move the
// beginning of a code block behind them, and the first line would lose its indentation.
func hold(text string, places []int) string {
	var b strings.Builder
	from := 0
	for _, p := range places {
		b.WriteString(text[from:p])
		for from = p; from < len(text) && text[from] == ' '; from++ {
			b.WriteRune('\u00A0')
		}
	}
	b.WriteString(text[from:])
	return b.String()
}
