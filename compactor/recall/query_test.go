package recall

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// monday is what "now" is in these tests.
var monday = time.Date(2023, 10, 23, 15, 0, 0, 0, time.UTC)

func stems(q query) []string {
	var out []string
	for _, t := range q.terms {
		out = append(out, t.stem)
	}
	return out
}

func TestAnalyse(t *testing.T) {
	for text, want := range map[string]string{
		"What did Caroline's children recently paint?":      "carolin child recent paint",
		"the deadlock in internal/durable/append.go":        "deadlock internal/durable/append.go intern durabl append go",
		"What happened on 8 May 2023?":                      "happen 2023-05-08 --05-08",
		"2023/05/08 or May 8th":                             "2023-05-08 --05-08",
		"What happened in June 2022?":                       "happen june 2022",
		"what is it":                                        "",
		`"NEAR(foo* OR bar)" AND NOT -baz:`:                 "near foo bar baz",
		"ECONNREFUSED in appendToFile":                      "econnrefus appendtofil append file",
		"灯台の暗証番号":                                           "灯台 灯 台の 台 の暗 暗証 暗 証番 証 番号 番 号",
		"What did you do last week?":                        "last week",
		"?!":                                                "",
		"Where did John go? John went to the lake, did he?": "john go lake",
	} {
		got := stems(analyse(text, monday))
		slices.Sort(got)
		words := strings.Fields(want)
		slices.Sort(words)
		if !slices.Equal(got, words) {
			t.Errorf("%q: %q, want %q", text, got, words)
		}
	}
}

// What stands for a time or for its parts.
func TestAnalyseMarks(t *testing.T) {
	q := analyse("5 x lantern append_test.go on 8 May 2023", monday)
	for _, want := range []term{
		{text: "5", stem: "5"}, {text: "lantern", stem: "lantern", spelt: true},
		{text: "append_test.go", stem: "append_test.go", parts: true, spelt: true}, {text: "2023-05-08", stem: "2023-05-08", dated: true},
	} {
		if !slices.Contains(q.terms, want) {
			t.Errorf("%+v is not in %+v", want, q.terms)
		}
	}
}
