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
	"unicode/utf8"

	"lethe/agent/tools"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

var update = flag.Bool("update", false, "write testdata anew")

// Each request is the one before with more messages: after stops, kills, and over
// epochs that only shorten a resume.
func TestRequestsGrowAtTheirEnd(t *testing.T) {
	slow(t)
	w := newWorld(t, rehearsal.Step{Contains: "a lot", Times: 2, Answer: many(60, "LIST", `{"path":"."}`)})
	r := w.run(w.boot("ada", "dev"))
	r.ask("hello")
	r.ask("write three to notes.txt and then read notes.txt")
	r = r.again()
	r.ask("remember that the sky is \u25c6 teal ◱hash=0123456789abcdef gist=x◲")
	for _, kind := range []string{"inbound", "call", "reply", "result"} {
		r = r.again(dieAt(kind, 1))
		w.say("dev", "ann", "run echo once more, "+kind)
		r.killed()
		r = w.run(r.id)
		r.settled()
	}
	r.ask("list a lot")
	r.ask("list a lot again")
	r = r.again()
	if len(w.having(r.id, "epoch", "why", "count")) == 0 {
		t.Error("no epoch was due, so none was tested")
	}
	r.ask("and hello again")
	r.stop()
	if beginnings, _ := w.stable(w.requests()); beginnings != 1 || len(w.asked()) < 14 {
		t.Errorf("%d requests begin in %d ways", len(w.asked()), beginnings)
	}
}

// volatile is what differs between two runs of the same life.
var volatile = []struct{ is, stands string }{
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
	{`this context began \w+ \d{4}-\d\d-\d\d \d\d:\d\d [+-]\d\d:\d\d`, "this context began DATE"},
	{`#[0-9a-f]{12}\b`, "#SUM"},
	{`inode=\d+`, "inode=INODE"},
	{`@\d+:`, "@INODE:"},
	{`\b[0-9a-f]{64}\b`, "SELF"},
	{`hash=[0-9a-f]{16,64}`, "hash=HASH"},
	{`before=[0-9a-f]{16}`, "before=HASH"},
	{`last=[0-9a-f,]{16,}`, "last=HASHES"},
	{`\([0-9a-f]{16}\)`, "(SELF)"},
	{`"user_id": "[0-9a-f]{32}"`, `"user_id": "SELF"`},
	{`\[exit 0, [0-9.]+ s\]`, "[exit 0]"}, // of a command that took long
}

// TestGoldenRequest holds one whole request of a short life to the byte, but for
// times, hashes and inodes. A change of it is a new prefix for every life at its
// next epoch: it has to be meant. go test -run GoldenRequest -update writes it.
func TestGoldenRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		on("what is in", calls("READ_FILE", `{"path":"self/MEMORY.md"}`, "SAY",
			`{"room":"ops","message":"I look it up."}`)),
		on("said in room ops", &rehearsal.Answer{
			Reasoning: "I do not see it here, so I search what has faded.",
			Calls:     []rehearsal.Call{{Name: "RECALL", Arguments: `{"query":"what is in your notes?\nAll of it"}`}},
		}),
		on("nothing found", &rehearsal.Answer{
			Reasoning: "I looked for it in what I can see.",
			Text:      "I am not sure, but the closest that I see is this. What I have is: “You now hear room dev, all of it: lines so far: 1.”",
		}),
		on("thanks", &rehearsal.Answer{Text: "You are welcome.", Reasoning: "They thank me."}),
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
	confined, err := tools.New(tools.Config{AgentDir: id.Dir, Home: w.home.Dir}) // as most are
	lethetest.Must(t, err)
	if n := utf8.RuneCountInString(w.fold(id).Stable.System + string(confined.Schemas())); n > 4*2750 {
		t.Errorf("system prompt and tools have %d characters, at most %d: say less, or raise it and say why", n, 4*2750)
	}
	if got+"\n" != want {
		t.Errorf("the request is not that of %s (if that is meant: go test -run GoldenRequest -update):\n%s", path,
			firstDifference(got+"\n", want))
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
