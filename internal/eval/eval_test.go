package eval

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lethe/internal/lethetest"
	"lethe/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	talks, err := Load("testdata/talks")
	lethetest.Must(t, err)
	var said []string
	r, err := Run(t.Context(), talks, func(line string) { said = append(said, line) })
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
	lethetest.Must(t, err)
	for _, want := range []string{`"hit_at_1":`, `"mean_original_tokens":`, `"false_hints":`, `"skipped_questions":3`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing in %s", want, data)
		}
	}
}

// A run that is stopped says where, and leaves nothing behind.
func TestRunStops(t *testing.T) {
	talks, err := Load("testdata/talks")
	lethetest.Must(t, err)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Run(ctx, talks, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || err.Error() != "evaluate harbour: interrupted: context canceled" {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(dir)
	lethetest.Must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
