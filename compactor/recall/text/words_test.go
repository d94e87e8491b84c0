package text_test

import (
	"hash/crc32"
	"io"
	textpkg "lethe/compactor/recall/text"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"running": "run", "went": "go", "goes": "go", "children": "child", "studies": "studi", "studied": "studi",
		"happiness": "happi", "organization": "organ", "hopefully": "hope", "national": "nation", "agreed": "agre",
		"ties": "tie", "cries": "cri", "gas": "gas", "us": "us", "skies": "sky", "dying": "die", "news": "news",
		"proceeds": "proceed", "hopping": "hop", "hoping": "hope", "relational": "relat", "generously": "generous",
		"communication": "communic", "say": "say", "by": "by", "enjoying": "enjoy", "electricity": "electr", "control": "control",
		"ürün": "ürün", "7431": "7431", "x": "x", "": "", "бегущий": "бегущ", "медового": "медов",
		"медовый": "медов",
		"пирога":  "пирог", "пирог": "пирог", "київ": "київ",
	} {
		if got := textpkg.Stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
	if long := strings.Repeat("ab", 100); textpkg.Stem(long) != long {
		t.Error("what is too long to be a word was stemmed")
	}
}

// Stems are in every index, so a stemmer that makes others needs another version of
// it: this is what a thousand words come to.
func TestStemsAreThoseOfTheIndex(t *testing.T) {
	sum := crc32.NewIEEE()
	for root := range strings.FieldsSeq("happ general commun arsen hop ski agree nation relat control electr organi sens " +
		"depend ros stud y skat proceed inn") {
		for end := range strings.FieldsSeq("s es ies ied y ly e ed eed eedly edly ing ingly er ers or al ally alism ality alize " +
			"ization izer ational ation ative ator ant ance ancy " +
			"ent ence ency ently ment ement able ably ability ible ic ical icate icity ion ism ist ity ive iveness ivity ous ously " +
			"ousness ful fully fulness ness less lessly logy") {
			io.WriteString(sum, textpkg.Stem(root+end)+" ")
		}
	}
	if got := sum.Sum32(); got != 0x644749c1 {
		t.Errorf("the stems come to %#x: give package index another version", got)
	}
}

// monday is what "now" is in these tests.
var monday = time.Date(2023, 10, 23, 15, 0, 0, 0, time.UTC)

func TestPeriods(t *testing.T) {
	for text, want := range map[string]string{
		"what did she do on 8 May 2023?":      "2023-05-08 2023-05-09",
		"on May 8th, 2023 he left":            "2023-05-08 2023-05-09",
		"the 3rd of June":                     "2023-06-03 2023-06-04",
		"on 24 December":                      "2022-12-24 2022-12-25",
		"the log of 2023-07-15":               "2023-07-15 2023-07-16",
		"in May":                              "2023-05-01 2023-06-01",
		"in december":                         "2022-12-01 2023-01-01",
		"what happened in June 2022":          "2022-06-01 2022-07-01",
		"in 2021":                             "2021-01-01 2022-01-01",
		"between 1 May 2023 and 2 June 2023":  "2023-05-01 2023-05-02, 2023-06-02 2023-06-03",
		"early March, mid-April, Yesterday":   "2023-03-01 2023-04-01, 2023-04-01 2023-05-01, 2023-10-22 2023-10-23",
		"Three days ago, or a week ago":       "2023-10-16 2023-10-17, 2023-10-20 2023-10-21",
		"last Monday, and last tuesday":       "2023-10-16 2023-10-17, 2023-10-17 2023-10-18",
		"this morning, or 60 days ago":        "2023-08-24 2023-08-25, 2023-10-23 2023-10-24",
		"at last, 5 days on; a long time ago": "",
		"you may march on":                    "",
		"may I ask what this is":              "",
		"this may take long, but june":        "",
		"late in May 2022":                    "2022-05-01 2022-06-01",
		"on 21.01.2023 or 3.2.2023":           "2023-01-21 2023-01-22, 2023-02-03 2023-02-04",
		"on 31 June, or 30.02.2023":           "",
		"31 June 2022":                        "2022-06-01 2022-07-01",
		"the 29th of February":                "2020-02-29 2020-03-01",
		"version 1.2.2.2023 of 10.10.10":      "",
		"on 45 May 2023":                      "2023-05-01 2023-06-01",
		"version 2023 of it":                  "",
		"1024-13-77":                          "",
	} {
		var got []string
		for _, p := range textpkg.Periods(text, monday) {
			got = append(got, p.Since.Format(time.DateOnly)+" "+p.Until.Format(time.DateOnly))
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}
