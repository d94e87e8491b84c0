package rehearsal_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"lethe/agent/llm/rehearsal"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type obj = map[string]any

// counted, choice and chunk are what a client reads of an event.
type counted struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Hit        int `json:"prompt_cache_hit_tokens"`
	Miss       int `json:"prompt_cache_miss_tokens"`
	Details    struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type choice struct {
	Delta struct {
		Content   string
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			Index    int
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Finish string `json:"finish_reason"`
}

type chunk struct {
	Choices []choice
	Usage   *counted
}

// got is what a client made of a response.
type got struct {
	status    int
	header    http.Header
	raw       string
	text      string
	reasoning string
	calls     []rehearsal.Call
	finish    string
	done      bool
	usage     *counted
	chunks    int
	readErr   error
}

func start(t *testing.T, o rehearsal.Options) (*rehearsal.Server, string) {
	t.Helper()
	s := rehearsal.New(o)
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ts.Close()
	})
	return s, ts.URL + "/chat/completions"
}

// saying is a model with one answer.
func saying(a rehearsal.Answer) rehearsal.Options {
	return rehearsal.Options{Answer: func(context.Context, *rehearsal.Request) *rehearsal.Answer { return &a }}
}

func body(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func send(t *testing.T, url string, v any) got {
	t.Helper()
	res, err := http.Post(url, "application/json", bytes.NewReader(body(t, v)))
	if err != nil { // not Fatal: some tests send from goroutines
		t.Errorf("post: %v", err)
		return got{readErr: err}
	}
	defer res.Body.Close()
	return read(t, res)
}

func read(t *testing.T, res *http.Response) got {
	t.Helper()
	var raw bytes.Buffer
	_, err := io.Copy(&raw, res.Body)
	g := got{status: res.StatusCode, header: res.Header, raw: raw.String(), readErr: err}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return g
	}
	sc := bufio.NewScanner(&raw)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		g.line(t, sc.Text())
	}
	return g
}

func (g *got) line(t *testing.T, line string) {
	t.Helper()
	data, ok := strings.CutPrefix(line, "data:")
	if !ok {
		return
	}
	data = strings.TrimSpace(data)
	if data == "[DONE]" {
		g.done = true
		return
	}
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Errorf("chunk %q: %v", data, err)
		return
	}
	g.chunks++
	if c.Usage != nil {
		if len(c.Choices) != 0 {
			t.Errorf("the usage chunk has choices: %s", data)
		}
		g.usage = c.Usage
	}
	for _, ch := range c.Choices {
		g.add(ch)
	}
}

func (g *got) add(ch choice) {
	g.text += ch.Delta.Content
	g.reasoning += ch.Delta.Reasoning
	for _, d := range ch.Delta.Calls {
		for len(g.calls) <= d.Index {
			g.calls = append(g.calls, rehearsal.Call{})
		}
		c := &g.calls[d.Index]
		c.Name = cmp.Or(c.Name, d.Function.Name)
		c.ID = cmp.Or(d.ID, c.ID)
		c.Arguments += d.Function.Arguments
	}
	g.finish = cmp.Or(ch.Finish, g.finish)
}

func (g got) error(t *testing.T) (message, kind string) {
	t.Helper()
	var e struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal([]byte(g.raw), &e); err != nil {
		t.Fatalf("error body %q: %v", g.raw, err)
	}
	if e.Error.Code != "invalid_request_error" || e.Error.Param != nil {
		t.Errorf("error body %q", g.raw)
	}
	return e.Error.Message, e.Error.Type
}

func user(text string) obj   { return obj{"role": "user", "content": text} }
func system(text string) obj { return obj{"role": "system", "content": text} }
func said(text string) obj {
	return obj{"role": "assistant", "content": text, "reasoning_content": "r"}
}
func result(id, text string) obj {
	return obj{"role": "tool", "tool_call_id": id, "content": text}
}

func called(calls ...rehearsal.Call) obj {
	var list []obj
	for _, c := range calls {
		list = append(list, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": c.Arguments}})
	}
	return obj{"role": "assistant", "content": nil, "reasoning_content": "r", "tool_calls": list}
}

func request(messages ...obj) obj {
	return obj{
		"model": "deepseek-v4-pro", "messages": messages, "stream": true,
		"stream_options": obj{"include_usage": true},
	}
}

var allTools = []string{"SAY", "JOIN", "LEAVE", "READ_FILE", "WRITE_FILE", "EDIT_FILE", "LIST", "BASH", "UNCOMPACT",
	"RECALL", "COMPACT", "SPAWN"}

func tools(names ...string) []obj {
	var out []obj
	for _, n := range names {
		out = append(out, obj{"type": "function", "function": obj{
			"name": n, "description": "d", "parameters": obj{"type": "object", "properties": obj{}},
		}})
	}
	return out
}

func with(r obj, more obj) obj {
	for k, v := range more {
		if v == nil {
			delete(r, k)
			continue
		}
		r[k] = v
	}
	return r
}
