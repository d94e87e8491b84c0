package llm

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// ErrNoKey says that the provider wants an API key and no key was found.
var ErrNoKey = errors.New("no api key")

// Kind sorts failed calls by the next step of a caller.
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
	// Garbage means that something else came than a reply: a web page, a blank, broken JSON.
	// Retried once.
	Garbage
	// Canceled means that the caller's context ended the call.
	Canceled
)

var kinds = []string{"unknown", "transient", "permanent", "overflow", "truncated", "garbage", "canceled"}

func (k Kind) String() string { return kinds[k] }

// Error is a call that brought no reply.
type Error struct {
	Kind    Kind
	Status  int    // HTTP status; 0 for 200 and for no status
	Blank   bool   // the reply came whole and said nothing
	Message string // one line, at most 600 runes, without the key
	// RetryAfter is the wait that the provider asked for, or 0.
	RetryAfter time.Duration
	// Limit is the window in tokens that an Overflow told, or 0.
	Limit int
	Model string // the model asked
	Host  string // the host asked
	Err   error  // the cause, when there is one below this package
}

// Error names the model and the host, the provider's answer, and the cause.
func (e *Error) Error() string {
	s := "call " + cmp.Or(e.Model, "model")
	if e.Host != "" {
		s += " at " + e.Host
	}
	if e.Status != 0 {
		s += fmt.Sprintf(": status %d", e.Status)
	}
	return s + ": " + cmp.Or(e.Message, e.Kind.String())
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain, or 0.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// failure gives every error of an attempt its final form. The caller's own
// cancellation wins over whatever it broke on the way.
func (c *Client) failure(parent, ctx context.Context, r Request, err error) error {
	found, ok := errors.AsType[*Error](err)
	if !ok {
		found = broken(err)
	}
	e := *found
	switch {
	case parent.Err() != nil:
		e = *canceled(parent)
	case ctx.Err() != nil && e.Err != nil: // a timer ended it, and so there is no answer
		e = Error{Kind: Transient, Message: context.Cause(ctx).Error(), Err: context.Cause(ctx)}
	}
	e.Model, e.Host = clean(r.Model, 100), c.base.Host
	switch env := c.keyEnv; {
	case e.Status != http.StatusUnauthorized || env == "":
	case c.key == "":
		e.Message += "; " + env + " is not set: set it to a key of " + e.Host + " and restart"
	default:
		e.Message += "; set " + env + " to a valid key of " + e.Host + " and restart"
	}
	e.Message = c.redact(e.Message)
	return &e
}

// canceled describes the end of ctx; errors.Is finds both ctx.Err() and its cause.
func canceled(ctx context.Context) *Error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{Kind: Canceled, Message: clean(err.Error(), 200), Err: err}
}

// broken describes what failed below the protocol. It drops the address that net/http
// puts around a cause: the host is in Error.Host, and the path is nobody's business.
func broken(err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	e := &Error{Kind: Transient, Message: clean(err.Error(), 300), Err: err}
	if cert, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
		e.Kind, e.Message = Permanent, clean(cert.Error(), 300)
	} else if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Kind, e.Message = Truncated, "connection closed before the end of the reply"
	}
	return e
}

// failedFinishes are the reasons to stop with which there is no reply.
var failedFinishes = map[string]Error{
	"insufficient_system_resource":  {Kind: Transient, Message: "the server ran out of resources in mid-reply"},
	"error":                         {Kind: Transient, Message: "the server failed in mid-reply"},
	"content_filter":                {Kind: Permanent, Message: "the provider's content filter withheld the reply"},
	"model_context_window_exceeded": {Kind: Overflow, Message: "the reply ran out of the model's context window"},
}

// check refuses a whole reply that says nothing usable. One that was cut off is
// the caller's to judge.
func check(reply Reply) error {
	if e, failed := failedFinishes[reply.Finish]; failed {
		return &e
	}
	blank := strings.TrimSpace(reply.Text+reply.Reasoning) == "" && len(reply.Calls) == 0
	if blank && reply.Finish != "length" {
		return &Error{Kind: Garbage, Blank: true, Message: "the reply is blank"}
	}
	return nil
}

// clean makes text from outside fit for one line: control characters and line
// breaks become spaces, and what is longer than limit runes is cut.
func clean(s string, limit int) string {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf)
	})
	runes := []rune(strings.Join(words, " "))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}
