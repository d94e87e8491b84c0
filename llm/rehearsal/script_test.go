package rehearsal

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

var twoCalls = &Answer{Text: "Two things at once.", Calls: []Call{
	{Name: "BASH", Arguments: `{"command":"sleep 100; echo done with the first"}`},
	{Name: "READ_FILE", Arguments: `{"path":"a/long/path/to/some/file.txt"}`},
}}

func TestFaults(t *testing.T) {
	whole := "one two three four five six"
	for fault, ok := range map[Fault]func(g got) bool{
		Truncate: func(g got) bool {
			return g.readErr == nil && !g.done && g.finish == "" && g.chunks > 0 && len(g.text) < len(whole)
		},
		NoDone: func(g got) bool { return !g.done && g.finish == "stop" && g.text == whole && g.usage != nil },
		Understate: func(g got) bool {
			return g.done && g.text == whole && g.usage.Completion == (Tokens(whole)+Tokens("so"))/10
		},
	} {
		s, url := start(t, Options{Script: []Step{{Fault: fault, Answer: &Answer{Text: whole, Reasoning: "so"}}}})
		if g := send(t, url, request(user("x"))); !ok(g) || s.Pending() != 0 {
			t.Errorf("%s: %+v", fault, g)
		}
		if g := send(t, url, request(user("count to 1"))); g.text != "1" || !g.done {
			t.Errorf("%s, the next request: %+v", fault, g)
		}
	}
}

// Parallel calls come in fragments, one call after the other.
func TestCalls(t *testing.T) {
	_, url := start(t, Options{Script: []Step{{Answer: twoCalls}}})
	g := send(t, url, request(user("x")))
	if len(g.calls) != 2 || g.finish != "tool_calls" || !g.done {
		t.Fatalf("%+v", g)
	}
	for i, c := range g.calls {
		if c.ID == "" || c.Name != twoCalls.Calls[i].Name || c.Arguments != twoCalls.Calls[i].Arguments {
			t.Errorf("call %d: %+v", i, c)
		}
	}
	if twoCalls.Calls[0].ID != "" {
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
	}{{429, "Too Many Requests"}, {402, "Payment Required"}, {503, "Service Unavailable"}, {500, "<oops>"}} {
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
	for _, f := range []Fault{Hang, Stall, Quiet} {
		_, url := start(t, Options{Script: []Step{{Fault: f}}})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body(t, request(user("hello")))))
		lethetest.Must(t, err)
		res, err := http.DefaultClient.Do(req)
		if f == Hang && err == nil {
			t.Errorf("got %s", res.Status)
		}
		if err == nil {
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Error("the stream ended by itself")
			}
			res.Body.Close()
		}
		cancel()
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Pace: time.Second, Script: []Step{{Answer: &Answer{Text: "a b c"}}}})
		w, began := httptest.NewRecorder(), time.Now()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body(t, request(user("x"))))))
		if took := time.Since(began); took != 4*time.Second { // five chunks: role, three words, finish
			t.Errorf("took %s", took)
		}
	})
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
			{Contains: "deploy", Skip: 1, Answer: &Answer{Text: "I look.", Reasoning: "It wants to know.", Calls: []Call{{Name: "READ_FILE", Arguments: `{"path":"deploy.md"}`}}}},
			{Task: "summarise", Times: -1, Fault: Truncate},
		},
		`{"steps":[{"status":500,"body":"b"},{"answer":{"finish":"length","calls":[{"id":"c1","name":"LIST","arguments":"not json"},{"name":"COMPACT","arguments":"{}"}]}}]}`: {
			{Status: 500, Body: "b"}, {Answer: &Answer{Finish: "length", Calls: []Call{{"c1", "LIST", "not json"}, {Name: "COMPACT", Arguments: "{}"}}}},
		},
	} {
		if steps, err := load(text); err != nil || !reflect.DeepEqual(steps, want) {
			t.Errorf("got  %+v: %v\nwant %+v", steps, err, want)
		}
	}
	for _, f := range faults {
		if !strings.Contains(lethetest.Page(t, "rehearse.md"), "`"+string(f)+"`") && f != "" {
			t.Errorf("the page does not name %s", f)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"steps":[{"contain":"x"}]}`, `{"steps":[{"answer":{"txt":"x"}}]}`, `{"step":[]}`,
		`{"steps":[{"fault":"sneeze"}]}`, `{"steps":[{"task":"sing"}]}`, `{"steps":[{"status":99}]}`,
	} {
		if _, err := load(bad); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
