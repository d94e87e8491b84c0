package agent

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life"
)

// weather says with which status models refuse; those that it does not name answer.
type weather struct {
	mu   sync.Mutex
	away map[string]int
}

func (w *weather) set(away map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *weather) steps(statuses ...int) (out []rehearsal.Step) {
	for _, status := range statuses {
		out = append(out, rehearsal.Step{Status: status, Times: -1, Match: func(r *rehearsal.Request) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.away[r.Model] == status
		}})
	}
	return out
}

// elsewhere brings the requests for any host to the server of a world.
type elsewhere struct{ *world }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(e.url, "http://")
	return http.DefaultTransport.RoundTrip(r)
}

// fallible is a world whose identities have three models, each with a price.
func fallible(t testing.TB) (*world, *weather) {
	t.Helper()
	sky := &weather{}
	w := newWorld(t, sky.steps(402, 404, 503)...)
	frugal(&w.conf, budget.Limits{HomeDay: 1e9})
	w.conf.Preset, w.conf.Fallback, w.conf.patience = "deepseek", []string{"rehearsal-b", "rehearsal-c@low"}, time.Hour
	for _, name := range []string{"rehearsal-b", "rehearsal-c", "llamacpp:rehearsal-d"} {
		w.conf.Known[name] = llm.Info{Price: llm.Price{Hit: 1, Miss: 2, Output: 3}}
	}
	c, err := llm.New(llm.Config{
		Preset: "deepseek", BaseURL: w.url, Key: "the-key-of-tests", MaxRetries: -1, Transport: elsewhere{w},
	})
	lethetest.Must(t, err)
	t.Cleanup(func() { c.Close() })
	w.gauge.Model = llm.Models{Client: c}
	return w, sky
}

// A name that may mean a model of the server in use as well as another preset's is said to be taken for that one.
func TestModelInDoubt(t *testing.T) {
	t.Setenv("MISTRAL_API_KEY", "")
	w, _ := fallible(t)
	w.conf.Preset = "llamacpp"
	_, r := w.ada()
	r.ask("hello")
	contains(t, r.ask("/model mistral:8x7b"), "I tried the model mistral:8x7b (not llamacpp:mistral:8x7b), and keep "+
		"the model rehearsal-paid: call mistral:8x7b: no api key for mistral: MISTRAL_API_KEY is not set")
	r.finish()
}

// models are those of all requests, in order; those of a try are in brackets.
func (w *world) models() string {
	w.Helper()
	var out []string
	for _, q := range w.asked() {
		_, rest, _ := strings.Cut(string(q.Body), `"model":"rehearsal-`)
		name, _, _ := strings.Cut(rest, `"`)
		if strings.Contains(string(q.Body), "Say ok.") {
			name = "(" + name + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// grown checks that of each model the requests of one epoch begin with those before them.
func (w *world) grown() {
	w.Helper()
	var group []asked
	for _, q := range w.asked() {
		if q.Refused != "" || strings.Contains(string(q.Body), "Say ok.") {
			continue
		}
		r := w.parse(q.Body)
		if len(group) > 0 && group[0].rest["model"] != r.rest["model"] {
			w.stable(group)
			group = nil
		}
		group = append(group, r)
	}
	w.stable(group)
}

// What does not answer is replaced by the first that does, in a new epoch, which is said once; it is tried again in
// each epoch, and comes back. Each model is billed at its own price.
func TestAnotherModelStandsIn(t *testing.T) {
	t.Parallel()
	w, sky := fallible(t)
	id, r := w.ada()
	r.ask("hello")
	sky.set(map[string]int{"rehearsal-paid": 402, "rehearsal-b": 404})
	w.say("dev", "ann", "say one in dev")
	w.answered("dev", 3) // the notice, and what is said
	r.settled()
	contains(t, w.said("dev")[1], "status 402")
	contains(t, w.said("dev")[1], "I use the model rehearsal-c@low until rehearsal-paid answers again.")
	contains(t, r.ask("/status"), "the model rehearsal-paid does not answer, another one stands in for it")
	r.ask("hello")
	equal(t, "asked", w.models(), "paid paid (b) (c) c c c")
	equal(t, "away", w.fold(id).Away, "rehearsal-paid")
	r = r.again() // what is tried again at a start stays away
	r.ask("hello")
	sky.set(nil)
	for i := range 20 {
		r.tell(remark(i, 3))
	}
	equal(t, "tried in an epoch once", strings.Count(w.models(), "(paid)"), 1)
	r.compact()
	w.say("dev", "ann", "hello")
	w.eventually("it is back", func() bool { return strings.HasSuffix(w.models(), " (paid) paid") })
	r.finish()
	equal(t, "back", fmt.Sprint(w.fold(id).Away, w.fold(id).Stable.Params.Model), "rehearsal-paid")
	equal(t, "epochs of models", len(w.having(id, "epoch", "why", "model")), 2)
	equal(t, "said", strings.Count(strings.Join(w.said("dev"), "\n"), "I use the model"), 1)
	contains(t, strings.Join(w.said("dev"), "\n"), "The model rehearsal-paid answers again.")
	w.grown()
	w.billed(id)
	w.priced(id)
	w.conserved(id)
}

// A life goes over to a model of another provider and comes back, by a line in a room and by a wish; each is asked in
// its dialect, in epochs of its own, and billed at its price.
func TestSwitchThereAndBack(t *testing.T) {
	t.Parallel()
	w, _ := fallible(t)
	w.conf.Switchers = []string{"ann"}
	id, r := w.ada()
	r.ask("say one in dev")
	w.say("dev", "bob", "/model llamacpp:rehearsal-d")
	contains(t, w.answered("dev", 2), "Only ann may change the model.")
	contains(t, r.ask("/model llamacpp:rehearsal-d@high"), "/model deepseek:rehearsal-paid brings the one before back.")
	r.ask("say two in dev")
	r = r.again()
	r.ask("hello")
	lethetest.Must(t, home.Ask(id, home.WishModel+home.Wish(url.PathEscape("deepseek:rehearsal-paid"))))
	w.eventually("the wish is obeyed", func() bool { return len(home.Wishes(id)) == 0 })
	r.ask("say three in dev")
	r.finish()
	equal(t, "asked", w.models(), "paid paid (d) d d d (paid) paid paid")
	equal(t, "epochs of models", len(w.having(id, "epoch", "why", "model")), 2)
	contains(t, w.having(id, "model", "use", "rehearsal-paid")[0].Get("text"), "/model llamacpp:rehearsal-d@high brings")
	w.grown()
	w.billed(id)
	w.priced(id)
}

// Whatever is no model's name, or a secret, goes to no provider, and the answer does not repeat it.
func TestSecretIsNoModel(t *testing.T) {
	t.Parallel()
	w, _ := fallible(t)
	id, r := w.ada()
	r.ask("say one in dev")
	asked := len(w.requests())
	for i, name := range []string{"ghp_" + "016C7xQ2vLm4TzKd8RbYw5NfJh3Ps1VuGe9X", "p&ss!w0rd"} {
		answer := r.ask("/model " + name)
		contains(t, answer, "A model's name has at most 100 bytes: letters, digits and ._-:/@+[]~; it is no key. I keep the model ")
		if strings.Contains(answer, name) || len(w.requests()) != asked {
			t.Errorf("name %d is told: %s", i, answer)
		}
	}
	r.finish()
	equal(t, "models", len(w.having(id, "epoch", "why", "model")), 0)
}

// priced checks that each reply cost its model's price; under a budget more tokens may count than the provider tells.
func (w *world) priced(id home.Identity) {
	w.Helper()
	number := func(e life.Event, key string) int {
		n, err := strconv.Atoi(e.Get(key))
		lethetest.Must(w, err)
		return n
	}
	for _, e := range w.events(id, "reply") {
		name := strings.ReplaceAll(e.Get("model"), "rehearsal-d", "llamacpp:rehearsal-d")
		u := llm.Usage{Input: number(e, "in"), Cached: number(e, "cached"), Output: number(e, "out")}
		usd, _ := w.conf.Known.Cost(name, u, e.At)
		got, err := strconv.ParseFloat(e.Get("usd"), 64)
		lethetest.Must(w, err)
		if got < usd-1e-6 || got > 1.5*usd {
			w.Errorf("a reply of %s cost %f, by its price %f", name, got, usd)
		}
	}
}

// Where all are away the identity waits as without others: in an outage it tries again, what refuses is told. A model
// that somebody names stays.
func TestAllModelsAway(t *testing.T) {
	t.Parallel()
	w, sky := fallible(t)
	w.conf.patience = 1 // an outage is long at once
	id, r := w.ada()
	r.ask("hello")
	all := map[string]int{"rehearsal-paid": 503, "rehearsal-b": 503, "rehearsal-c": 404}
	sky.set(all)
	contains(t, w.ask("dev", "hello"), "I cannot reach the model")
	equal(t, "asked", w.models(), "paid paid (b) (c)")
	sky.set(map[string]int{"rehearsal-paid": 503, "rehearsal-c": 503})
	contains(t, w.ask("dev", "still there?"), "I use the model rehearsal-b until rehearsal-paid answers again")
	r.settled()
	contains(t, w.ask("dev", "/model rehearsal-b"), "I use the model rehearsal-b; /model deepseek:rehearsal-b brings")
	r.settled()
	equal(t, "away", w.fold(id).Away, "")
	sky.set(map[string]int{"rehearsal-b": 402, "rehearsal-paid": 404, "rehearsal-c": 404})
	contains(t, w.ask("dev", "and now?"), "The model refuses")
	r.settled()
	sky.set(nil)
	r.ask("hello")
	equal(t, "model", w.fold(id).Stable.Params.Model, "rehearsal-b")
	r.finish()
	w.grown()
	w.billed(id)
}

// Models come and go, and the identity is killed at any line: each line is heard and answered once, what was billed is
// in LIFE, and nothing twice.
func TestStandInsUnderKills(t *testing.T) {
	t.Parallel()
	w, sky := fallible(t)
	w.conf.patience = 1
	id := w.boot("ada", "dev", "ops")
	random := rand.New(rand.NewPCG(3, uint64(lethetest.Day()%10)))
	names := []string{"rehearsal-paid", "rehearsal-b", "rehearsal-c"}
	kinds := []string{"model", "epoch", "inbound", "reply", "call", "result", "posted", "spent", "resumed", "error"}
	rounds := lethetest.Sample(12, 30, 300)
	var lines, pings []string
	for i := range rounds {
		away := map[string]int{}
		answers := random.IntN(3)
		for k, name := range names {
			if k != answers {
				away[name] = []int{0, 402, 404, 503}[random.IntN(4)]
			}
		}
		sky.set(away)
		kind := kinds[random.IntN(len(kinds))]
		if s := w.fold(id); s.Next == 1 || s.WantModel != "" { // an epoch is made before it runs
			kind = "reply"
		}
		r := w.run(id, dieAt(kind, 1+random.IntN(2)))
		pings = append(pings, fmt.Sprintf("ping %d", i))
		lines = append(lines, "say "+pings[i]+" in ops")
		w.say("dev", "ann", lines[i])
		w.eventually("it is killed, or has answered", func() bool { return r.ended() || r.idle() })
		r.cancel() // or it is killed in its end
		<-r.done
	}
	sky.set(nil)
	lethetest.Tried(t, rounds)
	r := w.run(id)
	r.ask("hello")
	r.finish()
	equalSlices(t, "heard", w.heard(id, "dev"), append(lines, "hello"))
	equalSlices(t, "said in ops", w.said("ops"), pings)
	w.grown()
	w.conserved(id)
	var in int
	for _, e := range append(w.events(id, "reply"), w.events(id, "spent")...) {
		if e.Get("on") != "lost" {
			n, err := strconv.Atoi(e.Get("in"))
			lethetest.Must(t, err)
			in += n
		}
	}
	if billed := w.model.Usage().Input; in > billed {
		t.Errorf("%d tokens in are in LIFE, %d were billed", in, billed)
	}
	equal(t, "came back", w.fold(id).Away, "")
	if n := len(w.having(id, "model", "for", "rehearsal-paid")); n < rounds/10 {
		t.Errorf("only %d stood in", n)
	}
}

// Models that answer a try and refuse what is asked stand in for each other once; then the identity waits.
func TestAllModelsRefuseWhatIsAsked(t *testing.T) {
	t.Parallel()
	w, _ := fallible(t)
	refuses := func(r *rehearsal.Request) bool { return len(r.Messages) > 1 }
	w.serve(rehearsal.Options{Script: []rehearsal.Step{{Status: 400, Times: -1, Match: refuses}}})
	c, err := llm.New(llm.Config{Preset: "deepseek", BaseURL: w.url, Key: "the-key-of-tests", MaxRetries: -1})
	lethetest.Must(t, err)
	t.Cleanup(func() { c.Close() })
	w.gauge.Model = llm.Models{Client: c}
	id, r := w.ada()
	w.say("dev", "ann", "hello")
	contains(t, w.answered("dev", 3), "The model refuses")
	r.settled()
	equal(t, "asked", w.models(), "paid (b) b (c) c")
	w.say("dev", "ann", "and now?")
	contains(t, w.answered("dev", 4), "The model refuses")
	r.finish()
	equal(t, "asked", w.models(), "paid (b) b (c) c c")
	w.billed(id)
}
