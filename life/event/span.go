package event

import (
	"cmp"
	"slices"
)

// AddSpan adds a span to spans, which are in order and do not touch each other. The
// result is so, too.
func AddSpan(spans []Span, added Span) []Span {
	first := endsAfter(spans, added.From-1)
	behind := first
	for ; behind < len(spans) && spans[behind].From <= added.To; behind++ {
		added = Span{From: min(added.From, spans[behind].From), To: max(added.To, spans[behind].To)}
	}
	return append(spans[:first], append([]Span{added}, spans[behind:]...)...)
}

// JoinSpans returns spans in order, and joins spans that touch each other.
func JoinSpans(spans []Span) (joined []Span) {
	for _, span := range spans {
		joined = AddSpan(joined, span)
	}
	return joined
}

// Covered reports whether one of spans, which are in order, holds [from, to).
func Covered(spans []Span, from, to int64) bool {
	at := endsAfter(spans, to-1)
	return at < len(spans) && spans[at].From <= from
}

// SpansAfter returns those of spans, which are in order, that end after offset.
func SpansAfter(spans []Span, offset int64) []Span { return spans[endsAfter(spans, offset):] }

// endsAfter returns the index of the first span that ends after offset. spans are in order.
func endsAfter(spans []Span, offset int64) int {
	at, _ := slices.BinarySearchFunc(spans, offset+1, func(span Span, to int64) int { return cmp.Compare(span.To, to) })
	return at
}
