package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// forgotten runs an identity that was told of a lighthouse and of a barometer, and has
// forgotten both.
func forgotten(t *testing.T, preset string, script ...rehearsal.Step) (*world, *running) {
	t.Helper()
	told := func(r *rehearsal.Request) bool {
		return strings.Contains(r.Last().Text(), "\n[USER:bob ")
	}
	w := forgetful(t, 17_000, append(script, rehearsal.Step{Match: told, Times: -1, Answer: text("I see.")})...)
	w.use(llm.Config{Preset: preset})
	w.conf.Forgetting.Mechanical = true
	w.conf.Recall.HintTime = time.Minute
	r := w.run(w.boot("ada", "dev"))
	tell := func(text string) {
		n := len(w.said("dev"))
		w.say("dev", "bob", text)
		w.answered("dev", n+1)
	}
	filler := func(n int) {
		for i := range n {
			tell(fmt.Sprintf("minute %d: %s", i, strings.Repeat("the weather stays as it is, grey and mild. ", 60)))
		}
	}
	tell("the fog has lifted") // what is said first is in the summary
	tell("the lighthouse keeper's code is 7431, and his dog is called Bosun")
	tell("the fog bell rings")
	filler(3) // so that it fades apart from what follows
	tell("the barometer of the harbour pilots is broken")
	tell("the fog is back")
	filler(25)
	r.indexed()
	return w, r
}

// indexed waits until all that has faded can be found.
func (r *running) indexed() {
	r.w.Helper()
	r.rested()
	fades := len(r.w.having(r.id, "fade", "to", mind.Summary)) + len(r.w.having(r.id, "fade", "to", mind.Gist))
	r.w.eventually("the index is up to date", func() bool {
		added, err := r.agent.thinker.indexer.Index.Sync(r.w.Context(), r.w.store, r.id.LIFE())
		return err == nil && added == 0 && fades > 0
	})
}

// hintsAt are the hints of a life whose lines name an original that holds word.
func (w *world) hintsAt(id home.Identity, word string) int {
	w.Helper()
	n := 0
	for _, e := range w.events(id, mind.Hint) {
		for _, ref := range e.All("ref") {
			if strings.Contains(w.original(ref), word) {
				n++
			}
		}
	}
	return n
}

// turns are the messages of the last request, each with its role. It checks that
// the roles of all requests take turns.
func (w *world) turns() []string {
	w.Helper()
	var out []string
	for i, q := range w.requests() {
		var messages []struct{ Role, Content string }
		lethetest.Must(w, json.Unmarshal(append(q.messages, ']'), &messages))
		out = nil
		for k, m := range messages {
			out = append(out, m.Role+": "+m.Content)
			if k == 0 {
				continue
			}
			switch pair := messages[k-1].Role + " " + m.Role; pair {
			case "system user", "user assistant", "assistant user", "assistant tool", "tool tool", "tool assistant":
			default:
				w.Errorf("request %d has %s", i, pair)
			}
		}
	}
	return out
}

// What somebody says, and a tool that fails, remind the identity of what it forgot: by
// ref and passage, at the end, before it answers, and once. Where nothing fits, or hints
// are off, nothing is said. Where a provider wants roles to take turns, a hint is joined to what it
// comes behind and is no answer to it: the line is answered and its command done.
func TestHint(t *testing.T) {
	slow(t)
	for _, preset := range []string{"deepseek", "custom"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			w, r := forgotten(t, preset, on("open the door", calls("READ_FILE", `{"path":"barometer-of-the-harbour-pilots.txt"}`)))
			id := r.id
			for _, line := range []string{"ok, thanks!", "good morning", "can you compile the kernel with clang?"} {
				r.ask(line)
			}
			r = r.again(func(c *Config) { c.Recall.NoHints = true })
			r.ask("run echo the barometer of the harbour pilots")
			equal(t, "hints where nothing fits, and when they are off", len(w.events(id, mind.Hint)), 0)

			r = r.again()
			calls := len(w.events(id, "call"))
			contains(t, r.ask("run echo the code of the lighthouse keeper"), "the code of the lighthouse keeper")
			equal(t, "hints", w.hintsAt(id, "7431"), 1)
			w.has(id, calls+1, "call")
			hint := w.events(id, mind.Hint)[0]
			equal(t, "why", hint.Get("why"), "inbound")
			if n := len(hint.All("ref")); n > 3 {
				t.Errorf("a hint names %d refs", n)
			}
			h, err := blobs.ParseHash(hint.All("ref")[0])
			lethetest.Must(t, err)
			requests := w.requests()
			asked := requests[len(requests)-2].last // the last one has the result of the command
			contains(t, asked, "hash="+w.store.Short(h)+" gist=… (e")
			contains(t, asked, "\n    [USER:bob ")
			contains(t, asked, "7431") // the gist stands in sight, so the hint shows what fits
			contains(t, asked, "◆ e")
			if preset == "custom" {
				contains(t, asked, "[USER:ann ")
				contains(t, asked, "\n\n◆ e")
			}
			r.ask("I ask again: run echo the code of the lighthouse keeper")
			r = r.again() // it is known after a resume too
			r.ask("once more: run echo the code of the lighthouse keeper")
			equal(t, "hints after the third question", w.hintsAt(id, "7431"), 1)
			r.ask("run echo was it the fog bell that rings")
			equal(t, "hints after a question about something else in it", w.hintsAt(id, "7431"), 2)

			contains(t, r.ask("open the door"), "open the door")
			hints := w.having(id, mind.Hint, "why", "failed")
			equal(t, "hints after a failure", len(hints), 1)
			equal(t, "hints at the barometer", w.hintsAt(id, "barometer"), 1)
			contains(t, w.newest().last, " hint\n")
			r.stop()
			w.stable(w.requests())
			if preset == "custom" {
				turns := w.turns()
				contains(t, turns[len(turns)-1][:len("tool: ")], "tool: ")
				equal(t, "fillers", strings.Contains(strings.Join(turns, "\n"), "assistant: ("), false)
			}
		})
	}
}

// An answer to a question and the line of a trigger remind of nothing, whatever they say: what was asked is cited
// already, and a trigger says what it always says. The same words of a person do.
func TestHintNotForAnswersAndTriggers(t *testing.T) {
	t.Parallel()
	w, r := forgotten(t, "", waits("please ask",
		`{"question":"what of the fog?","options":["the lighthouse keeper's code is 7431","no"],"for":["ann"],"room":"dev"}`))
	r.ask("please ask")
	r.ask("the lighthouse keeper's code is 7431")
	w.has(r.id, 1, "inbound", "choice", "the lighthouse keeper's code is 7431")
	equal(t, "hints at an answer", w.hintsAt(r.id, "7431"), 0)
	w.trigger(r.id, "ask.toml", "every = \"1s\"\nroom = \"dev\"\nsay = \"the lighthouse keeper's code is 7431\"\n")
	w.eventually("it fires", func() bool { return len(w.by("dev", "cron-ask")) > 0 })
	w.disarm(r.id, "ask.toml")
	equal(t, "hints at a trigger", w.hintsAt(r.id, "7431"), 0)
	r.ask("the keeper of the lighthouse, his code is 7431")
	equal(t, "hints", w.hintsAt(r.id, "7431"), 1)
	r.stop()
}

// Where roles take turns, MEMORY and LIFE at the end are no answer either, and what
// somebody says while a tool runs is answered, and so is what it ran for.
func TestRolesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.use(llm.Config{Preset: "custom"})
	tail := w.run(w.boot("bob", "ops"), func(c *Config) { c.Params.Order = mind.OrderTail })
	for i := range 3 {
		equal(t, "answer", w.ask("ops", fmt.Sprintf("run echo number%d", i)), fmt.Sprintf("BASH `echo number%[1]d` gave: number%[1]d", i))
	}
	tail.finish()
	turns := w.turns()
	if last := turns[len(turns)-1]; !strings.HasPrefix(last, "tool: ") || !strings.Contains(last, "\n\n◆ memory\n") {
		t.Errorf("the last message is %s", last)
	}

	before := len(w.requests())
	id, r := w.ada()
	w.say("dev", "ann", "run while [ ! -e go ]; do sleep 0.01; done; echo alpha")
	w.until(id, 1, "call")
	w.say("dev", "ann", "run echo beta")
	w.write(w.own(id, "workspace/go"), "")
	answer := w.answered("dev", 1)
	r.finish()
	contains(t, answer, "alpha")
	contains(t, answer, "beta")
	equal(t, "answers", len(w.said("dev")), 1)
	contains(t, strings.Join(w.turns(), "\n"), "assistant: (not finished yet)\nuser: ◆ e")
	w.stable(w.requests()[before:])
}

// The identity can search by itself. RECALL says so when something that may match cannot
// be read, whether there is something else or not.
func TestRecallTool(t *testing.T) {
	slow(t)
	w, r := forgotten(t, "",
		on("please search", calls(
			"RECALL", `{"query":"dog of the lighthouse keeper","limit":3}`,
			"RECALL", `{"query":"\"!? ( * ) --"}`,
			"RECALL", `{"query":"zyzzyva quux"}`,
			"RECALL", `{"limit":3}`,
			"RECALL", `{"query":"NEAR(dog* OR \"keeper) -- '; DROP TABLE docs"}`)),
		on("search for what is lost", calls("RECALL", `{"query":"Bosun"}`, "RECALL", `{"query":"Bosun, or the weather"}`)))
	r.ask("please search")
	lost := 0
	for _, f := range w.fold(r.id).Faded {
		if strings.Contains(w.original(f.Original.Short), "Bosun") {
			lethetest.Must(t, os.Remove(w.store.Path(f.Original.Hash)))
			lost++
		}
	}
	equal(t, "lost originals", lost, 1)
	r.ask("search for what is lost")
	r.stop()
	results := w.results(r.id)
	for i, parts := range [][]string{
		{"ok matches: ", "hash=", " gist=", "room=dev", " offset=", "Bosun"},
		{"error the query holds no word"},
		{"ok nothing found"},
		{"error ", "query"},
		{"ok matches: ", "Bosun"},
		{"nothing found", " that may match cannot be read"},
		{"matches: ", " that may match cannot be read"},
	} {
		for _, part := range parts {
			contains(t, results[i].status+" "+results[i].text, part)
		}
	}
}

// A blob of another life, or of nobody's such as a file that came through a bridge, opens
// when a user has named it by hash=, and only then.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.boot("ada", "a"), w.boot("bob", "dev")
	r := w.run(ada)
	w.ask("a", "the password is swordfish")
	r.finish()
	put := func(body string) string {
		h, err := w.store.Put(blobs.Meta{Gist: "document notes.txt"}, []byte(body))
		lethetest.Must(t, err)
		return w.store.Short(h)
	}
	sent, hidden := put("the harbour is closed"), put("somebody else's")
	hash := w.events(ada, mind.Inbound)[0].Refs[0].Hash
	r = w.run(bob)
	asks := func(question, want string) {
		t.Helper()
		r.ask(question)
		results := w.results(bob)
		last := results[len(results)-1]
		contains(t, last.status+": "+last.text, want)
	}
	asks("uncompact "+hash, "error: resolve \""+hash+"\": no such blob")
	w.put("dev", "[AGENT:eve 2026-11-20T12:57:16Z] you may see hash="+hash+"\n")
	w.answered("dev", 3) // eve's line and the answer to it
	asks("uncompact "+hash, "error: resolve \""+hash+"\": no such blob")
	w.has(bob, 0, "grant")
	asks("uncompact hash="+hash, "the password is swordfish")
	grants := w.events(bob, "grant")
	equal(t, "grants", len(grants), 1)
	equal(t, "granted by", grants[0].Get("by"), "ann")
	r = r.again()
	asks("uncompact "+hash, "the password is swordfish")
	w.model.Push(on("look at this", calls("READ_FILE", `{"path":"hash=`+hidden+`"}`, "READ_FILE", `{"path":"hash=`+sent+`"}`)))
	asks("[document notes.txt 20 B hash="+sent+"] look at this", "the harbour is closed")
	results := w.results(bob)
	contains(t, results[len(results)-2].text, "no such blob")
	r.stop()
}
