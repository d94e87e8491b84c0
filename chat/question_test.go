package chat

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func TestPageQuestion(t *testing.T) {
	lines := strings.Split(strings.ReplaceAll(page(t, "question"), "␤", "\u2028"), "\n")
	asked := Parse([]byte(lines[0]))
	q, ok := ParseQuestion(asked.Text)
	want := Question{ID: "q3fa9c1", Text: "The tests pass. Deploy to production?", Options: []string{"yes", "after lunch"},
		For: []string{"bob", "carol"}, Until: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	if !ok || !reflect.DeepEqual(q, want) || q.String() != asked.Text {
		t.Errorf("the page's question is %+v, want %+v; written %q", q, want, q)
	}
	if choice, cited, ok := q.Answer(Parse([]byte(lines[1])).Text); choice != "after lunch" || !cited || !ok {
		t.Errorf("the page's answer is %q, %v, %v", choice, cited, ok)
	}
	for _, tt := range []struct {
		name string
		q    Question
		may  bool
	}{{"bob", q, true}, {"ada", q, false}, {"ada", Question{}, true}, {"bob", Question{}, false}, {"Ada", Question{}, false},
		{"Bob", q, true}, {Unknown, Question{For: []string{Unknown}}, false}} {
		if tt.q.MayAnswer(tt.name, []string{"ada"}) != tt.may {
			t.Errorf("%s may answer %+v: want %v", tt.name, tt.q, tt.may)
		}
	}
}

func TestAnswer(t *testing.T) {
	choose := Question{ID: "q3fa9c1", Options: []string{"yes", "no way", "3", "Ja!"}}
	open := Question{ID: "q3fa9c1"}
	no := Question{ID: "q3fa9c1", Options: []string{"yes", "No"}}
	free := Question{ID: "q3fa9c1", Options: []string{"amber", "blue", "other…"}}
	for _, tt := range []struct {
		q         Question
		text      string
		choice    string
		cited, ok bool
	}{
		{choose, "q3fa9c1 yes", "yes", true, true},
		{choose, " Q3FA9C1:  YES. ", "yes", true, true},
		{choose, "1", "yes", false, true},
		{choose, "2)", "no way", false, true},
		{choose, "no  WAY", "no way", false, true},
		{choose, "3", "3", false, true},
		{choose, "4", "Ja!", false, true},
		{choose, "ja!", "Ja!", false, true},
		{choose, "5", "", false, false},
		{choose, "yes please", "", false, false},
		{choose, "q3fa9c1 maybe", "", true, false},
		{choose, "q3fa9c1", "", true, false},
		{choose, "q000000 yes", "", false, false},
		{choose, "", "", false, false},
		{no, "No, wait: keep it, I changed my mind.", "No", false, true},
		{no, "q3fa9c1: no!! not that one", "No", true, true},
		{no, "NO", "No", false, true},
		{no, "no—never", "No", false, true},
		{no, "No-one knows", "", false, false},
		{no, "nope", "", false, false},
		{no, "now", "", false, false},
		{no, "yes, but no", "", false, false},
		{no, "I say no", "", false, false},
		{free, "amber", "amber", false, true},
		{free, "amber, but only for act one", "", false, true},
		{free, "q3fa9c1 no, teal", "", true, true},
		{free, "other…", "other…", false, true},
		{free, " ", "", false, false},
		{open, "because\nof this", "", false, true},
		{open, "q3fa9c1\u2028because", "", true, true},
		{open, "q3fa9c1 ", "", true, false},
		{open, "q3fa9c2 because", "", false, false},
		{open, " ", "", false, false},
	} {
		if choice, cited, ok := tt.q.Answer(tt.text); choice != tt.choice || cited != tt.cited || ok != tt.ok {
			t.Errorf("%q: %q, %v, %v; want %q, %v, %v", tt.text, choice, cited, ok, tt.choice, tt.cited, tt.ok)
		}
	}
}

func TestNoQuestion(t *testing.T) {
	for _, text := range []string{"", "hello", "? q", "? q3fa9c: x", "q3fa9c1 yes", "? Q3FA9C1: x", "so ? q3fa9c1: x",
		"? q3fa9c1: ", "? q3fa9c1: x\n2) y", "? q3fa9c1: x\nuntil: noon", "? q3fa9c1: x\n1) a\nb"} {
		if q, ok := ParseQuestion(text); ok {
			t.Errorf("%q is %+v", text, q)
		}
	}
	q := Question{ID: "q3fa9c1", Text: " Which?\r\n1) this one?\nfor: me\nuntil: then\n", Options: []string{"a  b"}}
	back, ok := ParseQuestion(q.String())
	if !ok || back.Text != "Which?\n 1) this one?\n for: me\n until: then" || back.Options[0] != "a b" || back.For != nil {
		t.Errorf("%q reads %+v, %v", q, back, ok)
	}
}

// What reads as a question is written as the same line again, and no other text can be made one.
func FuzzQuestion(f *testing.F) {
	for _, s := range append(hostileTexts, "? q3fa9c1: a\n1) b\n2) c\nfor: d e\nuntil: 2026-11-20T12:57:16+01:00",
		"? q3fa9c1: a\n 1) b\n\n1) ") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if line, err := Format(true, "ada", time.Unix(0, 0), NoQuestion(text)); err == nil {
			if q, ok := ParseQuestion(Parse(line).Text); ok {
				t.Fatalf("%q is still the question %+v", text, q)
			}
		}
		q, ok := ParseQuestion(text)
		if !ok {
			return
		}
		line, err := Format(true, "ada", time.Unix(0, 0), q.String())
		lethetest.Must(t, err)
		again, ok := ParseQuestion(Parse(line).Text)
		line, err = Format(true, "ada", time.Unix(0, 0), again.String())
		lethetest.Must(t, err)
		if !ok || again.ID != q.ID || again.String() != Parse(line).Text || len(again.Options) != len(q.Options) {
			t.Fatalf("%q is %+v, then %+v, %v", text, q, again, ok)
		}
	})
}
