package llm

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// errIdle is the cause of a context that the idle timer canceled.
var errIdle = errors.New("no byte from the server within the idle timeout")

// doer is the HTTP client under the library: it writes requests, holds the key,
// watches for silence, and hands up only answers that the library can read.
type doer struct {
	target
	client http.Client
}

func newDoer(t target, transport http.RoundTripper) *doer {
	if transport == nil {
		transport = newTransport()
	}
	// A redirected POST would carry prompt and key to a host nobody chose.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &doer{target: t, client: http.Client{Transport: transport, CheckRedirect: stay}}
}

// newTransport leaves silence to the idle timer. Pings find a dead HTTP/2 connection,
// which would otherwise be used again for the retry. A connection is kept for each call that was
// under way at once, however many identities call, and closed when it was idle for long.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second}
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, math.MaxInt
	t.DisableCompression = true // a compressed stream arrives in lumps
	return t
}

type callKey struct{}

// call is the state of one attempt. It travels to Do in the context, the only
// way through the library.
type call struct {
	request Request
	idle    time.Duration
	timer   *time.Timer
	sent    atomic.Bool // the whole request
	heard   bool        // a status has come
}

// begin starts the idle timer of one attempt. Everything the library derives
// from the context ends with end.
func begin(parent context.Context, r Request, idle time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &call{request: r, idle: idle, timer: time.AfterFunc(idle, func() { cancel(errIdle) })}
	return context.WithValue(ctx, callKey{}, c), func() { c.timer.Stop(); cancel(context.Canceled) }
}

// touch restarts the idle timer. One that fires twice, or after the end, changes nothing.
func (c *call) touch() { c.timer.Reset(c.idle) }

// Do implements deepseek.HTTPDoer. What it returns without error is an event
// stream in the form the library reads; anything else becomes an *Error.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	c := req.Context().Value(callKey{}).(*call)
	out, err := d.outgoing(req, c)
	if err != nil {
		return nil, &Error{Kind: Permanent, Message: clean(err.Error(), 300), Err: err}
	}
	resp, err := d.client.Do(out)
	if err != nil {
		return nil, broken(err)
	}
	c.touch()
	c.heard = true
	body := &watched{resp.Body, c}
	if resp.StatusCode != http.StatusOK {
		defer body.Close()
		return nil, refusal(resp, body, d.redact)
	}
	resp.Body = newStream(body, d.redact)
	return resp, nil
}

// outgoing replaces the library's request, which knows neither raw tool schemas nor
// thinking nor other providers, by our own, with the key.
func (d *doer) outgoing(req *http.Request, c *call) (*http.Request, error) {
	body, err := d.preset.parts(c.request)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, part := range body {
		size += len(part)
	}
	fresh := func() (io.ReadCloser, error) {
		rest := slices.Clone(body)
		return &watched{io.NopCloser(&rest), c}, nil
	}
	out := req.Clone(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { c.sent.Store(i.Err == nil) },
	}))
	out.Body, _ = fresh()
	out.GetBody = fresh // lets the transport replay a request that no server saw
	out.ContentLength = int64(size)
	out.Header = d.header("text/event-stream")
	return out, nil
}

// header is that of each request, with the key.
func (d *doer) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}, "Content-Type": {"application/json"}, "User-Agent": {"lethe"}}
	if d.key != "" {
		h.Set("Authorization", "Bearer "+d.key)
	}
	return h
}

// redact removes the key from text that came from outside.
func (d *doer) redact(s string) string {
	if d.key == "" {
		return s
	}
	return strings.ReplaceAll(s, d.key, "[key]")
}

// watched restarts the idle timer with each byte that passes.
type watched struct {
	io.ReadCloser
	call *call
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.call.touch()
	}
	return n, err
}
