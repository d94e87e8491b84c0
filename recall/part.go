package recall

import (
	"strings"
	"time"
)

// part is a section of a candidate as it is ranked and shown: what says something
// of its own, and is what a query is limited to.
type part struct {
	section            // its bytes are those of the candidate's body
	messages []message // of inbound
}

// fitting is what of an original a query is limited to.
type fitting struct {
	parts       []part
	all         bool      // nothing was left out for not fitting
	first, last time.Time // when it was said; zero in an original without times
}

// parts are the sections of an original as far as they fit, and of these what lies
// in a cut of its body. first is when the first line with a tag was said: what has
// no time of its own has that of the line before it.
func (q Query) parts(body string, list []section, cut span, first time.Time) fitting {
	out := fitting{all: true}
	at := first
	fits := func(s section) bool {
		if !q.fitsSection(s) || !q.fitsTime(at) {
			out.all = false
			return false
		}
		if out.first.IsZero() || at.Before(out.first) {
			out.first = at
		}
		if at.After(out.last) {
			out.last = at
		}
		return true
	}
	for _, s := range list {
		p := part{section: s}
		if s.silent(body) || s.kind != "inbound" && !fits(s) {
			continue
		}
		if s.kind == "inbound" {
			for _, m := range s.messages(body) {
				if !m.at.IsZero() {
					at = m.at
				}
				if fits(s) {
					p.messages = append(p.messages, m)
				}
			}
		}
		if p, ok := p.clip(cut); ok {
			out.parts = append(out.parts, p)
		}
	}
	return out
}

// fitsSection reports whether a section is what a query is limited to. A room is
// where something was heard and a tool what was called: beside a kind, each limits
// only what has one.
func (q Query) fitsSection(s section) bool {
	kind := kinds[s.kind]
	room := kind == "chat" && s.room == q.Room
	tool := kind == "tool" && strings.EqualFold(s.tool, q.Tool)
	switch {
	case q.Kind == "" && (q.Room != "" || q.Tool != ""):
		return q.Room != "" && room || q.Tool != "" && tool
	case q.Kind == "":
		return true
	}
	return q.Kind == kind && (kind != "chat" || q.Room == "" || room) && (kind != "tool" || q.Tool == "" || tool)
}

// fitsTime reports whether something that was said then is what a query is limited
// to. What has no time, in an original without any, is as old as that.
func (q Query) fitsTime(at time.Time) bool {
	return at.IsZero() || (q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || !at.After(q.Until))
}

// clip is what of a part lies in a cut, and where in it.
func (p part) clip(cut span) (part, bool) {
	in := func(from, to int) (int, int, bool) {
		a, b := max(from, cut.from), min(to, cut.to)
		return a - cut.from, b - cut.from, a < b || a == b && from == to
	}
	var ok bool
	if p.from, p.to, ok = in(p.from, p.to); !ok {
		return p, false
	}
	kept := p.messages[:0]
	for _, m := range p.messages {
		if m.from, m.to, ok = in(m.from, m.to); ok {
			kept = append(kept, m)
		}
	}
	p.messages = kept
	return p, p.kind != "inbound" || len(kept) > 0
}
