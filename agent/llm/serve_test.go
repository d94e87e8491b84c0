package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testKey is the key of every test client: it must never come out again.
const testKey = "sk-0123456789-very-secret"

// whole is the shortest stream that makes a reply.
const whole = `data: {"model":"m","choices":[{"index":0,"delta":{"content":"hello"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`

// events makes a stream of the given data values, each an event.
func events(values ...string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "data: %s\n\n", v)
	}
	return b.String()
}

// delta is an event whose first choice has this delta.
func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

const (
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = `[DONE]`
)

// answers serves the handlers in turn, the last one for ever.
func answers(handlers ...http.HandlerFunc) http.Handler {
	var mu sync.Mutex
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[min(n, len(handlers)-1)]
		n++
		mu.Unlock()
		h(w, r)
	})
}

// text answers 200 with an event stream.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}
}

// status answers with a status, headers as "Name: value", and a body.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// server starts a real HTTP server and a client for it without retries.
func server(t *testing.T, h http.Handler) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client(t, Config{Preset: "deepseek", BaseURL: srv.URL, Key: testKey, MaxRetries: -1})
}

func client(t *testing.T, conf Config) *Client {
	t.Helper()
	c, err := New(conf)
	lethetest.Must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// inMemory serves h over pipes, so that a synctest bubble owns every wait. stop
// ends everything; it must be called inside the bubble.
func inMemory(t *testing.T, conf Config, h http.Handler) (c *Client, stop func()) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() { srv.Serve(l); close(ended) }()
	transport := &http.Transport{DialContext: l.dial}
	conf.Transport, conf.BaseURL, conf.Key = transport, "http://model.test", testKey
	conf.Preset = "deepseek"
	c, err := New(conf)
	lethetest.Must(t, err)
	return c, func() {
		transport.CloseIdleConnections()
		srv.Close()
		<-ended
		synctest.Wait() // the connections' goroutines
	}
}

type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask is the request of tests that do not care.
var ask = Request{Model: "m", Messages: []Message{{Role: "user", Content: Text("hi")}}}

// failed completes ask, and returns the *Error it must end with.
func failed(t *testing.T, c *Client, r Request) *Error {
	t.Helper()
	reply, err := c.Complete(t.Context(), r, nil)
	if err == nil {
		t.Fatalf("got a reply: %+v", reply)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %T is no *Error: %v", err, err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, e, e.Err), testKey) {
		t.Fatalf("error shows the key: %v", err)
	}
	return e
}

// within fails unless d is in [low, high].
func within(t *testing.T, what string, d, low, high time.Duration) {
	t.Helper()
	if d < low || d > high {
		t.Errorf("%s: %v, want between %v and %v", what, d, low, high)
	}
}
