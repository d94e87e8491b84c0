package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
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
	own    *http.Transport // nil when the transport is the caller's
}

func newDoer(t target, transport http.RoundTripper) *doer {
	d := &doer{target: t}
	if transport == nil {
		d.own = newTransport()
		transport = d.own
	}
	d.client = http.Client{
		Transport: transport,
		// A redirected POST would carry prompt and key to a host nobody chose.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return d
}

// newTransport bounds only connecting; the rest is the idle timer's. Pings find
// a dead HTTP/2 connection, which would otherwise be used again for the retry.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // a compressed stream arrives in lumps
	}
}

type callKey struct{}

// call is the state of one attempt. It travels to Do in the context, the only
// way through the library.
type call struct {
	request  Request
	sent     int
	received atomic.Int64
	idle     time.Duration
	cancel   context.CancelCauseFunc

	mu    sync.Mutex  // the transport writes and reads in two goroutines
	timer *time.Timer // nil once the call has ended
}

// begin starts the idle timer of one attempt. Everything the library derives
// from the context ends with end.
func (d *doer) begin(parent context.Context, r Request, idle time.Duration) (context.Context, *call) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &call{request: r, idle: idle, cancel: cancel}
	c.timer = time.AfterFunc(idle, func() { cancel(errIdle) })
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { c.touch(); return nil },
	})
	return context.WithValue(ctx, callKey{}, c), c
}

func (c *call) end() {
	c.mu.Lock()
	c.timer.Stop()
	c.timer = nil
	c.mu.Unlock()
	c.cancel(context.Canceled)
}

// touch restarts the idle timer. One that has fired stays fired: the context is
// canceled by then.
func (c *call) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && c.timer.Stop() {
		c.timer.Reset(c.idle)
	}
}

// Do implements deepseek.HTTPDoer. What it returns without error is an event
// stream in the form the library reads; anything else becomes an *Error.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("send request: no call in the context")
	}
	out, err := d.outgoing(req, c)
	if err != nil {
		return nil, &Error{Kind: Permanent, Message: clean(err.Error(), 300), Err: err}
	}
	resp, err := d.client.Do(out)
	if err != nil {
		return nil, broken(err)
	}
	c.touch()
	body := &watched{from: resp.Body, call: c, incoming: true}
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
	if c.request.Model == "" {
		return nil, errNoModel
	}
	body, err := d.preset.Body(c.request)
	if err != nil {
		return nil, err
	}
	c.sent = len(body)
	fresh := func() (io.ReadCloser, error) {
		return &watched{from: io.NopCloser(bytes.NewReader(body)), call: c}, nil
	}
	out := req.Clone(req.Context())
	out.Body, _ = fresh()
	out.GetBody = fresh // lets the transport replay a request that no server saw
	out.ContentLength = int64(len(body))
	out.Header = http.Header{
		"Accept":       {"text/event-stream"},
		"Content-Type": {"application/json"},
		"User-Agent":   {"lethe"},
	}
	if d.key != "" {
		out.Header.Set("Authorization", "Bearer "+d.key)
	}
	return out, nil
}

// transportError marks what failed below the protocol, so that the wrapping of
// the layers above can be dropped from messages.
type transportError struct{ err error }

func (t *transportError) Error() string { return t.err.Error() }
func (t *transportError) Unwrap() error { return t.err }

// broken drops the address that net/http puts around a cause: the host is in
// Error.Host, and the path is nobody's business.
func broken(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &transportError{err}
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
	from     io.ReadCloser
	call     *call
	incoming bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.call.touch()
		if w.incoming {
			w.call.received.Add(int64(n))
		}
	}
	return n, err
}

func (w *watched) Close() error { return w.from.Close() }
