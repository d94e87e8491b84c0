package eval_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/cmd/lab/eval"
	"lethe/internal/test/lethetest"
)

func TestLoad(t *testing.T) {
	talks, err := eval.Load("testdata/talks")
	lethetest.Must(t, err)
	if len(talks) != 2 || talks[0].Name != "harbour" || talks[1].Name != "vineyard" {
		t.Fatalf("%+v", talks)
	}
	c := talks[0]
	if len(c.Lines) != 30 || len(c.Questions) != 5 || c.Skipped != 3 {
		t.Errorf("%d lines, %d questions, %d skipped", len(c.Lines), len(c.Questions), c.Skipped)
	}
	if got := strings.Join(c.Questions[1].Evidence, " "); got != "D1:8 D1:9" { // in one string
		t.Errorf("evidence: %s", got)
	}
	l := c.Lines[slices.IndexFunc(c.Lines, func(l eval.Line) bool { return l.ID == "D2:3" })]
	if want := time.Date(2024, 4, 21, 18, 41, 0, 0, time.UTC); l.ID != "D2:3" || l.Speaker != "Tomas" || !l.At.Equal(want) {
		t.Errorf("%+v", l)
	}
}

// The data set names evidence in odd ways.
func TestEvidence(t *testing.T) {
	const text = `{"conversation": {"session_1": [{"speaker": "a", "dia_id": "D1:1", "text": "x"}, {"speaker": "a", ` +
		`"dia_id": "D1:12", "text": "y"}],
		"session_1_date_time": "1:56 pm on 8 May, 2023"}, "qa": [{"question": "q", "category": 1, "evidence": %s}]}`
	for evidence, want := range map[string]string{
		`["D1:1"]`: "D1:1", `["D1:1; D1:12"]`: "D1:1 D1:12", `["D:1:12"]`: "D1:12", `["D01:012", "D1:12"]`: "D1:12", `"D1:1 D1:12"`: "D1:1 D1:12",
		`["D"]`: "", `[]`: "", `null`: "", `["D9:1"]`: "", `[["D1:1"]]`: "D1:1", `[1, {"a": "D1:12"}]`: "D1:12",
	} {
		c, err := eval.Parse(fmt.Appendf(nil, text, evidence))
		lethetest.Must(t, err)
		got := ""
		for _, q := range c.Questions {
			got = strings.Join(q.Evidence, " ")
		}
		if got != want || c.Skipped+len(c.Questions) != 1 {
			t.Errorf("%s: %q, want %q", evidence, got, want)
		}
	}
}

// What is no conversation is refused in one line that says which and where.
func TestLoadRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	if _, err := eval.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := eval.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no *.json in ") {
		t.Errorf("an empty directory: %v", err)
	}
	session := `"session_1": [{"speaker": "a", "dia_id": "D1:1", "text": "hi"}]`
	when := `, "session_1_date_time": "1:56 pm on 8 May, 2023"`
	for text, want := range map[string]string{
		``:                         "a.json: ",
		`{"session_1": [`:          "a.json: unexpected end",
		`[1, 2]`:                   "a.json: ",
		`{"a": 1}`:                 "no lines in it",
		`{"session_1": "x"}`:       "a.json: session_1: ",
		`{` + session + `}`:        "session_1_date_time: ",
		`{` + session + when + `}`: "no questions in it",
		`{` + session + strings.Replace(when, "May", "Mai", 1) + `}`: "session_1_date_time: ",
		`{` + session + when + `, "qa": {"question": 1}}`:            "a.json: qa: ",
	} {
		lethetest.Must(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := eval.Load(filepath.Dir(file))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.json") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := eval.Load(file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
}

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
		c, err := eval.Parse([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		ids := map[string]bool{}
		for _, l := range c.Lines {
			ids[l.ID] = true
			if strings.TrimSpace(l.Text) == "" {
				t.Fatalf("%+v is no line", l)
			}
		}
		if len(ids) == 0 {
			t.Fatal("no lines")
		}
		for _, q := range c.Questions {
			if len(q.Evidence) == 0 || slices.ContainsFunc(q.Evidence, func(id string) bool { return !ids[id] }) {
				t.Fatalf("%+v has evidence that is not there", q)
			}
		}
	})
}
