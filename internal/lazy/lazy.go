// Package lazy makes what a program may never use when it is used first, so that its start need not.
package lazy

import (
	"regexp"
	"sync"
	"text/template"
)

// Regexp is regexp.MustCompile at the first call.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Template is template.Must of a text and its functions at the first call.
func Template(text string, funcs template.FuncMap) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Funcs(funcs).Parse(text))
	})
}
