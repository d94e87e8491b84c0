// Package lazy makes what a program may never use when it is used first, so that its start need not.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is regexp.MustCompile at the first call.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
