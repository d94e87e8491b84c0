package agent

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// Whatever happens to a life, what is kept of its requests is what would be rendered now.
func TestRequestIsKeptTrue(t *testing.T) {
	slow(t)
	seen := map[string]int{}
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(15, seed))
		w := newWorld(t)
		w.conf.Forgetting.Mechanical = true
		w.conf.Params.Order = []string{"", mind.OrderTail}[seed%2]
		id := w.boot("ada", "dev")
		a, err := Open(id, w.conf)
		lethetest.Must(t, err)
		for i := range 40 {
			did := a.random(w, random, i, &a)
			seen[did]++
			a.keptTrue(w, fmt.Sprintf("life %d, step %d: %s", seed, i, did))
		}
		lethetest.Must(t, a.Close())
	}
	for _, did := range []string{"heard", "reply", "calls", "result", "refused", "note", "edit", "forget", "back", "epoch",
		"settings", "again"} {
		if seen[did] == 0 {
			t.Errorf("no life had %q: %v", did, seen)
		}
	}
}

// keptTrue holds the request against one that is rendered and encoded anew.
func (a *Agent) keptTrue(w *world, when string) {
	w.Helper()
	got, tokens := a.thinker.request(), a.thinker.contextTokens()
	want := got
	want.Prefix, want.Messages = llm.Prefix{}, a.view.State.Messages(a.thinker.tail())
	if !reflect.DeepEqual(got.Messages, want.Messages) {
		w.Fatalf("%s: the request has\n%+v\nwant\n%+v", when, got.Messages, want.Messages)
	}
	if n := a.thinker.estimate.Tokens(want.Weight()) + want.MaxTokens; got.Weight() != want.Weight() || tokens != n {
		w.Fatalf("%s: it weighs %d and is %d tokens, want %d and %d", when, got.Weight(), tokens, want.Weight(), n)
	}
	for _, name := range []string{"deepseek", "custom"} {
		preset, _ := llm.Preset(name)
		body, err := preset.Body(got)
		lethetest.Must(w, err)
		fresh, err := preset.Body(want)
		lethetest.Must(w, err)
		equal(w, when+": body", string(body), string(fresh))
	}
}

// random does something to a life that does not run, and says what. A life that is opened again is another Agent.
func (a *Agent) random(w *world, random *rand.Rand, i int, again **Agent) string {
	w.Helper()
	do := func(did string, errs ...error) string {
		for _, err := range errs {
			lethetest.Must(w, err)
		}
		return did
	}
	if calls := a.caller.ofReply(); len(calls) > 0 && random.IntN(3) > 0 {
		if !calls[0].call.Started {
			return do("settled", a.caller.finishPending())
		}
		next := a.caller.intents(calls[1:], false)
		result := outcome{state: mind.OK, Result: tools.Result{Body: []byte(remark(i, 30))}}
		return do("result", a.view.Commit(append([]part.Record{calls[0].ends(a.view.State.Turn+1, result)}, next...)...))
	} else if len(calls) > 0 && random.IntN(2) > 0 {
		return do("settled", a.caller.finishPending())
	} else if len(calls) > 0 {
		return "nothing"
	}
	reply := llm.Reply{Model: "m", Finish: "stop", Text: remark(i, 60)}
	switch random.IntN(12) {
	case 0, 1:
		w.say("dev", "ann", remark(i, 40))
		_, err := a.listener.Listen()
		return do("heard", a.listener.FollowLinks(), err)
	case 2:
		return do("reply", a.recordReply(w.Context(), thought{reply: reply}, hook.Verdict{}))
	case 3, 4:
		for k := range 1 + random.IntN(3) {
			reply.Calls = append(reply.Calls, llm.ToolCall{Name: "LIST", Arguments: fmt.Sprintf(`{"path":"%d"}`, k)})
		}
		return do("calls", a.recordReply(w.Context(), thought{reply: reply}, hook.Verdict{}))
	case 5:
		return do("refused", a.recordReply(w.Context(), thought{reply: reply}, hook.Verdict{Why: "it does not pass"}))
	case 6:
		return do("note", a.view.Commit(journal.Told(event.Note{Why: "test"}, "a note", remark(i, 5))))
	case 7:
		live := a.view.State.Live
		if len(live) == 0 {
			return "nothing"
		}
		n := live[random.IntN(len(live))].N
		edit := mind.Edit{Changed: []mind.Change{{N: n, Text: remark(i, 3)}}}
		if random.IntN(2) == 0 {
			edit = mind.Edit{Deleted: []int{n}}
		}
		return do("edit", a.keeper.Apply(edit, nil, a.view.State.Epoch))
	case 8:
		before := a.view.State.Epoch
		if err := a.Compact(w.Context(), ""); err != nil || a.view.State.Epoch == before {
			return do("nothing", err)
		}
		return "forget"
	case 9:
		if len(a.view.State.Live) == 0 {
			return "nothing"
		}
		to := w.at(a.view.ID, home.Moment{Entry: a.view.State.Live[random.IntN(len(a.view.State.Live))].N})
		return do("back", journal.Branch(a.journal, []home.Wish{backTo(to.End)}))
	case 10:
		if random.IntN(2) == 0 {
			return do("epoch", a.thinker.epoch("count"))
		}
		return do("settings", a.thinker.renew("settings"))
	}
	lethetest.Must(w, a.Close())
	next, err := Open(a.view.ID, w.conf)
	*again = next
	return do("again", err)
}

// BenchmarkRound is a round of a long turn: the answer with a call, the call, and the next request over HTTP. Its figures
// do not depend on how many rounds there were before.
func BenchmarkRound(b *testing.B) {
	for _, before := range []int{10, 400, 2000} {
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			w := newWorld(b)
			w.conf.ContextLimit, w.conf.MaxSteps, w.conf.Offline = 10_000_000, 1_000_000, false
			asked, answer, places := make(chan struct{}), make(chan bool), []string{".", "self"}
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				asked <- struct{}{}
				delta, finish := `"content":"done"`, "stop"
				if <-answer {
					delta, finish = fmt.Sprintf(`"reasoning_content":"once `+
						`more","tool_calls":[{"index":0,"id":"c","function":{"name":"LIST","arguments":"{\"path\":\"%s\"}"}}]`, places[0]), "tool_calls"
					slices.Reverse(places) // or it would be told that it repeats itself
				}
				fmt.Fprintf(rw, "data: {\"choices\":[{\"delta\":{%s},\"finish_reason\":\"%s\"}]}\n\ndata: [DONE]\n\n", delta, finish)
			}))
			b.Cleanup(server.Close)
			w.url = server.URL
			w.use(llm.Config{})
			r := w.run(w.boot("ada", "dev"))
			w.say("dev", "ann", "go on")
			<-asked
			round := func() { answer <- true; <-asked }
			for range before {
				round()
			}
			b.ReportAllocs()
			used := processor(b)
			for b.Loop() {
				round()
			}
			b.ReportMetric(float64((processor(b)-used)/int64(b.N)), "cpu-ns/op")
			answer <- false
			w.answered("dev", 1)
			r.stop()
		})
	}
}

// processor is what the process has used, in nanoseconds.
func processor(t testing.TB) int64 {
	var u syscall.Rusage
	lethetest.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
