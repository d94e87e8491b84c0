package status

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"
	"time"
)

//go:embed said.txt
var saidText string

var saidAnswer = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{"since": time.Since}
	return template.Must(template.New("").Funcs(funcs).Parse(saidText))
})

// Said is the status in words, for a room: of an identity that is asleep until somebody acts, or busy. cost is what it has
// cost, in words.
func (s Status) Said(asleep, busy bool, cost string, now time.Time) string {
	said := struct {
		Status
		Asleep, Busy bool
		Cost         string
		More         []string
	}{s, asleep, busy, cost, append(s.Brief(now), s.Trouble...)}
	var line strings.Builder
	_ = saidAnswer().Execute(&line, said) // its fields are there
	return line.String()
}
