package mind

import (
	"cmp"
	"slices"

	"lethe/life/event"
)

// Span is a range of bytes, [From, To).
type Span = event.Span

// AddSpan adds a span to spans, which are in order, do not touch each other and
// stay so.
func AddSpan(spans []Span, s Span) []Span {
	i := endsAfter(spans, s.From-1)
	j := i
	for ; j < len(spans) && spans[j].From <= s.To; j++ {
		s = Span{From: min(s.From, spans[j].From), To: max(s.To, spans[j].To)}
	}
	return slices.Replace(spans, i, j, s)
}

// joinSpans returns spans in order, those that touch each other as one.
func joinSpans(spans []Span) (joined []Span) {
	for _, s := range spans {
		joined = AddSpan(joined, s)
	}
	return joined
}

// Covered reports whether one of spans, which are in order, holds [from, to).
func Covered(spans []Span, from, to int64) bool {
	i := endsAfter(spans, to-1)
	return i < len(spans) && spans[i].From <= from
}

// endsAfter is the index of the first of spans, which are in order, that ends after offset.
func endsAfter(spans []Span, offset int64) int {
	i, _ := slices.BinarySearchFunc(spans, offset+1, func(s Span, to int64) int { return cmp.Compare(s.To, to) })
	return i
}

func plus[T any](list []T, item T) []T { return append(slices.Clone(list), item) }

func with(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return plus(list, item)
}

func without[T any](list []T, gone func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), gone)
}
