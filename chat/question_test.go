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
	grant := Question{ID: "q3fa9c1", Options: []string{"once", "always", "no"}}
	free := Question{ID: "q3fa9c1", Options: []string{"amber", "blue", "other…"}}
	for _, tt := range []struct {
		q          Question
		text, want string
	}{
		{choose, "q3fa9c1 yes", "cited answer yes"},
		{choose, " Q3FA9C1:  YES. ", "cited answer yes"},
		{choose, "1", "answer yes"},
		{choose, "2)", "answer no way"},
		{choose, "no  WAY", "answer no way"},
		{choose, "3", "answer 3"},
		{choose, "4", "answer Ja!"},
		{choose, "ja!", "answer Ja!"},
		{choose, "5", ""},
		{choose, "yes please", ""},
		{choose, "q3fa9c1 maybe", "cited"},
		{choose, "q3fa9c1", "cited"},
		{choose, "q000000 yes", ""},
		{choose, "", ""},
		{no, "No, wait: keep it, I changed my mind.", "answer No"},
		{no, "q3fa9c1: no!! not that one", "cited answer No"},
		{no, "NO", "answer No"},
		{no, "no—never", "answer No"},
		{no, "No-one knows", ""},
		{no, "nope", ""},
		{no, "now", ""},
		{no, "yes, but no", ""},
		{no, "I say no", ""},
		{grant, "q3fa9c1 yes", "cited answer once"},
		{grant, "Yes!", "answer once"},
		{grant, "always", "answer always"},
		{grant, "yes, always", ""},
		{grant, "Yes, once.", "answer once"},
		{free, "amber", "answer amber"},
		{free, "amber, but only for act one", "answer"},
		{free, "q3fa9c1 no, teal", "cited answer"},
		{free, "other…", "answer other…"},
		{free, " ", ""},
		{open, "because\nof this", "answer"},
		{open, "q3fa9c1\u2028because", "cited answer"},
		{open, "q3fa9c1 ", "cited"},
		{open, "q3fa9c2 because", ""},
		{open, " ", ""},
	} {
		choice, cited, ok := tt.q.Answer(tt.text)
		got := map[bool]string{true: "cited "}[cited] + map[bool]string{true: "answer "}[ok] + choice
		if strings.TrimSpace(got) != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
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
