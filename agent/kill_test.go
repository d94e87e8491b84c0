package agent

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// childEnv names the home, and childURL the model, of a test binary that is run
// again to be killed.
const (
	childEnv = "LETHE_TEST_HOME"
	childURL = "LETHE_TEST_URL"
	childUSD = "LETHE_TEST_USD" // what it may spend a day
)

// inChild runs f with a home, with all that a Config of it needs and with its identities, until it is killed.
func inChild(dir string, f func(Config, []home.Identity) error) {
	err := func() error {
		home, err := home.Open(dir)
		if err != nil {
			return err
		}
		store, err := blobs.Open(home.Blobs())
		if err != nil {
			return err
		}
		all, err := home.List()
		if err != nil {
			return err
		}
		watcher := chat.NewWatcher(0, nil)
		go watcher.Run(context.Background()) // ends with the process
		thinks := Thinking{Offline: true, Params: mind.Params{Endpoint: "offline"}, DefaultModel: "rehearsal"}
		return f(Config{Home: home, Store: store, Watcher: watcher, Thinking: thinks}, all)
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// childMain runs the only identity of a home.
func childMain(dir string) {
	inChild(dir, func(conf Config, all []home.Identity) error {
		client, err := llm.New(llm.Config{Preset: "deepseek", BaseURL: os.Getenv(childURL), Key: "the-key-of-tests"})
		if err != nil {
			return err
		}
		conf.Model, conf.Tools.Bash = client, tools.BashOff
		if usd, err := strconv.ParseFloat(os.Getenv(childUSD), 64); err == nil {
			frugal(&conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(usd)}})
		}
		a, err := Open(all[0], conf)
		if err != nil {
			return err
		}
		return a.Run(context.Background())
	})
}

// process starts one that lives in the home until it is killed: set are its variables. out gets its errors.
func (w *world) process(out io.Writer, set ...string) *exec.Cmd {
	w.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(append(os.Environ(), childEnv+"="+w.home.Dir, childURL+"="+w.url), set...)
	child.Stderr = out
	lethetest.Must(w, child.Start())
	return child
}

// killedIn kills a process anywhere in the next 60 ms, and returns how it ended.
func killedIn(child *exec.Cmd, random *rand.Rand) error {
	time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond))))
	_ = child.Process.Kill() // unless it has ended by itself
	return child.Wait()
}

// TestKilledAtAnyMoment sends kill -9 to a real process again and again: no line
// is lost or heard twice, no SAY and no answer is doubled.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Tools.Bash = tools.BashOff
	id := w.boot("ada", "dev", "ops")
	random := rand.New(rand.NewPCG(1, 2))
	rounds := lethetest.Sample(4, 8, 40)
	var lines, pings []string
	for i := range rounds {
		var out strings.Builder
		child := w.process(&out)
		w.eventually("the child runs", func() bool { _, ok := home.Running(id); return ok })
		pings = append(pings, fmt.Sprintf("ping %d", i))
		lines = append(lines, "say "+pings[i]+" in ops")
		w.say("dev", "ann", lines[i])
		if err := killedIn(child, random); err == nil || out.Len() > 0 { // between the first look and the answer
			t.Fatalf("the child ended by itself: %v\n%s\n%s", err, out.String(), w.dump())
		}
	}
	lethetest.Tried(t, rounds)
	w.run(id).finish()
	equalSlices(t, "heard", w.heard(id, "dev"), lines)
	equalSlices(t, "said in ops", w.said("ops"), pings)
	posts := 0
	for _, e := range w.events(id, "reply") {
		posts += len(e.All("post"))
	}
	equal(t, "answers", len(w.said("dev")), posts)
	for _, res := range w.results(id) {
		equal(t, "result of "+res.call, res.status, "ok")
	}
	// What a killed child had sent may be read after what the next one sends.
	all := w.requests()
	slices.SortStableFunc(all, func(a, b asked) int { return len(a.messages) - len(b.messages) })
	w.stable(all)
}
