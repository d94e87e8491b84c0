// Package pattern has regular expressions that are compiled when they are first used: a start compiles few.
//
//	var word = pattern.Lazy(`\pL+`)
//	word().FindString(text)
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that returns a regular expression. Its first call compiles it, and panics if it is none. It is
// not inlined, which would give the program three functions for each expression.
//
//go:noinline
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
