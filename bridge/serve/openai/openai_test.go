package openai_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"lethe/agent/host"
	"lethe/bridge/serve/openai"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/internal/test/servetest"
)

func TestMain(m *testing.M) {
	host.Main()
	os.Exit(m.Run())
}

// One life, one server, and what clients send in the course of a day.
func TestCompletions(t *testing.T) {
	w := begin(t, "people = [\"you\"]\n")
	t.Run("models", func(t *testing.T) {
		list := servetest.Text(t, w.Do(t, "GET", "/v1/models", ""), 200)
		one := servetest.Text(t, w.Do(t, "GET", "/v1/models/ada/dev", ""), 200)
		if !strings.Contains(list, `"data":[{"created":1`) || strings.Count(list, `"id":"ada"`) != 1 || !strings.Contains(one, `"id":"ada/dev"`) {
			t.Error(list, one)
		}
		servetest.Text(t, w.Do(t, "GET", "/v1/models/bob", ""), 404)
		servetest.Text(t, w.Do(t, "GET", "/v1/models/ada/No", ""), 404)
		lethetest.Words(t, servetest.Text(t, w.Do(t, "POST", "/v1/embeddings", "{}"), 404), "/v1/embeddings")
	})
	t.Run("a conversation", func(t *testing.T) {
		page := lethetest.Page(t, "api.md")
		_, curl, _ := strings.Cut(page, "-d '") // the page's first request
		curl, _, _ = strings.Cut(curl, "'\n")
		first := w.ask(curl, "X-Session-Id: talk")
		second := w.ask(body("ada", "what is 12*7?", first, "remember that the key is in vault 7"), "X-Session-Id: talk")
		w.room("talk", "you: what is 12*7?", "ada: "+first, "you: remember that the key is in vault 7", "ada: "+second)
		if !strings.Contains(first, "84") || !strings.Contains(second, "vault 7") {
			t.Errorf("%q, %q", first, second)
		}
	})
	t.Run("a stream", func(t *testing.T) {
		got := w.stream(body("ada/dev", "count to 60"))
		if !strings.HasSuffix(got.content, "59 60") || got.finish != "stop" || got.tokens < 100 {
			t.Errorf("%+v", got)
		}
		w.room("dev", "you: count to 60", "ada: "+got.content)
	})
	t.Run("calls", func(t *testing.T) {
		got := w.stream(body("ada", "run echo $((6*7)) then run echo again"), "X-Session-Id: calls")
		lines := w.said("calls")
		answer, _ := strings.CutPrefix(lines[len(lines)-1], "ada: ")
		if !strings.HasSuffix(got.content, answer) || !strings.Contains(got.thinking, "↳ BASH") || !strings.Contains(answer, "42") {
			t.Errorf("%+v, answer %q", got, answer)
		}
		w.ask(body("ada", "run echo $((6*7)) then run echo again", "I look.\n\n"+got.content, "hello"), "X-Session-Id: calls")
		if lines := w.said("calls"); lines[2] != "you: hello" {
			t.Errorf("said %q", lines)
		}
	})
	t.Run("a question", func(t *testing.T) {
		question := w.ask(body("ada", "ask me before you run echo done"), "X-Session-Id: ask")
		if !strings.HasPrefix(question, "? q") || !strings.Contains(question, "\n1) yes\n2) no") {
			t.Fatalf("asked %q", question)
		}
		// The instructions are new, and the answer stands alone all the same.
		answer := w.ask(body("ada", "system|Be brief.", "user|ask me before you run echo done", "assistant|"+question,
			"user|yes"), "X-Session-Id: ask")
		if !strings.Contains(answer, "done") || w.said("ask")[2] != "you: yes" {
			t.Errorf("answered %q in %q", answer, w.said("ask"))
		}
	})
	t.Run("a name that is somebody else's", func(t *testing.T) {
		question := w.ask(body("ada", "ask me before you run echo done"), "X-Session-Id: claim")
		answer := w.ask(body("ada", "ask me before you run echo done", question, "yes"), "X-Session-Id: claim", "X-OpenWebUI-User-Name: You")
		if said := w.said("claim")[2]; said != "openai-You: yes" || strings.Contains(answer, "done") {
			t.Errorf("%q is answered %q", said, answer)
		}
	})
	t.Run("a room that is not hers", func(t *testing.T) {
		for _, headers := range [][]string{{"ada/review-ada"}, {"ada/notify-you"}, {"ada", "X-Session-Id: review-ada"},
			{"ada", "X-OpenWebUI-Chat-Id: notify-you"}} {
			lethetest.Words(t, w.refused(403, body(headers[0], "hello"), headers[1:]...), "hear room")
		}
		for _, room := range []string{"review-ada", "notify-you"} {
			if _, err := os.Lstat(chat.Path(w.dir, room)); err == nil {
				t.Errorf("there is room %s", room)
			}
		}
	})
	t.Run("commands", func(t *testing.T) {
		if got := w.ask(body("ada", "/status"), "X-Session-Id: commands"); !strings.HasPrefix(got, "ada ") {
			t.Errorf("%q", got)
		}
		if got := w.stream(body("ada", "/stop"), "X-Session-Id: commands"); got.content != "Nothing to stop." {
			t.Errorf("%+v", got)
		}
	})
	t.Run("instructions", func(t *testing.T) {
		hears := func(system, text string) string {
			w.ask(body("ada", "system|"+system, "user|"+text), "User-Agent: x", "X-OpenWebUI-User-Name: Grace%20Hopper")
			lines := w.said("api")
			return lines[len(lines)-2]
		}
		if got := hears("Be brief.", "hello one"); got != "Grace_Hopper: (System message of the client [ee7b8bd0]:\nBe brief.\n"+
			")\n\nhello one" && !strings.Contains(got, "]:\nBe brief.\n)\n\nhello one") {
			t.Errorf("%q", got)
		}
		if got := hears("Be brief.", "hello two"); got != "Grace_Hopper: hello two" {
			t.Errorf("%q", got)
		}
		lethetest.Words(t, hears("", "hello three"), "no longer holds")
	})
	t.Run("refusals", func(t *testing.T) {
		for want, bad := range map[string]string{
			"own tools": `{"model":"ada","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}],` +
				`"tool_choice":"required"}`,
			"its own tools": `{"model":"ada","messages":[{"role":"user","content":"x"}],"tools":[{}],` +
				`"tool_choice":{"type":"function","function":{"name":"f"}}}`,
			"call those of a client":    `{"model":"ada","messages":[{"role":"user","content":"x"}],"functions":[{}],"function_call":{"name":"f"}}`,
			"one answer":                `{"model":"ada","messages":[{"role":"user","content":"x"}],"n":2}`,
			"text only":                 `{"model":"ada","messages":[{"role":"user","content":"x"}],"modalities":["text","audio"]}`,
			"at least one message":      `{"model":"ada","messages":[]}`,
			"the body is no JSON":       `{"model":`,
			"nothing of the user":       body("ada", "hello", "hi"),
			"only user messages":        body("ada", "tool|42"),
			`a part of type "input_au`:  `{"model":"ada","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`,
			"not kept here under an id": `{"model":"ada","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`,
			"is not data:": `{"model":"ada","messages":[{"role":"user","content":[{"type":"image_url",` +
				`"image_url":{"url":"data:image/png;base64,?"}}]}]}`,
		} {
			lethetest.Words(t, w.refused(400, bad), want)
		}
		lethetest.Words(t, w.refused(404, body("bob", "hello")), `"bob"`, "/v1/models")
		lethetest.Words(t, w.refused(400, body("ada", strings.Repeat("x", 1<<20+1))), "1.0 MB", "send a file")
		lethetest.Words(t, w.refused(413, body("ada", strings.Repeat("x", 1<<20)),
			"Content-Type: application/x-www-form-urlencoded"), "application/json")
		lethetest.Words(t, w.refused(404, body("ada/../x", "hello")), "not the name of a room")
	})
	t.Run("what is ignored", func(t *testing.T) {
		for more, want := range map[string]string{
			``:                                   "",
			`,"response_format":{"type":"text"}`: "",
			`,"tools":[],"tool_choice":"none"`:   "",
			`,"tools":[{"type":"function"}]`:     "tools",
			`,"functions":[{}],"function_call":"auto"`:                                                     "tools",
			`,"tools":[{"type":"function"}],"tool_choice":"none","response_format":{"type":"json_object"}`: "tools",
			`,"tools":[{"type":"function"}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto"}},` +
				`"response_format":{"type":"json_schema","json_schema":{"schema":{}}},"stream":true`: "tools",
		} {
			resp := w.Do(t, "POST", "/v1/chat/completions", strings.TrimSuffix(body("ada/ignores", "what is 12*7?"), "}")+more+"}",
				"Idempotency-Key: "+more)
			names := resp.Header.Values("Lethe-Ignored")
			slices.Sort(names)
			if got := strings.Join(names, ", "); got != want || resp.Header.Get("Lethe-Room") != "ignores" {
				t.Errorf("%s: ignored %q, want %q", more, got, want)
			}
			lethetest.Words(t, servetest.Text(t, resp, 200), "84")
		}
	})
	t.Run("another method", func(t *testing.T) {
		for path, allow := range map[string]string{"/v1/models": "GET, HEAD", "/v1/models/ada/dev": "GET, HEAD", "/v1/chat/completions": "POST"} {
			resp := w.Do(t, "PUT", path, "{}")
			if lethetest.Words(t, servetest.Text(t, resp, 405), "no PUT "+path, `"hint":"docs/`); resp.Header.Get("Allow") != allow {
				t.Errorf("%s allows %q", path, resp.Header.Get("Allow"))
			}
		}
	})
	t.Run("files", func(t *testing.T) {
		const picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
		w.ask(`{"model":"ada/files","messages":[{"role":"user","content":[{"type":"text","text":"look"},` + picture +
			`,{"type":"file","file":{"filename":"a]b.txt","file_data":"aGVsbG8="}},{"type":"image_url","image_url":{"url":"http://` +
			`evil.example/x.png"}}]}]}`)
		line := w.said("files")[0]
		lethetest.Words(t, line, "you: look", "[image image/png 8 B hash=", "[file a)b.txt 5 B hash=", "[image at http://evil.example/x.png]")
	})
	t.Run("not running", func(t *testing.T) {
		before := w.said("dev")
		w.stop()
		lethetest.Words(t, w.refused(503, body("ada/dev", "hello")), "not running", "lethe run ada", "not_running")
		w.room("dev", before...)
	})
}

// A request that comes again is said once, and has the same answer, until the client has taken it.
func TestRetry(t *testing.T) {
	w := begin(t, "")
	ask := body("ada", "count to 40")
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.URL+"/v1/chat/completions",
		strings.NewReader(strings.TrimSuffix(ask, "}")+`,"stream":true}`))
	lethetest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+servetest.Token)
	resp, err := w.Client().Do(r)
	lethetest.Must(t, err)
	cancel() // the client leaves; the turn goes on
	resp.Body.Close()
	answers := make(chan string)
	for range 3 {
		go func() { answers <- w.ask(ask) }() // ends with its answer
	}
	first := <-answers
	if !strings.HasSuffix(first, "39 40") || <-answers != first || <-answers != first {
		t.Errorf("answered %q", first)
	}
	w.room("api", "you: count to 40", "ada: "+first)
	// A retry by its own word, and one with a name.
	if got := w.ask(ask, "X-Stainless-Retry-Count: 1"); got != first {
		t.Errorf("%q", got)
	}
	for range 2 {
		w.ask(ask, "Idempotency-Key: k1")
	}
	lethetest.Equal(t, "lines", len(w.said("api")), 4)
	// Asked anew: the answer was taken.
	w.ask(ask)
	lethetest.Equal(t, "lines", len(w.said("api")), 6)
	// A command that comes again.
	for range 2 {
		if got := w.ask(body("ada/dev", "/status"), "Idempotency-Key: k2"); !strings.HasPrefix(got, "ada ") {
			t.Errorf("%q", got)
		}
	}
	if n := len(w.said("dev")); n != 2 {
		t.Errorf("%q", w.said("dev"))
	}
}

// Text beside calls is a paragraph of a stream, and no answer.
func TestTextBesideCalls(t *testing.T) {
	look := rehearsal.Step{Contains: "look around", Times: 2, Answer: &rehearsal.Answer{
		Text: "I look around first.", Calls: []rehearsal.Call{{Name: "BASH", Arguments: `{"command":"echo found"}`}},
	}}
	w := begin(t, "", look)
	whole := w.ask(body("ada/whole", "look around"))
	got := w.stream(body("ada/dev", "look around"))
	if got.content != "I look around first.\n\n"+whole {
		t.Errorf("a stream of %q, and an answer %q", got.content, whole)
	}
	w.ask(body("ada/dev", "look around", got.content, "what is 1+1?"))
	w.room("dev", "you: look around", "ada: "+whole, "you: what is 1+1?", "ada: 1+1 = 2")
}

// A client that wants JSON gets it alone, and what it sends again at once is no new turn.
func TestStructured(t *testing.T) {
	told := rehearsal.Answer{Text: "```json\n{\"city\": \"Bern\"}\n```"}
	w := begin(t, "", rehearsal.Step{Contains: "which city", Answer: &told, Times: -1})
	format := `,"response_format":{"type":"json_schema","json_schema":{"name":"place","schema":{"required":["city"]}}}}`
	ask := strings.TrimSuffix(body("ada/json", "which city?"), "}") + format
	for range 7 {
		if got := w.ask(ask); got != `{"city": "Bern"}` {
			t.Fatalf("answered %q", got)
		}
	}
	lines := w.said("json")
	if len(lines) != 2 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	lethetest.Words(t, lines[0], `JSON`, `{"required":["city"]}`, "which city?")
	streamed := w.stream(strings.TrimSuffix(body("ada/stream", "which city?"), "}") + format)
	if streamed.content != `{"city": "Bern"}` {
		t.Errorf("streamed %q", streamed.content)
	}
	// Something else between, or later: a new turn.
	w.ask(body("ada/json", "what is 12*7?"))
	w.ask(ask)
	lethetest.Equal(t, "lines", len(w.said("json")), 6)
	for _, wrong := range []string{`{"type":"yaml"}`, `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{"schema":7}}`} {
		more := strings.TrimSuffix(body("ada/json", "hello"), "}") + `,"response_format":` + wrong + "}"
		lethetest.Words(t, w.refused(400, more), "response_format")
	}
}

// A server that is killed in the middle of an answer has said the line, and the next one knows it.
func TestServerIsGone(t *testing.T) {
	dir := lethetest.Dir(t)
	w := &world{t: t, dir: dir}
	ask := body("ada", "count to 80")
	var first string
	t.Run("before", func(t *testing.T) {
		w.Server = servetest.Start(t, dir, openai.Routes)
		w.live("")
		first = w.begun(strings.TrimSuffix(ask, "}") + `,"stream":true}`)
	})
	t.Run("after", func(t *testing.T) {
		w.Server = servetest.Start(t, dir, openai.Routes)
		if got := w.ask(ask); !strings.HasPrefix(got, first) || !strings.HasSuffix(got, "79 80") {
			t.Errorf("%q after %q", got, first)
		}
		lethetest.Equal(t, "lines", len(w.said("api")), 2)
	})
}

// An identity that stopped in the middle of an answer, and runs again, gives it to who asks again.
func TestStoppedMeanwhile(t *testing.T) {
	w := begin(t, "")
	ask := body("ada", "count to 80")
	w.begun(strings.TrimSuffix(ask, "}") + `,"stream":true}`)
	w.stop()
	lethetest.Words(t, w.refused(503, ask), "not running")
	w.live("")
	if got := w.ask(ask); !strings.HasSuffix(got, "79 80") {
		t.Errorf("%q", got)
	}
	lethetest.Equal(t, "lines", len(w.said("api")), 2)
}

// What keeps an identity from answering is an error that says what to do.
func TestNoAnswer(t *testing.T) {
	w := begin(t, "", rehearsal.Step{Status: 402, Body: `{"error":{"message":"Insufficient Balance"}}`, Times: 1},
		rehearsal.Step{Answer: &rehearsal.Answer{Text: "(nothing)"}, Times: 1})
	got := w.refused(503, body("ada/dev", "hello"))
	lethetest.Words(t, got, "paused", "Insufficient Balance")
	// The same again is said once, and refused again; and the notice in the room is no answer.
	w.refused(503, body("ada/dev", "hello"), "X-Stainless-Retry-Count: 1")
	lethetest.Eventually(t, "a notice", func() bool { return len(w.said("dev")) == 2 })
	if got := w.ask(body("ada/dev", "hello", "", "are you there?")); got != "" {
		t.Errorf("%q", got)
	}
	if lines := w.said("dev"); len(lines) != 3 || lines[2] != "you: are you there?" {
		t.Errorf("%q", lines)
	}
}

func TestNoMoney(t *testing.T) {
	w := begin(t, "people = [\"you\"]\n[budget]\nday_usd = 0.02\n")
	lethetest.Words(t, w.refused(402, body("ada/dev", "hello")), "the next call may cost up to 0.", "/budget +", "0.02 USD")
	w.refused(402, strings.TrimSuffix(body("ada/dev", "hello", "", "again"), "}")+`,"stream":true}`) // nothing has streamed yet
	lethetest.Words(t, w.ask(body("ada/dev", "/budget +2 today")), "2.00 USD more today")
	lethetest.Words(t, w.ask(body("ada/dev", "hello", "", "what is 1+1?")), "1+1 = 2")
}

// A model that breaks off and is asked again: the stream has a beginning too many, and the answer has not.
func TestModelBreaksOff(t *testing.T) {
	w := begin(t, "", rehearsal.Step{Contains: "count to 60", Fault: rehearsal.Truncate})
	got := w.stream(body("ada/dev", "count to 60"))
	answer, _ := strings.CutPrefix(w.said("dev")[1], "ada: ")
	if got.fault != "" || !strings.HasSuffix(got.content, answer) || !strings.HasSuffix(answer, "59 60") {
		t.Errorf("%+v, answer %q", got, answer)
	}
	w.ask(body("ada/dev", "count to 60", got.content, "what is 1+1?"))
	if lines := w.said("dev"); lines[2] != "you: what is 1+1?" {
		t.Errorf("%q", lines)
	}
}

// What a client of POST /v1/responses cannot be given is refused, or told.
func TestResponses(t *testing.T) {
	told := rehearsal.Answer{Text: "```json\n{\"city\": \"Bern\"}\n```"}
	w := begin(t, "", rehearsal.Step{Contains: "which city", Answer: &told, Times: -1})
	structured := `{"model":"ada/json","input":"which city?","text":{"format":{"type":"json_schema","name":"c","schema":{"type":"object"}}}}`
	if text := servetest.Text(t, w.Do(t, "POST", "/v1/responses", structured), 200); !strings.Contains(text, `"text":"{\"city\": \"Bern\"}"`) {
		t.Error(text)
	}
	resp := w.Do(t, "POST", "/v1/responses", `{"model":"ada/r","input":"what is 6*7?","tools":[{"type":"web_search"}]}`)
	text := servetest.Text(t, resp, 200)
	if resp.Header.Get("Lethe-Ignored") != "tools" || !strings.Contains(text, `"text":"6*7 = 42"`) {
		t.Errorf("%v %s", resp.Header, text)
	}
	for body, want := range map[string]string{
		`{"model":"ada/r","input":7}`:                       `"input has to be a text, or a list of messages with a role and a content"`,
		`{"model":"ada/r","input":[]}`:                      "input has to be",
		`{"model":"ada/r"}`:                                 "input has to be",
		`{"model":"ada/r","input":"x","stream":"yes"}`:      `"stream cannot be a JSON string"`,
		`{"model":"ada/r","input":"x","text":{"format":7}}`: `"text.format cannot be a JSON number"`,
		`[]`:   `"the body cannot be a JSON array"`,
		`{bad`: `"the body is no JSON: `,
		`{"model":"ada/r","input":"x","text":{"format":{"type":"json_schema"}}}`:         `"the schema of response_format or text.format has to be an object"`,
		`{"model":"ada/r","input":[{"role":"user","content":[{"type":"input_audio"}]}]}`: "input_audio",
		`{"model":"ada/r","input":"x","tool_choice":"required"}`:                         "own tools",
	} {
		text := servetest.Text(t, w.Do(t, "POST", "/v1/responses", body), 400)
		isShaped := strings.Contains(text, `"type":"invalid_request_error"`) && strings.Contains(text, `"param":null`) &&
			strings.Contains(text, `"code":null`)
		if !strings.Contains(text, want) || !isShaped {
			t.Errorf("%s: %s", body, text)
		}
	}
	w.room("r", "you: what is 6*7?", "ada: 6*7 = 42")
}
