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

// Causes of a context that a timer canceled.
var (
	errIdle     = errors.New("no byte from the server within the idle timeout")
	errNoAnswer = errors.New("nothing of an answer came within answer_timeout, though the server keeps the connection alive")
)

// afterFinish bounds the silence behind a finish reason, in which the usage, [DONE] or the end of the connection
// may still come. What came before it is the answer.
const afterFinish = 5 * time.Second

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
	conf    Config
	idle    *time.Timer // restarted by each byte, sent or received
	silent  *time.Timer // restarted by each byte sent, and by each event that brings something
	sent    atomic.Bool // the whole request
	heard   bool        // a status has come
}

// begin starts the timers of one attempt. Everything the library derives
// from the context ends with end.
func begin(parent context.Context, r Request, conf Config) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &call{
		request: r, conf: conf,
		idle:   time.AfterFunc(conf.IdleTimeout, func() { cancel(errIdle) }),
		silent: time.AfterFunc(conf.AnswerTimeout, func() { cancel(errNoAnswer) }),
	}
	return context.WithValue(ctx, callKey{}, c), func() { c.idle.Stop(); c.silent.Stop(); cancel(context.Canceled) }
}

// touch restarts the idle timer. A timer that fires twice, or after the end, changes nothing.
func (c *call) touch() { c.idle.Reset(c.conf.IdleTimeout) }

// alive notes that the call goes on, and is not only kept alive.
func (c *call) alive(finished bool) {
	c.touch()
	c.silent.Reset(map[bool]time.Duration{true: afterFinish, false: c.conf.AnswerTimeout}[finished])
}

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
	c.alive(false)
	c.heard = true
	body := &watched{resp.Body, c.touch}
	if resp.StatusCode != http.StatusOK {
		defer body.Close()
		return nil, refusal(resp, body, d.redact)
	}
	resp.Body = newStream(body, d.redact, c.alive)
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
		return &watched{io.NopCloser(&rest), func() { c.alive(false) }}, nil
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

// watched tells of bytes that pass.
type watched struct {
	io.ReadCloser
	passed func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.passed()
	}
	return n, err
}
