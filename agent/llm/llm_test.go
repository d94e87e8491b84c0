package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

func TestComplete(t *testing.T) {
	var got []Delta
	c := server(t, text(": keep-alive\n\n"+events(
		`{"id":"1","model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"role":"assistant","content":null,`+
			`"reasoning_content":"let me "},"finish_reason":null}],"usage":null}`,
		delta(`{"reasoning_content":"see"}`),
		delta(`{"content":"I will "}`),
		delta(`{"content":"look"}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"READ_FILE","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`),
		`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64,`+
			`"prompt_cache_miss_tokens":36,"completion_tokens_details":{"reasoning_tokens":7}}}`,
		done)))
	reply, err := c.Complete(t.Context(), ask, func(d Delta) { got = append(got, d) })
	lethetest.Must(t, err)
	want := Reply{
		Text: "I will look", Reasoning: "let me see", Finish: "tool_calls", Model: "deepseek-v4-pro",
		Calls: []ToolCall{{ID: "a", Name: "READ_FILE", Arguments: `{"path":"x"}`}},
		Usage: Usage{Input: 100, Cached: 64, Output: 20, Reasoning: 7},
	}
	if !reflect.DeepEqual(reply, want) {
		t.Errorf("got  %+v\nwant %+v", reply, want)
	}
	wantDeltas := []Delta{{Reasoning: "let me "}, {Reasoning: "see"}, {Text: "I will "}, {Text: "look"}, {}, {}, {}}
	if !reflect.DeepEqual(got, wantDeltas) {
		t.Errorf("deltas %+v\nwant   %+v", got, wantDeltas)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	var path, auth, contentType string
	var body []byte
	c := server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth, contentType = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, whole)
	}))
	_, err := c.Complete(t.Context(), ask, nil)
	lethetest.Must(t, err)
	if path != "/chat/completions" || auth != "Bearer "+testKey || contentType != "application/json" {
		t.Errorf("path %q, authorization %q, content type %q", path, auth, contentType)
	}
	want, err := c.Preset().Body(ask)
	lethetest.Must(t, err)
	if !bytes.Equal(body, want) {
		t.Errorf("sent %s\nBody %s", body, want)
	}
}

// A key in the environment belongs to its provider; without one nothing is sent.
func TestNoKeyNoHeader(t *testing.T) {
	t.Setenv("DEEPSEEK_API_KEY", testKey)
	t.Setenv("LETHE_API_KEY", "")
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		io.WriteString(w, whole)
	}))
	defer srv.Close()
	for _, preset := range []string{"deepseek", "custom", ""} {
		c := client(t, Config{Preset: preset, BaseURL: srv.URL})
		_, err := c.Complete(t.Context(), ask, nil)
		lethetest.Must(t, err)
		if got := header.Get("Authorization"); got != "" {
			t.Errorf("preset %q sent %q", preset, got)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		e := failed(t, server(t, status(code, "", "Location: "+other.URL+"/"+testKey)), ask)
		if e.Kind != Permanent || e.Status != code || !strings.Contains(e.Message, strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %+v", code, e)
		}
	}
	if followed.Load() {
		t.Error("a redirect was followed")
	}
}

func TestKeyStaysInside(t *testing.T) {
	var log bytes.Buffer
	echo := `{"error":{"message":"bad key ` + testKey + `","type":"` + testKey + `","code":"` + testKey + `"}}`
	long := strings.Repeat("x", maxMessage-10) + testKey // cut in the middle of the key
	for name, h := range map[string]http.HandlerFunc{
		"error body":    status(401, echo),
		"long message":  status(400, long),
		"stream error":  text(events(echo)),
		"broken event":  text("data: {" + testKey + "\n\n"),
		"page":          text("<html><title>" + testKey + "</title></html>"),
		"plain":         text("no " + testKey),
		"stray error":   text("data: {}\n" + echo + "\n"),
		"escaped slash": status(400, `{"message":"sk-0123456789\u002dvery-secret"}`),
	} {
		srv := httptest.NewServer(h)
		c := client(t, Config{Preset: "deepseek", BaseURL: srv.URL, Key: testKey, MaxRetries: -1,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		e := failed(t, c, ask)
		if strings.Contains(e.Message, "sk-0123456789") {
			t.Errorf("%s: %+v", name, e)
		}
		srv.Close()
	}
	if log.Len() == 0 || strings.Contains(log.String(), "sk-0123456789") {
		t.Errorf("log is empty or shows the key:\n%s", log.String())
	}
}

// opaque hides that it is a context of package context, which makes each
// derived context cost a goroutine until it is canceled: a leak becomes visible.
type opaque struct {
	context.Context
	done chan struct{}
}

func (o opaque) Done() <-chan struct{} { return o.done }

func TestNothingIsLeftBehind(t *testing.T) {
	c := server(t, answers(text(whole), status(500, ""), text("data: {}\n\n"), status(400, "")))
	parent := opaque{context.Background(), make(chan struct{})}
	for range 50 {
		c.Complete(parent, ask, nil)
	}
	c.Close()
	if err := goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*Server).Serve"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("testing.(*T).Run")); err != nil {
		t.Error(err)
	}
}

func TestCancelInMidStream(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	released := make(chan struct{})
	c := server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, events(delta(`{"content":"half"}`)))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client hung up
		close(released)
	}))
	why := errors.New("user typed /stop")
	var got []Delta
	_, err := c.Complete(ctx, ask, func(d Delta) {
		got = append(got, d)
		if d.Text != "" {
			cancel(why)
		}
	})
	<-released
	if KindOf(err) != Canceled || !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if want := []Delta{{Text: "half"}, {Reset: true}}; !reflect.DeepEqual(got, want) {
		t.Errorf("deltas %+v, want %+v", got, want)
	}
}

func TestCanceledBeforehand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := false
	c := server(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	_, err := c.Complete(ctx, ask, nil)
	if KindOf(err) != Canceled || called {
		t.Errorf("err %v, called %v", err, called)
	}
}

func TestBadRequestIsNotSent(t *testing.T) {
	called := false
	c := server(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	for _, r := range []Request{{Model: "m", Tools: json.RawMessage(`{`)}, {Model: "m", Tools: json.RawMessage(`{}`)}} {
		if e := failed(t, c, r); e.Kind != Permanent {
			t.Errorf("%+v: %v", r, e)
		}
	}
	if called {
		t.Error("a bad request reached the server")
	}
}

func TestConnectionRefused(t *testing.T) {
	srv := httptest.NewServer(nil)
	c := client(t, Config{BaseURL: srv.URL, MaxRetries: -1})
	srv.Close()
	e := failed(t, c, ask)
	if e.Kind != Transient || !strings.Contains(e.Message, "refused") || strings.Contains(e.Message, "error sending") {
		t.Errorf("got %v", e)
	}
}

func TestUntrustedCertificateNeedsAPerson(t *testing.T) {
	srv := httptest.NewUnstartedServer(text(whole))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	defer srv.Close()
	if e := failed(t, client(t, Config{BaseURL: srv.URL, MaxRetries: -1}), ask); e.Kind != Permanent {
		t.Errorf("got %v", e)
	}
}

// What a provider wants back is not kept where a key stands in it, or in what it was signed with.
func TestOpaqueWithAKey(t *testing.T) {
	const key = "~k-of-this-test-0123456789"
	secret.Add(key) // one test at a time
	reply := func(text, opaque, args, ofCall string) Reply {
		return Reply{Text: text, Opaque: opaque, Calls: []ToolCall{{Name: "BASH", Arguments: args, Opaque: ofCall}}}.Redacted()
	}
	if r := reply("so", "[1]", "{}", "{}"); r.Opaque != "[1]" || r.Calls[0].Opaque != "{}" {
		t.Errorf("%+v", r)
	}
	for _, r := range []Reply{reply(key, "[1]", "{}", "{}"), reply("so", `["`+key+`"]`, "{}", "{}"),
		reply("so", "[1]", key, "{}"), reply("so", "[1]", "{}", key)} {
		if r.Opaque != "" || r.Calls[0].Opaque != "" || strings.Contains(fmt.Sprint(r), key) {
			t.Errorf("%+v", r)
		}
	}
}
