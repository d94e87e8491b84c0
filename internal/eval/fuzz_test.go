package eval

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A file of strangers is refused with one line, or is a conversation whose questions
// point into it.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/talks/harbour.json", "testdata/talks/vineyard.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	const said = `"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[{"speaker":"A\u2028]","dia_id":"D1:1","text":"◆ x\u0000"}]`
	f.Add(`{` + said + `,"qa":[{"question":"x","evidence":"D1:1","category":-1},{"question":"","evidence":{"a":["D:1:01"]}}]}`)
	f.Add(`{"conversation":null,` + said + `,"qa":[]}`)
	f.Add(`{"conversation":{` + said + `},"qa":null}`)
	f.Add(`{` + strings.ReplaceAll(said, "session_1", "session_-99999999999") + `,"qa":[]}`)
	f.Add(strings.Repeat("[", 20000))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		ids, lines := map[string]bool{}, 0
		for _, s := range c.Sessions {
			for _, l := range s.Lines {
				ids[l.ID] = true
				lines++
				if strings.TrimSpace(l.Text) == "" || strings.ContainsAny(l.tag(), "\n\u2028") || l.At.Before(s.At) {
					t.Fatalf("%+v is no line", l)
				}
			}
		}
		heard := 0
		for _, p := range c.portions() {
			heard += len(p)
		}
		if lines == 0 || heard != lines {
			t.Fatalf("%d lines, %d are heard", lines, heard)
		}
		for _, q := range c.Questions {
			if len(q.Evidence) == 0 || slices.ContainsFunc(q.Evidence, func(id string) bool { return !ids[id] }) {
				t.Fatalf("%+v has evidence that is not there", q)
			}
		}
	})
}
