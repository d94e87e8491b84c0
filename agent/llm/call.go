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
	errNoAnswer = errors.New("nothing of an answer came in time, though the server keeps the connection alive")
)

// afterFinish bounds the silence behind a finish reason, in which the usage, [DONE] or the end of the connection
// may still come. What came before it is the answer.
const afterFinish = 5 * time.Second

// newHTTP leaves silence to the idle timer. Pings find a dead HTTP/2 connection, which would otherwise be used again
// for the retry. A connection is kept for each call that was under way at once, however many identities call, and
// closed when it was idle for long.
func newHTTP(transport http.RoundTripper) http.Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second}
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, math.MaxInt
		t.DisableCompression = true // a compressed stream arrives in lumps
		transport = t
	}
	// A redirected POST would carry prompt and key to a host nobody chose.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return http.Client{Transport: transport, CheckRedirect: stay}
}

// call is one attempt, with the timers that may end it.
type call struct {
	patience time.Duration
	ctx      context.Context
	stop     context.CancelFunc // ends ctx
	idle     *time.Timer        // restarted by each byte, sent or received
	silent   *time.Timer        // restarted by each byte sent, and by each event that brings something
	sent     atomic.Bool        // the whole request
	answered bool               // a status has come
	draft    *draft             // once the server has begun to answer
}

// begin starts the timers of an attempt.
func begin(parent context.Context, patience time.Duration) *call {
	ctx, stop := context.WithTimeout(parent, callCap)
	ctx, cancel := context.WithCancelCause(ctx)
	return &call{
		patience: patience, ctx: ctx, stop: stop,
		idle:   time.AfterFunc(idleTimeout, func() { cancel(errIdle) }),
		silent: time.AfterFunc(patience, func() { cancel(errNoAnswer) }),
	}
}

func (a *call) end() {
	a.idle.Stop()
	a.silent.Stop()
	a.stop()
}

// touch restarts the idle timer. A timer that fires twice, or after the end, changes nothing.
func (a *call) touch() { a.idle.Reset(idleTimeout) }

// progress notes that the call goes on, and is not only kept alive.
func (a *call) progress() {
	a.touch()
	patience := a.patience
	if a.draft != nil && a.draft.reply.Finish != "" {
		patience = afterFinish
	}
	a.silent.Reset(patience)
}

// ask sends the request and reads the answer to its end.
func (c *Client) ask(a *call, r Request, on func(Delta)) (Reply, error) {
	req, err := c.request(a, r)
	if err != nil {
		return Reply{}, &Error{Kind: Permanent, Message: clean(err.Error(), 300), Err: err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, broken(err)
	}
	a.answered = true
	a.progress()
	body := &watched{resp.Body, a.touch}
	defer body.Close()
	if resp.StatusCode != http.StatusOK {
		return Reply{}, refusal(resp, body, c.redact)
	}
	a.draft = newDraft(c.preset, on, a.progress)
	reply, err := a.draft.read(newStream(body, c.redact))
	if err != nil {
		return Reply{}, err
	}
	return reply, check(reply, r.Tools, r.refused)
}

// request makes the HTTP request of an attempt.
func (c *Client) request(a *call, r Request) (*http.Request, error) {
	parts, err := c.preset.parts(r)
	if err != nil {
		return nil, err
	}
	ctx := httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { a.sent.Store(i.Err == nil) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = c.header("text/event-stream")
	for _, part := range parts {
		req.ContentLength += int64(len(part))
	}
	req.GetBody = func() (io.ReadCloser, error) { // also lets the transport replay a request that no server saw
		rest := slices.Clone(parts)
		return &watched{io.NopCloser(&rest), a.progress}, nil
	}
	req.Body, err = req.GetBody()
	return req, err
}

// header returns the header of each request, with the key.
func (c *Client) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}, "Content-Type": {"application/json"}, "User-Agent": {"lethe"}}
	switch {
	case c.preset.Dialect == Anthropic:
		h.Set("Anthropic-Version", "2023-06-01")
		h.Set("X-Api-Key", c.key)
	case c.key != "":
		h.Set("Authorization", "Bearer "+c.key)
	}
	return h
}

// redact removes the key from text that came from outside.
func (c *Client) redact(s string) string {
	if c.key == "" {
		return s
	}
	return strings.ReplaceAll(s, c.key, "[key]")
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
