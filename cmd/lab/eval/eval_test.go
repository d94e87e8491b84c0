package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lethe/compactor/recall"
	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	talks, err := Load("testdata/talks")
	lethetest.Must(t, err)
	var said []string
	r, err := Run(t.Context(), talks, Small, func(line string) { said = append(said, line) })
	lethetest.Must(t, err)
	c := r.Conversations[0]
	if c.Lines != 30 || c.Originals < 1 || c.MeanTokens < 100 || c.Questions != 5 || c.Skipped != 3 {
		t.Errorf("%+v", c)
	}
	if c.Recall.Questions != 5 || c.Recall.At10 != 5 {
		t.Errorf("recall %+v", c.Recall)
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
	if len(said) != 6 || !strings.HasPrefix(said[0], "harbour: playing 30 lines") {
		t.Errorf("progress: %q", said)
	}
	if one := r.OneLife; one.Recall.Questions != 7 || one.Recall.At10 < 6 || one.Recall.All10 > one.Recall.At10 ||
		one.Lines != all.Lines || one.Chance.At1 > all.Chance.At1 {
		t.Errorf("one life: %+v", one)
	}
	if all.Plain.At10 < 5 || all.Chance.At10 > 7 {
		t.Errorf("compared with: %+v, %+v", all.Plain, all.Chance)
	}
	for i, c := range all.Curve {
		if c.Least == recall.HintConfidence && (c.Hint != all.Recall.Hint || c.Talk != all.False.TalkHints || c.Other != all.False.OtherHint) ||
			i > 0 && (c.Hint > all.Curve[i-1].Hint || c.Talk > all.Curve[i-1].Talk || c.Other > all.Curve[i-1].Other) {
			t.Errorf("the curve: %+v, %+v", all.Curve, all.False)
		}
	}
	f := all.Recall
	if f.Shown1 > f.At1 || f.Shown1 > f.Shown5 || f.Shown5 < 4 || f.Shown5 > f.Shown10 || f.Shown10 > f.At10 || f.Tokens < 7*10 {
		t.Errorf("what is shown: %+v", f)
	}
	text := r.String()
	for _, want := range []string{"harbour", "vineyard", "all", "one life", "BM25, all", "shown@5", "chance, one life",
		"least confidence", "hit@10", "100.0 %", "multi-hop", "small talk", "not counted: 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	data, err := json.Marshal(r)
	lethetest.Must(t, err)
	for _, want := range []string{`"hit_at_1":`, `"shown_at_1":`, `"mean_original_tokens":`, `"false_hints":`, `"skipped_questions":3`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing in %s", want, data)
		}
	}
}

// Everything is heard of a chat that begins with more lines than a newcomer to a room
// hears of those before; and an assistant's lines are an agent's.
func TestRunChat(t *testing.T) {
	session := `{"speaker": "user", "text": "my badge is 4711"}`
	for i := range 25 {
		session += fmt.Sprintf(`, {"speaker": "user", "text": "hm %d"}`, i)
	}
	said := strings.Repeat(`Write it down.\n\n- In the *usual* place.\n`, 80)
	session += `, {"speaker": "Assistant", "text": "` + said + `"}, {"speaker": "user", "text": "` + said + `"}`
	c, err := Parse([]byte(`{"session_1": [` + session +
		`], "session_1_date_time": "1:56 pm on 8 May, 2023", "qa": [{"question": "Which badge?", "evidence": ["D1:1"]}]}`))
	lethetest.Must(t, err)
	if c.Lines[0].Agent || !c.Lines[26].Agent {
		t.Errorf("whose are %+v and %+v", c.Lines[0], c.Lines[26])
	}
	r, err := Run(t.Context(), []Conversation{c}, Small, func(string) {})
	lethetest.Must(t, err)
	// Two originals, or three: a life's hash, which is another each time, weighs some tokens more or less.
	if r.All.Lines != 28 || r.All.Originals < 2 || r.All.Originals > 3 || r.All.Recall.At1 != 1 || r.OneLife != nil {
		t.Errorf("%+v", r.All)
	}
	r, err = Run(t.Context(), []Conversation{c}, Large, func(string) {})
	lethetest.Must(t, err)
	if r.All.Lines != 28 || r.All.Originals != 1 || r.All.Recall.At1 != 1 {
		t.Errorf("large: %+v", r.All)
	}
}

// A run that is stopped says where, and leaves nothing behind.
func TestRunStops(t *testing.T) {
	talks, err := Load("testdata/talks")
	lethetest.Must(t, err)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Run(ctx, talks, Small, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || err.Error() != "evaluate harbour: interrupted: context canceled" {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(dir)
	lethetest.Must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
