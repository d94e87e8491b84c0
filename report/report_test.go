package report

import (
	"strings"
	"testing"
)

// Everybody is listed once: also who is its own parent, or whose parent is gone.
func TestFamily(t *testing.T) {
	var list []Agent
	for _, line := range []string{"ada", "ada-1 ada", "bob gone", "eve eve", "eve-1 eve"} {
		name, parent, _ := strings.Cut(line, " ")
		a := Agent{Parent: parent}
		a.Name = name
		list = append([]Agent{a}, list...)
	}
	var names []string
	for _, a := range family(list) {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "eve eve-1 bob ada ada-1" {
		t.Error(got)
	}
}
