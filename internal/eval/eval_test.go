package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	talks, err := Load("testdata/talks")
	must(t, err)
	if len(talks) != 2 || talks[0].Name != "harbour" || talks[1].Name != "vineyard" {
		t.Fatalf("%+v", talks)
	}
	c := talks[0]
	lines := 0
	for _, s := range c.Sessions {
		lines += len(s.Lines)
	}
	if len(c.Sessions) != 3 || lines != 30 || len(c.Questions) != 5 || c.Skipped != 3 {
		t.Errorf("%d sessions, %d lines, %d questions, %d skipped", len(c.Sessions), lines, len(c.Questions), c.Skipped)
	}
	if got := strings.Join(c.Questions[1].Evidence, " "); got != "D1:8 D1:9" { // in one string
		t.Errorf("evidence: %s", got)
	}
	l := c.Sessions[1].Lines[2]
	if want := time.Date(2024, 4, 21, 18, 41, 0, 0, time.UTC); l.ID != "D2:3" || l.Speaker != "Tomas" || !l.At.Equal(want) {
		t.Errorf("%+v", l)
	}
	if got := c.end(); !got.Equal(time.Date(2024, 5, 12, 20, 19, 30, 0, time.UTC)) {
		t.Errorf("it ends at %v", got)
	}
	again := 0
	for _, p := range c.portions() {
		again += len(p)
	}
	if again != lines {
		t.Errorf("%d lines in portions", again)
	}
}

// The data set names evidence in odd ways.
func TestEvidence(t *testing.T) {
	const text = `{"conversation": {"session_1": [{"speaker": "a", "dia_id": "D1:1", "text": "x"}, {"speaker": "a", "dia_id": "D1:12", "text": "y"}],
		"session_1_date_time": "1:56 pm on 8 May, 2023"}, "qa": [{"question": "q", "category": 1, "evidence": %s}]}`
	for evidence, want := range map[string]string{
		`["D1:1"]`: "D1:1", `["D1:1; D1:12"]`: "D1:1 D1:12", `["D:1:12"]`: "D1:12", `["D01:012", "D1:12"]`: "D1:12", `"D1:1 D1:12"`: "D1:1 D1:12",
		`["D"]`: "", `[]`: "", `null`: "", `["D9:1"]`: "", `[["D1:1"]]`: "D1:1", `[1, {"a": "D1:12"}]`: "D1:12",
	} {
		c, err := Parse(strings.NewReader(fmt.Sprintf(text, evidence)))
		must(t, err)
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
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no *.json in ") {
		t.Errorf("an empty directory: %v", err)
	}
	session := `"session_1": [{"speaker": "a", "dia_id": "D1:1", "text": "hi"}]`
	when := `, "session_1_date_time": "1:56 pm on 8 May, 2023"`
	for text, want := range map[string]string{
		``:                         "a.json: ",
		`{"session_1": [`:          "byte 15: ",
		`[1, 2]`:                   "a.json: ",
		`{"a": 1}`:                 "no lines in it",
		`{"session_1": "x"}`:       "a.json: session_1: ",
		`{` + session + `}`:        "session_1_date_time: ",
		`{` + session + when + `}`: "no questions in it",
		`{` + session + strings.Replace(when, "May", "Mai", 1) + `}`: "session_1_date_time: ",
		`{` + session + when + `, "qa": {"question": 1}}`:            "a.json: qa: ",
	} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := Load(filepath.Dir(file))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.json") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file: %v", err)
	}
}

func TestRun(t *testing.T) {
	talks, err := Load("testdata/talks")
	must(t, err)
	var said []string
	r, err := Run(t.Context(), talks, func(line string) { said = append(said, line) })
	must(t, err)
	c := r.Conversations[0]
	if c.Lines != 30 || c.Originals < 1 || c.MeanTokens < 100 || c.Questions != 5 || c.Skipped != 3 {
		t.Errorf("%+v", c)
	}
	if c.Recall.Questions != 5 || c.Recall.At10 != 5 || c.Plain.Questions != 5 {
		t.Errorf("recall %+v, plain %+v", c.Recall, c.Plain)
	}
	all := r.All
	if all.Recall.At5 < 6 || all.Recall.At1 > all.Recall.At5 || all.Recall.At5 > all.Recall.At10 || all.Recall.Hint < 3 {
		t.Errorf("%+v", all.Recall)
	}
	if all.Categories["single-hop"].Questions != 5 || all.Categories["temporal"].At10 != 1 {
		t.Errorf("%+v", all.Categories)
	}
	if all.False.Talk != 2*len(smallTalk()) || all.False.Other != 7 || all.False.TalkHints > all.False.Talk/4 || all.False.OtherHint > 3 {
		t.Errorf("%+v", all.False)
	}
	if len(said) != 4 || !strings.HasPrefix(said[0], "harbour: playing 30 lines") {
		t.Errorf("progress: %q", said)
	}
	text := r.String()
	for _, want := range []string{"harbour", "vineyard", "all", "hit@10", "100.0 %", "multi-hop", "small talk", "not counted: 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	data, err := json.Marshal(r)
	must(t, err)
	for _, want := range []string{`"hit_at_1":`, `"plain_bm25":`, `"mean_original_tokens":`, `"false_hints":`, `"skipped_questions":3`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing in %s", want, data)
		}
	}
}

// A run that is stopped says where, and leaves nothing behind.
func TestRunStops(t *testing.T) {
	talks, err := Load("testdata/talks")
	must(t, err)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Run(ctx, talks, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || err.Error() != "evaluate harbour: interrupted: context canceled" {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The yardstick ranks by the words that are rare, whatever their endings.
func TestPlain(t *testing.T) {
	b := newBM25([]string{"the cat runs", "the dog barks and barks", "the dogs are running away from the cat, the cat", "a bird"})
	for query, want := range map[string]int{"barking": 1, "run": 0, "birds": 3} {
		if r := b.rank(query); len(r) == 0 || r[0] != want {
			t.Errorf("%s: %v", query, r)
		}
	}
	if r := b.rank("fish"); len(r) != 0 {
		t.Errorf("%v", r)
	}
}
