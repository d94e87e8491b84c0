package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lethe/agent/llm"
	"lethe/internal/test/dialect"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// speaks has the world's identities talk to its model in a provider's dialect, which may refuse nothing.
func (w *world) speaks(preset, model string) *dialect.Server {
	w.Helper()
	make := map[string]func(http.Handler) *dialect.Server{"anthropic": dialect.Anthropic, "gemini": dialect.Gemini}[preset]
	s := make(w.model)
	server := httptest.NewServer(s)
	w.Cleanup(func() {
		server.Close()
		for _, q := range s.Requests() {
			if q.Refused != "" {
				w.Errorf("refused: %s\n%.300s", q.Refused, q.Body)
			}
		}
	})
	w.url = server.URL + "/v1"
	w.use(llm.Config{Preset: preset})
	w.conf.DefaultModel = model
	return s
}

// A life in each dialect, with tools, thinking, turns that are cut by forgetting, stops and kills: its provider refuses
// nothing, each request of an epoch begins with the one before it, but for the marks for the cache, and thinking goes
// back.
func TestDialects(t *testing.T) {
	slow(t)
	for _, model := range []string{"anthropic claude-sonnet-5-5", "anthropic claude-haiku-4-5", "gemini gemini-3.8-flash"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			preset, model, _ := strings.Cut(model, " ")
			step := calls("READ_FILE", `{"path":"steps"}`, "LIST", `{"path":"."}`)
			w := forgetful(t, 24_000,
				on("with marks", calls("BASH", `{"command":"echo ◆ ◰4"}`, "LIST", `{"path":"."}`)),
				rehearsal.Step{Task: "none", Contains: "a long turn", Times: 2, Answer: step},
				rehearsal.Step{Task: "none", Match: func(r *rehearsal.Request) bool {
					last := r.Messages[len(r.Messages)-2]
					return last.Role == "tool" && strings.Contains(last.Text(), "STEP")
				}, Times: 30, Answer: step},
			)
			w.conf.Tools.Workspace = lethetest.Dir(t)
			w.write(filepath.Join(w.conf.Tools.Workspace, "steps"), strings.Repeat("STEP\n", 600))
			s := w.speaks(preset, model)
			r := w.run(w.boot("ada", "dev"))
			r.ask("hello")
			r.ask("write three to notes.txt and then read notes.txt")
			r = r.again()
			r.ask("remember that the sky is \u25c6 teal ◱hash=0123456789abcdef gist=x◲")
			r.ask("look, with marks")
			for _, kind := range []string{"inbound", "call", "reply", "result"} {
				r = r.again(dieAt(kind, 1))
				w.say("dev", "ann", "run echo once more, "+kind)
				r.killed()
				r = w.run(r.id)
				r.settled()
			}
			r = r.again(dieAt("result", 17))
			w.say("dev", "ann", "a long turn, please")
			r.killed()
			r = w.run(r.id)
			r.settled()
			w.talk(3, 40)
			r = r.again()
			r.ask("and hello again")
			r.stop()
			var wire trunk
			for _, q := range s.Requests() {
				wire.add(t, q.Body)
			}
			if wire.epochs < 3 || wire.back == 0 || wire.cut == 0 {
				t.Errorf("%d requests: %d epochs, thinking went back in %d, %d went on with a turn that was cut", len(s.Requests()),
					wire.epochs, wire.back, wire.cut)
			}
		})
	}
}

// With MEMORY at the end no request stands before the next one: thinking does not go back.
func TestDialectsWithATail(t *testing.T) {
	t.Parallel()
	for preset, model := range map[string]string{"anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"} {
		w := newWorld(t)
		w.conf.Params.Order = mind.OrderTail
		s := w.speaks(preset, model)
		r := w.run(w.boot("ada", "dev"))
		r.ask("write three to notes.txt and then read notes.txt")
		r.ask("hello")
		r.stop()
		if n := len(s.Requests()); n < 4 {
			t.Errorf("%d requests", n)
		}
	}
}

// TestGoldenDialects holds the messages of an epoch to the byte, and how it goes on after a kill and in the next epoch,
// but for times, hashes, inodes and signatures.
func TestGoldenDialects(t *testing.T) {
	t.Parallel()
	for preset, model := range map[string]string{"anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.8-flash"} {
		w := newWorld(t, on("what is here", calls("LIST", `{"path":"."}`, "BASH", `{"command":"echo one"}`)))
		w.conf.Forgetting.Mechanical, w.conf.Recall.NoHints = true, true
		s := w.speaks(preset, model)
		id := w.boot("ada", "dev")
		w.say("dev", "ann", "what is here?") // before it runs: its first note counts the lines
		r := w.run(id, dieAt("result", 1))
		r.killed()
		r = w.run(id)
		w.answered("dev", 1)
		r.settled()
		r.ask("run echo two")
		w.say("dev", "ann", "/model "+model+"-x", "thanks")
		w.answered("dev", 3)
		r.settled()
		r.stop()
		var shown bytes.Buffer
		for _, q := range s.Requests() {
			var body struct{ Messages json.RawMessage }
			lethetest.Must(t, json.Unmarshal(q.Body, &body))
			shown.WriteByte('\n')
			lethetest.Must(t, json.Indent(&shown, body.Messages, "", " "))
		}
		got := regexp.MustCompile(`"You are a resident agent(?:[^"\\]|\\.)*"`).ReplaceAllString(shown.String(), `"SYSTEM"`)
		got = regexp.MustCompile(`"(signature|data|thought_signature)": "[^"]*="`).ReplaceAllString(got, `"$1": "SIGNED"`)
		got = regexp.MustCompile(`call_0(\d)_[0-9a-f]+`).ReplaceAllString(got, "call_$1")
		for _, v := range volatile {
			got = regexp.MustCompile(v.is).ReplaceAllString(got, v.stands)
		}
		path := filepath.Join("testdata", "dialect-"+preset+".golden.json")
		if *update {
			lethetest.Must(t, os.WriteFile(path, []byte(got), 0o644))
		}
		if want := w.read(path); got != want {
			t.Errorf("the requests are not those of %s (if that is meant: go test -run GoldenDialects -update):\n%s", path,
				firstDifference(got, want))
		}
	}
}

// trunk follows the requests of a life as they stand on the wire.
type trunk struct {
	past              string
	messages          []byte // of the last request that is none of a task
	epochs, back, cut int
}

func (k *trunk) add(t *testing.T, body []byte) {
	t.Helper()
	var q struct {
		Messages json.RawMessage
		Tools    json.RawMessage
	}
	body = bytes.ReplaceAll(body, []byte(`"cache_control":{"type":"ephemeral"},`), nil)
	lethetest.Must(t, json.Unmarshal(body, &q))
	if q.Tools == nil { // a task that stands alone
		return
	}
	open := bytes.TrimSuffix(bytes.TrimSuffix(q.Messages, []byte("]")), []byte("]}"))
	var list []struct{ Content any }
	lethetest.Must(t, json.Unmarshal(q.Messages, &list))
	past, _ := list[min(1, len(list)-1)].Content.(string)
	if blocks, ok := list[0].Content.([]any); ok {
		past, _ = blocks[0].(map[string]any)["text"].(string)
	}
	if task := bytes.LastIndex(open, []byte("<task name=")); task >= 0 { // a fork, which goes out when it is its turn
		open = open[:bytes.LastIndexByte(open[:task], '{')-len(",")]
		if past == k.past && !bytes.HasPrefix(open, k.messages) && !bytes.HasPrefix(k.messages, open) {
			t.Errorf("a fork is not a request of its epoch with one message more\n%.3000s", open)
		}
		return
	}
	if past != k.past {
		k.past, k.messages = past, nil
		k.epochs++
	}
	if !bytes.HasPrefix(open, k.messages) {
		at := 0
		for at < len(open) && open[at] == k.messages[at] {
			at++
		}
		t.Errorf("a request does not begin with the one before it\n%.300s\n%.300s", open[max(0, at-100):], k.messages[max(0, at-100):])
	}
	k.messages = open
	signed := bytes.Count(open, []byte(`"signature"`)) +
		bytes.Count(open, []byte(`"thought_signature"`)) - bytes.Count(open, []byte(dialect.StandIn))
	if signed > 0 {
		k.back++
	}
	if signed == 0 && bytes.Contains(open, []byte("STEP")) {
		k.cut++
	}
}

// An unknown gateway gets a stand-in for reasoning only where a reply has calls; the snapshot says so.
func TestUnknownGatewaysGetFewStandIns(t *testing.T) {
	t.Parallel()
	for preset, want := range map[string]bool{"custom": true, "deepseek": false} {
		w := newWorld(t, always("noted"))
		w.conf.Preset = preset
		r := w.run(w.boot("ada", "dev"))
		w.talk(1, 20)
		r.stop()
		equal(t, preset, w.fold(r.id).Stable.Spare, want)
	}
}
