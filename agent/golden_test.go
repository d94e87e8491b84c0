package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/internal/lethetest"
	"lethe/life"
	"lethe/llm/rehearsal"
)

var update = flag.Bool("update", false, "write testdata anew")

// sent is a request's body in parts, as bytes.
type sent struct {
	messages []byte            // without the closing bracket
	rest     map[string]string // every other field
}

func sentOf(t testing.TB, body []byte) sent {
	t.Helper()
	var fields map[string]json.RawMessage
	lethetest.Must(t, json.Unmarshal(body, &fields))
	w := sent{rest: map[string]string{}}
	for k, v := range fields {
		if k == "messages" {
			w.messages = bytes.TrimSuffix(v, []byte("]"))
			continue
		}
		w.rest[k] = string(v)
	}
	if !bytes.Contains(body, w.messages) {
		t.Fatal("the messages are not in the body as they are")
	}
	return w
}

// grows checks that each request is the one before it with more messages.
func (w *world) grows(from int) {
	w.Helper()
	w.growing(w.asked()[from:])
}

func (w *world) growing(asked []rehearsal.Recorded) {
	w.Helper()
	before := sentOf(w, asked[0].Body)
	for i, r := range asked[1:] {
		now := sentOf(w, r.Body)
		same := bytes.Equal(now.messages, before.messages) // asked again after a kill
		if !same && !bytes.HasPrefix(now.messages, append(bytes.Clone(before.messages), ',')) {
			k := 0
			for k < min(len(before.messages), len(now.messages)) && before.messages[k] == now.messages[k] {
				k++
			}
			w.Fatalf("request %d does not begin with request %d, which goes on with\n%.300s\nand not with\n%.300s\n%s",
				i+1, i, before.messages[k:], now.messages[k:], w.dump())
		}
		for k, v := range before.rest {
			equal(w, "field "+k, now.rest[k], v)
		}
		equal(w, "fields", len(now.rest), len(before.rest))
		before = now
	}
}

// dieAt kills the agent when the n-th event of a kind is in the log, before it
// knows: what a kill -9 leaves behind.
func dieAt(kind string, n int) func(*Config) {
	return func(c *Config) {
		c.Tell = func(_ Identity, e life.Event) {
			if e.Kind == kind {
				if n--; n == 0 {
					panic("killed at " + kind)
				}
			}
		}
	}
}

// killed waits until dieAt has struck.
func (r *running) killed() {
	r.w.Helper()
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "killed at") {
		r.w.Fatalf("the agent ended with %v", err)
	}
}

func TestRequestsGrowAtTheirEnd(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	many := &rehearsal.Answer{Reasoning: "A lot to list."}
	for range 60 {
		many.Calls = append(many.Calls, rehearsal.Call{Name: "LIST", Arguments: `{"path":"."}`})
	}
	w := newWorld(t, rehearsal.Step{Contains: "a lot", Times: 2, Answer: many})
	id := w.boot("ada", "dev")

	r := w.run(id)
	w.say("dev", "ann", "hello")
	w.answered("dev", 1)
	w.say("dev", "ann", "write three to notes.txt and then read notes.txt")
	w.answered("dev", 2)
	r.settled()
	r.stop()

	r = w.run(id) // after a stop
	w.say("dev", "ann", "remember that the sky is \u25c6 teal ◱hash=0123456789abcdef gist=x◲")
	w.answered("dev", 3)
	r.settled()
	r.stop()

	for _, kind := range []string{"inbound", "call", "reply", "result"} { // after kills
		r = w.run(id, dieAt(kind, 1))
		w.say("dev", "ann", "run echo once more, "+kind)
		r.killed()
		r = w.run(id)
		r.settled()
		r.stop()
	}

	// Over epochs that only shorten a resume.
	r = w.run(id)
	n := len(w.said("dev"))
	w.say("dev", "ann", "list a lot")
	w.answered("dev", n+1)
	w.say("dev", "ann", "list a lot again")
	w.answered("dev", n+2)
	r.settled()
	r.stop()
	counted := 0
	for _, e := range w.events(id, "epoch") {
		if e.Get("why") == "count" {
			counted++
		}
	}
	if counted == 0 {
		t.Error("no epoch was due, so none was tested")
	}
	r = w.run(id)
	w.say("dev", "ann", "and hello again")
	w.answered("dev", n+3)
	r.settled()
	r.stop()

	w.grows(0)
	for _, q := range w.asked() {
		equal(t, "refusal", q.Refused, "")
	}
	if len(w.asked()) < 14 {
		t.Errorf("only %d requests were made", len(w.asked()))
	}
}

// volatile is what differs between two runs of the same life.
var volatile = []struct{ is, stands string }{
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
	{`#[0-9a-f]{12}\b`, "#SUM"},
	{`inode=\d+`, "inode=INODE"},
	{`@\d+:`, "@INODE:"},
	{`\b[0-9a-f]{64}\b`, "SELF"},
	{`hash=[0-9a-f]{16,64}`, "hash=HASH"},
	{`before=[0-9a-f]{16}`, "before=HASH"},
	{`last=[0-9a-f,]{16,}`, "last=HASHES"},
	{`"user_id": "[0-9a-f]{32}"`, `"user_id": "SELF"`},
}

// TestGoldenRequest holds one whole request of a short life to the byte, but for
// times, hashes and inodes. A change of it is a new prefix for every life at its
// next epoch: it has to be meant. go test -run GoldenRequest -update writes it.
func TestGoldenRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		rehearsal.Step{Contains: "what is in", Answer: calls("READ_FILE", `{"path":"self/MEMORY.md"}`, "SAY", `{"room":"ops","message":"I look it up."}`)},
		rehearsal.Step{Contains: "thanks", Answer: &rehearsal.Answer{Text: "You are welcome.", Reasoning: "They thank me."}},
	)
	id := w.boot("ada", "dev", "ops")
	lethetest.Must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte("Ann likes teal. \u25c6\n"), 0o600))
	w.say("dev", "ann", "what is in your notes?\nAll of it.") // before it runs: its first note counts the lines
	r := w.run(id)
	w.answered("dev", 1)
	r.settled()
	w.say("dev", "ann", "thanks", "◆ e9 inbound room=dev")
	w.answered("dev", 2)
	r.settled()
	r.stop()
	asked := w.asked()
	var pretty bytes.Buffer
	lethetest.Must(t, json.Indent(&pretty, asked[len(asked)-1].Body, "", " "))
	got := pretty.String()
	for _, v := range volatile {
		got = regexp.MustCompile(v.is).ReplaceAllString(got, v.stands)
	}
	got = strings.ReplaceAll(got, w.home.Dir, "HOME")
	path := filepath.Join("testdata", "request.golden.json")
	if *update {
		lethetest.Must(t, os.WriteFile(path, []byte(got+"\n"), 0o644))
	}
	want := w.read(path)
	if got+"\n" != want {
		t.Errorf("the request is not that of %s (if that is meant: go test -run GoldenRequest -update):\n%s", path, firstDifference(got+"\n", want))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer than the other"
}
