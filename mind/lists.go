package mind

import (
	"slices"

	"lethe/life/event"
)

// Span is a range of bytes, [From, To).
type Span = event.Span

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
