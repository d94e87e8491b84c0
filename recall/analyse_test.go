package recall

import (
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// monday is what "now" is in these tests.
var monday = time.Date(2023, 10, 23, 15, 0, 0, 0, time.UTC)

func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"running": "run", "went": "go", "goes": "go", "children": "child", "studies": "studi", "studied": "studi",
		"happiness": "happi", "organization": "organ", "hopefully": "hope", "national": "nation", "agreed": "agre",
		"ties": "tie", "cries": "cri", "gas": "gas", "us": "us", "skies": "sky", "dying": "die", "news": "news",
		"proceeds": "proceed", "hopping": "hop", "hoping": "hope", "relational": "relat", "generously": "generous",
		"communication": "communic", "say": "say", "by": "by", "enjoying": "enjoy", "electricity": "electr", "control": "control",
		"ürün": "ürün", "7431": "7431", "x": "x", "": "", "бегущий": "бегущ", "медового": "медов", "медовый": "медов", "пирога": "пирог", "пирог": "пирог", "київ": "київ",
	} {
		if got := stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
	if long := strings.Repeat("ab", 100); stem(long) != long {
		t.Error("what is too long to be a word was stemmed")
	}
}

// Stems are in every index, so a stemmer that makes others needs another
// schemaVersion: this is what a thousand words come to with version 2.
func TestStemsOfThisVersion(t *testing.T) {
	sum := crc32.NewIEEE()
	for root := range strings.FieldsSeq("happ general commun arsen hop ski agree nation relat control electr organi sens depend ros stud y skat proceed inn") {
		for end := range strings.FieldsSeq("s es ies ied y ly e ed eed eedly edly ing ingly er ers or al ally alism ality alize ization izer ational ation ative ator ant ance ancy " +
			"ent ence ency ently ment ement able ably ability ible ic ical icate icity ion ism ist ity ive iveness ivity ous ously ousness ful fully fulness ness less lessly logy") {
			io.WriteString(sum, stem(root+end)+" ")
		}
	}
	if got := sum.Sum32(); got != 0x644749c1 || schemaVersion != 2 {
		t.Errorf("the stems of version %d come to %#x", schemaVersion, got)
	}
}

func TestStemOfAStem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,64}`).Draw(t, "word")
		got := stem(word)
		if got == "" || len(got) > len(word)+1 {
			t.Fatalf("stem(%q) = %q", word, got)
		}
	})
}

func TestPeriods(t *testing.T) {
	for text, want := range map[string]string{
		"what did she do on 8 May 2023?":     "2023-05-08 2023-05-09",
		"on May 8th, 2023 he left":           "2023-05-08 2023-05-09",
		"the 3rd of June":                    "2023-06-03 2023-06-04",
		"on 24 December":                     "2022-12-24 2022-12-25",
		"the log of 2023-07-15":              "2023-07-15 2023-07-16",
		"in May":                             "2023-05-01 2023-06-01",
		"in december":                        "2022-12-01 2023-01-01",
		"what happened in June 2022":         "2022-06-01 2022-07-01",
		"in 2021":                            "2021-01-01 2022-01-01",
		"what did we say yesterday":          "2023-10-22 2023-10-23",
		"last week":                          "2023-10-16 2023-10-23",
		"last weekend":                       "2023-10-21 2023-10-23",
		"this month":                         "2023-10-01 2023-11-01",
		"last year":                          "2022-01-01 2023-01-01",
		"three days ago":                     "2023-10-20 2023-10-21",
		"two weeks ago":                      "2023-10-06 2023-10-13",
		"on Friday":                          "2023-10-20 2023-10-21",
		"last Monday":                        "2023-10-16 2023-10-17",
		"between 1 May 2023 and 2 June 2023": "2023-05-01 2023-05-02, 2023-06-02 2023-06-03",
		"you may march on":                   "",
		"may I ask what this is":             "",
		"on 45 May 2023":                     "2023-05-01 2023-06-01",
		"version 2023 of it":                 "",
		"1024-13-77":                         "",
	} {
		var got []string
		for _, p := range periods(text, monday) {
			got = append(got, p.since.Format(time.DateOnly)+" "+p.until.Format(time.DateOnly))
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}

// What happened is told when it happens and in the weeks after it, less and less.
func TestPeriodFits(t *testing.T) {
	p := periods("on 8 May 2023", monday)[0]
	at := func(day int) float64 { return p.fit(time.Date(2023, 5, day, 12, 0, 0, 0, time.UTC)) }
	if at(8) != 1 || at(10) <= at(15) || at(15) <= 0 || at(30) != 0 || at(5) <= 0 || at(5) >= at(10) || p.fit(time.Time{}) != 0 {
		t.Errorf("fits: %v %v %v %v %v", at(8), at(10), at(15), at(30), at(5))
	}
	since, until := analyse("on 8 May 2023", monday).span()
	if !since.Before(p.since) || !until.After(p.until) {
		t.Errorf("the span is %v to %v", since, until)
	}
}

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
		"what is it":                                        "what is it",
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

func TestAnalyseWeighs(t *testing.T) {
	q := analyse("Thanks! What kids recently read append_test.go?", monday)
	for _, want := range []struct {
		stem    string
		weight  float64
		telling bool
	}{{"thank", lightWeight, false}, {"kid", 1, true}, {"recent", lightWeight, true}, {"append_test.go", 1, true}, {"append", pieceWeight, true}} {
		i := slices.Index(stems(q), want.stem)
		if i < 0 || q.terms[i].weight != want.weight || q.terms[i].telling != want.telling {
			t.Errorf("%s: %+v", want.stem, q.terms)
		}
	}
	words := q.words()
	child := slices.IndexFunc(words, func(w weighted) bool { return w.stem == "child" })
	if child < len(q.terms) || words[child].weight != variantWeight {
		t.Errorf("another word for kids is not looked up after all others: %v", words)
	}
	if !slices.ContainsFunc(q.terms, func(t term) bool { return t.text == "append_test.go" && t.weight == 1 }) {
		t.Errorf("the whole identifier is not looked for: %v", q.terms)
	}
}

// A long text is in clauses, so that one sentence of it can be what a hint is for.
func TestAnalyseClauses(t *testing.T) {
	one := analyse("the lighthouse keeper's code", monday)
	if one.clauses != 1 || one.terms[0].clauses != 1 {
		t.Errorf("one sentence: %+v", one)
	}
	q := analyse("The ferry leaves the harbour before sunrise every Sunday. Our cook bakes bread, fish pie and plum cake. The lighthouse code is secret.", monday)
	if q.clauses != 2 {
		t.Fatalf("%d clauses: %+v", q.clauses, q.terms)
	}
	in := func(stem string) uint64 { return q.terms[slices.Index(stems(q), stem)].clauses }
	if in("ferri") != 1 || in("plum") != 2 || in("lighthous") != 2 {
		t.Errorf("clauses: %b %b %b", in("ferri"), in("plum"), in("lighthous"))
	}
	if q := analyse(strings.Repeat("Alpha beta gamma delta epsilon zeta. Eta theta iota kappa lambda mu. ", 200), monday); q.clauses > maxClauses {
		t.Errorf("%d clauses", q.clauses)
	}
}

func TestAnalyseAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zA-Z0-9_/.' -]{0,12}[.?! 中日한ไ]){0,40}`)).Draw(t, "text")
		q := analyse(text, monday)
		have := map[string]bool{}
		for _, term := range q.terms {
			if term.stem == "" || have[term.stem] || term.weight <= 0 || term.clauses == 0 || term.clauses>>q.clauses != 0 || term.of > len(q.terms) {
				t.Fatalf("%q: %+v of %d clauses", text, term, q.clauses)
			}
			have[term.stem] = true
		}
		if q.empty() != (len(q.terms) == 0 && len(q.periods) == 0) {
			t.Fatal("empty is something else")
		}
	})
}
