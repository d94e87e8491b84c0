package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent"
	"lethe/agent/llm"
	"lethe/bridge/report/history"
	"lethe/internal/test/lethetest"
)

// obeyPriced obeys, opens what it is told to, and has a bill.
type obeyPriced struct{}

func (o *obeyPriced) Complete(ctx context.Context, q llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	act := func(q llm.Request) llm.Reply {
		last := q.Messages[len(q.Messages)-1].Content.String()
		if _, asked, ok := strings.Cut(last, "] look up "); ok {
			return call("RECALL", map[string]any{"query": asked})
		}
		if m := matched().FindStringSubmatch(last); m != nil {
			return call("UNCOMPACT", map[string]any{"hash": m[1]})
		}
		return obey(q)
	}
	reply, err := script{act: act}.Complete(ctx, q, show)
	reply.Usage = llm.Usage{Input: llm.Estimator{}.Tokens(q.Weight()), Output: 10}
	return reply, err
}

// What is opened, searched or read once more counts in the epoch of the call; what is read twice in one epoch, or
// once, does not.
func TestAgain(t *testing.T) {
	t.Parallel()
	s, err := newStage(lethetest.Dir(t), Small.limit)
	lethetest.Must(t, err)
	s.config.Model, s.config.DefaultModel, s.config.Offline = &obeyPriced{}, "deepseek-v4-pro", false
	log := strings.Repeat("0001 ok soup\n", 50)
	lethetest.Must(t, os.WriteFile(filepath.Join(s.id.Dir, "workspace", "a.log"), []byte(log), 0o600))
	say := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			line := Line{Speaker: "ada", At: time.Now(), Text: text}
			lethetest.Must(t, s.live(t.Context(), []Line{line}))
		}
	}
	long := strings.Repeat("the herring came late this year. ", 200)
	say("the ferry leaves from pier nine", "read a.log", "read a.log", long, long, long)
	all := 0.0
	s.config.Forgetting.Target = &all
	a, err := agent.Open(s.id, s.config)
	lethetest.Must(t, err)
	lethetest.Must(t, a.Compact(t.Context(), ""))
	lethetest.Must(t, a.Close())
	say("read a.log", "look up ferry pier")
	got, err := ReadAgain(s.store, s.id.Dir)
	lethetest.Must(t, err)
	first, last := got[0], got[len(got)-1]
	if first.Calls != 2 || first.Tokens != 0 || first.USD != 0 {
		t.Errorf("before anything faded: %+v", first)
	}
	if last.Epoch == 0 || last.Calls != 3 || last.Opened != 1 || last.Searched != 1 || last.Repeated != 1 {
		t.Errorf("behind the compaction: %+v", last)
	}
	if last.Tokens < len(log)/5 || last.USD <= 0 {
		t.Errorf("its cost: %+v", last)
	}
	shown, _, err := history.Epochs(s.store, s.id, 0)
	lethetest.Must(t, err)
	if n := len(shown); n != len(got) || shown[n-1].Again != last.Again || shown[0].Again != first.Again {
		t.Errorf("the page shows %+v, and lab %+v", shown[n-1].Again, last.Again)
	}
	lethetest.Words(t, got.String(), "opened", fmt.Sprintf("%.4f", last.USD))
}
