package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// ErrNoKey says that the provider wants an API key and none was found.
var ErrNoKey = errors.New("no api key")

// Kind says what a failed call asks for.
type Kind int

const (
	// Transient failures pass by themselves: 408, 409, 425, 429, 5xx, a broken or
	// silent connection, a server without resources. Retried.
	Transient Kind = iota + 1
	// Permanent failures need a person: a bad key, no money, a wrong model or
	// address, a request that is refused as it is.
	Permanent
	// Overflow means that the request is larger than the model's window. Not
	// retried: the same request would fail again.
	Overflow
	// Truncated means that the stream ended before the reply did. Retried.
	Truncated
	// Garbage is an answer that is none: a web page, a blank, broken JSON.
	// Retried once.
	Garbage
	// Canceled means that the caller's context ended the call.
	Canceled
)

func (k Kind) String() string {
	switch k {
	case Transient:
		return "transient"
	case Permanent:
		return "permanent"
	case Overflow:
		return "overflow"
	case Truncated:
		return "truncated"
	case Garbage:
		return "garbage"
	case Canceled:
		return "canceled"
	}
	return "unknown"
}

// Error is a call that brought no reply.
type Error struct {
	Kind    Kind
	Status  int    // HTTP status, 0 when there was none or it was 200
	Type    string // the provider's own classification, often ""
	Code    string // the provider's own code, often ""
	Message string // one line, at most 600 runes, without the key
	// RetryAfter is the wait that the provider asked for, 0 for none.
	RetryAfter time.Duration
	// Limit is the window in tokens that an Overflow told, 0 when it told none.
	Limit int
	Model string // the model asked
	Host  string // the host asked
	Err   error  // the cause, when there is one below this package
}

// Error says who was asked, what the provider answered, and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("call ")
	b.WriteString(or(e.Model, "model"))
	if e.Host != "" {
		b.WriteString(" at " + e.Host)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else {
		b.WriteString(": " + e.Kind.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain, 0 when there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// failure gives every error of an attempt its final form. The caller's own
// cancellation wins over whatever it broke on the way.
func (c *Client) failure(parent, ctx context.Context, r Request, err error) error {
	e := classify(ctx, err)
	if parent.Err() != nil {
		e = canceled(parent)
	}
	e.Model, e.Host = clean(r.Model, 100), c.doer.base.Host
	e.Message = c.doer.redact(e.Message)
	switch env := c.doer.keyEnv; {
	case e.Status != http.StatusUnauthorized || env == "":
	case c.doer.key == "":
		e.Message += "; " + env + " is not set: set it to a key of " + e.Host + " and restart"
	default:
		e.Message += "; set " + env + " to a valid key of " + e.Host + " and restart"
	}
	e.Type, e.Code = c.doer.redact(e.Type), c.doer.redact(e.Code)
	return e
}

// canceled describes the end of ctx; errors.Is finds both ctx.Err() and its cause.
func canceled(ctx context.Context) *Error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{Kind: Canceled, Message: clean(err.Error(), 200), Err: err}
}

// classify turns an error of the transport, the library or this package into
// an *Error.
func classify(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		c := *e // a copy: who made it may share it
		return &c
	}
	if t, ok := errors.AsType[*transportError](err); ok {
		err = t.err
	}
	e := &Error{Kind: Transient, Message: clean(err.Error(), 300), Err: err}
	cert, badCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		e.Message, e.Err = errIdle.Error(), errIdle
	case badCert:
		e.Kind, e.Message = Permanent, clean(cert.Error(), 300)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		e.Kind, e.Message = Truncated, "connection closed before the end of the reply"
	}
	return e
}

// kindOfStatus is the table of HTTP statuses; the text of an answer can only
// turn its result into Overflow, or a 429 into Permanent.
func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return Overflow
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict,
		status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return Transient
	}
	return Permanent
}

// check refuses a whole reply that says nothing usable. One that was cut off is
// the caller's to judge.
func check(r Request, reply Reply) error {
	switch reply.Finish {
	case "length":
		return nil
	case "insufficient_system_resource":
		return &Error{Kind: Transient, Code: reply.Finish, Message: "the server ran out of resources in mid-reply"}
	case "error":
		return &Error{Kind: Transient, Code: reply.Finish, Message: "the server failed in mid-reply"}
	case "content_filter":
		return &Error{Kind: Permanent, Code: reply.Finish, Message: "the provider's content filter withheld the reply"}
	case "model_context_window_exceeded":
		return &Error{Kind: Overflow, Code: reply.Finish, Message: "the reply ran out of the model's context window"}
	}
	blank := strings.TrimSpace(reply.Text) == "" && len(reply.Calls) == 0
	if blank && (r.JSON || strings.TrimSpace(reply.Reasoning) == "") {
		return &Error{Kind: Garbage, Code: "blank", Message: "the reply is blank"}
	}
	return nil
}

// clean makes text from outside fit for one line: control characters and line
// breaks become spaces, and what is longer than limit runes is cut.
func clean(s string, limit int) string {
	var b strings.Builder
	space, n := false, 0
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			space = b.Len() > 0
			continue
		}
		if n >= limit {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
