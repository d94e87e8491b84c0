package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/lethetest"
)

var twoCalls = &Answer{Text: "Two things at once.", Calls: []Call{
	{Name: "BASH", Arguments: `{"command":"sleep 100; echo done with the first"}`},
	{Name: "READ_FILE", Arguments: `{"path":"a/long/path/to/some/file.txt"}`},
}}

func TestFaults(t *testing.T) {
	whole := "one two three four five six"
	tests := []struct {
		fault Fault
		check func(g got) string // what is wrong
	}{
		{Truncate, func(g got) string {
			return wrong(g.readErr == nil && !g.done && g.finish == "" && g.chunks > 0 && len(g.text) < len(whole))
		}},
		{Reset, func(g got) string { return wrong(g.readErr != nil && !g.done && g.chunks > 0) }},
		{NoDone, func(g got) string { return wrong(!g.done && g.finish == "stop" && g.text == whole && g.usage != nil) }},
		{NoFinish, func(g got) string { return wrong(g.done && g.finish == "" && g.text == whole) }},
		{NoNewline, func(g got) string { return wrong(strings.HasSuffix(g.raw, "data: [DONE]") && g.text == whole) }},
		{NoSpace, func(g got) string {
			return wrong(strings.HasPrefix(g.raw, "data:{") && strings.HasSuffix(g.raw, "data:[DONE]\n\n") && g.text == whole)
		}},
		{HTML, func(g got) string {
			return wrong(g.status == 200 && g.header.Get("Content-Type") == "text/html" && strings.HasPrefix(g.raw, "<!DOCTYPE html>"))
		}},
		{JSONError, func(g got) string {
			return wrong(g.status == 200 && strings.HasPrefix(g.raw, `{"error":{"message":"Internal server error"`))
		}},
		{ErrorEvent, func(g got) string {
			return wrong(strings.HasSuffix(g.raw, "\n\n"+`data: {"error":{"message":"Internal server error","type":"server_error","param":null,"code":"invalid_request_error"}}`+"\n\n") && !g.done && g.chunks > 1)
		}},
		{Blank, func(g got) string {
			return wrong(g.text != "" && strings.TrimSpace(g.text) == "" && g.done && g.finish == "stop")
		}},
		{Empty, func(g got) string { return wrong(g.text == "" && len(g.calls) == 0 && g.done && g.finish == "stop") }},
		{Length, func(g got) string {
			return wrong(g.finish == "length" && g.done && strings.HasPrefix(whole, g.text) && g.text != whole && g.usage.Completion == Tokens(g.text)+g.usage.Details.Reasoning)
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			s, url := start(t, Options{Script: []Step{{Fault: tt.fault, Answer: &Answer{Text: whole, Reasoning: "so"}}}})
			g := send(t, url, request(user("x")))
			if w := tt.check(g); w != "" {
				t.Errorf("%s: %+v", w, g)
			}
			if s.Pending() != 0 {
				t.Error("the step is still there")
			}
			if g := send(t, url, request(user("count to 1"))); g.text != "1" || !g.done {
				t.Errorf("the next request: %+v", g)
			}
		})
	}
}

func wrong(ok bool) string {
	if ok {
		return ""
	}
	return "not as it should be"
}

func TestCallFaults(t *testing.T) {
	for _, f := range []Fault{RepeatIDs, Interleave, NoIDs, BadArguments} {
		t.Run(string(f), func(t *testing.T) {
			_, url := start(t, Options{Script: []Step{{Fault: f, Answer: twoCalls}}})
			g := send(t, url, request(user("x")))
			if len(g.calls) != 2 || g.finish != "tool_calls" || !g.done {
				t.Fatalf("%+v", g)
			}
			for i, c := range g.calls {
				if c.Name != twoCalls.Calls[i].Name || (f != BadArguments && c.Arguments != twoCalls.Calls[i].Arguments) {
					t.Errorf("call %d: %+v", i, c)
				}
			}
			switch f {
			case RepeatIDs:
				if len(g.ids[0]) < 3 || strings.Count(g.raw, `"name":"BASH"`) < 3 {
					t.Errorf("ids %v", g.ids)
				}
			case NoIDs:
				if strings.Contains(g.raw, `"id":"call`) {
					t.Error(g.raw)
				}
			case BadArguments:
				if json.Valid([]byte(g.calls[0].Arguments)) || json.Valid([]byte(g.calls[1].Arguments)) {
					t.Errorf("%+v", g.calls)
				}
			case Interleave:
				first, second := strings.Index(g.raw, `"index":1`), strings.LastIndex(g.raw, `"index":0,"function"`)
				if first < 0 || second < first {
					t.Error("fragments do not alternate")
				}
			}
		})
	}
	if twoCalls.Calls[0].ID != "" || !json.Valid([]byte(twoCalls.Calls[0].Arguments)) {
		t.Error("the step's answer was changed")
	}
}

func TestStatus(t *testing.T) {
	_, url := start(t, Options{Script: []Step{
		{Status: 429, Headers: map[string]string{"Retry-After": "1.5"}},
		{Status: 402}, {Status: 503}, {Status: 500, Body: "<oops>"},
	}})
	for _, want := range []struct {
		status int
		text   string
	}{{429, "Rate limit reached"}, {402, "Insufficient Balance"}, {503, "too busy"}, {500, "<oops>"}} {
		g := send(t, url, request(user("x")))
		if g.status != want.status || !strings.Contains(g.raw, want.text) {
			t.Errorf("%d %s, want %+v", g.status, g.raw, want)
		}
		if g.status == 429 && g.header.Get("Retry-After") != "1.5" {
			t.Error("no Retry-After")
		}
	}
}

// Hang and Stall end when the client leaves; goleak sees handlers that do not.
func TestHangUntilTheClientLeaves(t *testing.T) {
	for _, f := range []Fault{Hang, Stall} {
		_, url := start(t, Options{Script: []Step{{Fault: f}}})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body(t, request(user("hello")))))
		if err != nil {
			t.Fatal(err)
		}
		if f == Hang {
			time.AfterFunc(20*time.Millisecond, cancel)
			if res, err := http.DefaultClient.Do(req); err == nil {
				t.Errorf("got %s", res.Status)
				res.Body.Close()
			}
			cancel()
			continue
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1)
		if _, err := io.ReadFull(res.Body, buf); err != nil {
			t.Errorf("nothing came before the silence: %v", err)
		}
		cancel()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("the stream ended by itself")
		}
		res.Body.Close()
	}
}

// A pipe is enough of a ResponseWriter to run a handler inside a bubble.
type pipe struct {
	header http.Header
	bytes.Buffer
}

func (p *pipe) Header() http.Header { return p.header }
func (p *pipe) WriteHeader(int)     {}
func (p *pipe) Flush()              {}

func TestTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Pace: time.Second, Script: []Step{
			{Wait: time.Minute, KeepAlive: 5 * time.Minute, Pace: 2 * time.Second, Answer: &Answer{Text: "a b c"}},
			{Answer: &Answer{Text: "a b c"}},
		}})
		ask := func() (*pipe, time.Duration) {
			w := &pipe{header: http.Header{}}
			r, err := http.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body(t, request(user("x")))))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s.ServeHTTP(w, r)
			return w, time.Since(began)
		}
		// Five chunks: role, three words, finish.
		if w, took := ask(); took != 6*time.Minute+8*time.Second || strings.Count(w.String(), ": keep-alive\n\n") != 30 {
			t.Errorf("took %s with %q", took, w)
		}
		if _, took := ask(); took != 4*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestHold(t *testing.T) {
	hold := make(chan struct{})
	s, url := start(t, Options{Script: []Step{{Contains: "slow", Hold: hold, Answer: &Answer{Text: "late"}}}})
	done := make(chan got, 1)
	go func() { done <- send(t, url, request(user("slow"))) }()
	waitFor(t, func() bool { return s.Pending() == 0 })
	if g := send(t, url, request(user("count to 1"))); g.text != "1" {
		t.Errorf("%+v", g)
	}
	select {
	case g := <-done:
		t.Errorf("answered while held: %+v", g)
	default:
	}
	close(hold)
	if g := <-done; g.text != "late" || !g.done {
		t.Errorf("%+v", g)
	}
}

func TestStepsMatch(t *testing.T) {
	s, url := start(t, Options{Script: []Step{
		{Contains: "apple", Skip: 1, Times: 2, Answer: &Answer{Text: "A"}},
		{Task: "summarise", Times: -1, Answer: &Answer{Text: "S"}},
		{Match: func(r *Request) bool { return slices.Contains(r.Tools, "BASH") }, Answer: &Answer{Text: "M"}},
		{Task: "none", Contains: "pear", Answer: &Answer{Text: "N"}},
	}})
	task := `<task name="summarise" from="e1" to="e2">pear</task>`
	const noBash = "That needs BASH, which I am not offered here."
	for i, tt := range []struct{ ask, want string }{
		{"run apple", noBash}, {"run apple", "A"}, {"run apple", "A"}, {"run apple", noBash},
		{task, "S"}, {task, "S"}, {"run pear", "N"}, {"run pear", noBash},
	} {
		if g := send(t, url, request(user(tt.ask))); g.text != tt.want {
			t.Errorf("request %d: %q, want %q", i, g.text, tt.want)
		}
	}
	if g := send(t, url, with(request(user("x")), obj{"tools": tools("BASH")})); g.text != "M" {
		t.Errorf("%q", g.text)
	}
	if s.Pending() != 1 {
		t.Errorf("%d steps left", s.Pending())
	}
	s.Push(Step{Answer: &Answer{Text: "P", Finish: "content_filter"}})
	if g := send(t, url, request(user("x"))); g.text != "P" || g.finish != "content_filter" {
		t.Errorf("%+v", g)
	}
}

// The page about the format is right: its example is read, and it names every fault.
func TestLoadScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.json")
	load := func(text string) ([]Step, error) {
		lethetest.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return LoadScript(path)
	}
	for text, want := range map[string][]Step{
		lethetest.Blocks(t, "rehearse.md", "json")[0]: {
			{Contains: "what is 12*7", Status: 429, Headers: map[string]string{"Retry-After": "1"}, Times: 2},
			{Contains: "deploy", Skip: 1, Answer: &Answer{Text: "I look.", Reasoning: "It wants to know.", Calls: []Call{{Name: "READ_FILE", Arguments: `{"path": "deploy.md"}`}}}},
			{Task: "summarise", Times: -1, Fault: Truncate},
			{Wait: 2 * time.Second, KeepAlive: 30 * time.Second, Pace: 50 * time.Millisecond},
		},
		`{"steps":[{"status":500,"body":"b"},{"answer":{"finish":"length","calls":[{"id":"c1","name":"LIST","arguments":"not json"},{"name":"COMPACT"}]}}]}`: {
			{Status: 500, Body: "b"}, {Answer: &Answer{Finish: "length", Calls: []Call{{"c1", "LIST", "not json"}, {Name: "COMPACT", Arguments: "{}"}}}},
		},
	} {
		if steps, err := load(text); err != nil || !reflect.DeepEqual(steps, want) {
			t.Errorf("got  %+v: %v\nwant %+v", steps, err, want)
		}
	}
	for f := range faults {
		if !strings.Contains(lethetest.Page(t, "rehearse.md"), "`"+string(f)+"`") && f != "" {
			t.Errorf("the page does not name %s", f)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"steps":[{"contain":"x"}]}`, `{"steps":[{"answer":{"txt":"x"}}]}`, `{"step":[]}`,
		`{"steps":[{"fault":"sneeze"}]}`, `{"steps":[{"task":"sing"}]}`, `{"steps":[{"wait":"-1s"}]}`,
		`{"steps":[{"wait":5}]}`, `{"steps":[{"status":99}]}`,
	} {
		if _, err := load(bad); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
