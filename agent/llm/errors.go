package llm

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
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

	bought bool // a part of an answer had come, which is paid for
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
func (c *Client) failure(parent context.Context, a *call, r Request, err error) error {
	found, ok := errors.AsType[*Error](err)
	if !ok {
		found = broken(err)
	}
	e := *found
	switch {
	case parent.Err() != nil:
		e = *canceled(parent)
	case a.ctx.Err() != nil && e.Err != nil: // a timer ended it, and so there is no answer
		e = Error{Kind: Transient, Message: context.Cause(a.ctx).Error(), Err: context.Cause(a.ctx)}
	}
	e.Model, e.Host = clean(r.Model, 100), c.base.Host
	env, withheld := c.keyEnv, c.Withheld()
	switch {
	case e.Status != http.StatusUnauthorized || env == "":
	case withheld != "":
		e.Message += "; " + withheld
	case c.key == "":
		e.Message += "; " + env + " is not set: set it to a key of " + e.Host + " and restart"
	default:
		e.Message += "; set " + env + " to a valid key of " + e.Host + " and restart"
	}
	if e.Status == http.StatusNotFound && c.preset.Dialect == Ollama {
		e.Message += "; lethe models ollama lists what is there, ollama pull NAME gets another one"
	}
	e.Message = c.redact(e.Message + c.notRunning(err))
	e.bought = a.draft != nil && a.draft.weight > 0
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

// notRunning asks whether the server on this machine runs, if it refused a connection.
func (c *Client) notRunning(err error) string {
	if !errors.Is(err, syscall.ECONNREFUSED) || !loopback(c.base) {
		return ""
	}
	known := map[string]string{"ollama": "Ollama", "vllm": "vLLM", "llamacpp": "llama.cpp", "lmstudio": "LM Studio"}
	return fmt.Sprintf(". Is %s running?", cmp.Or(known[c.preset.Name], "the server"))
}

// endings are the reasons to stop, of all providers, in the words of a Reply. Every other reason is a cut: "length".
var endings = map[string]string{
	"stop": "stop", "end": "stop", "end_turn": "stop", "end_of_turn": "stop", "stop_sequence": "stop", "eos": "stop",
	"eos_token": "stop", "complete": "stop", "completed": "stop",
	"tool_calls": "tool_calls", "tool_call": "tool_calls", "tool_use": "tool_calls", "function_call": "tool_calls",

	"content_filter": "content_filter", "content_filtered": "content_filter", "safety": "content_filter",
	"image_safety": "content_filter", "refusal": "content_filter", "recitation": "content_filter",
	"blocklist": "content_filter", "prohibited_content": "content_filter", "spii": "content_filter",
	"sensitive": "content_filter", "guardrail_intervened": "content_filter",

	"error": "error", "network_error": "error", "insufficient_system_resource": "insufficient_system_resource",
	"model_context_window_exceeded": "model_context_window_exceeded",
}

// ending returns the word of a Reply for a provider's reason.
func ending(reason string) string {
	if reason == "" || strings.EqualFold(reason, "null") {
		return ""
	}
	return cmp.Or(endings[strings.ReplaceAll(strings.ToLower(reason), "-", "_")], "length")
}

// worse returns the later of two reasons, unless the earlier one is worse: a failure, or a cut.
func worse(earlier, later string) string {
	rank := func(reason string) int {
		switch reason {
		case "":
			return 0
		case "stop", "tool_calls":
			return 1
		case "length":
			return 2
		}
		return 3
	}
	if rank(earlier) > rank(later) {
		return earlier
	}
	return later
}

// failedFinishes are the reasons to stop with which there is no reply.
var failedFinishes = map[string]Error{
	"insufficient_system_resource":  {Kind: Transient, Message: "the server ran out of resources in mid-reply"},
	"error":                         {Kind: Transient, Message: "the server failed in mid-reply"},
	"content_filter":                {Kind: Permanent, Message: "the provider's content filter withheld the reply"},
	"model_context_window_exceeded": {Kind: Overflow, Message: "the reply ran out of the model's context window"},
}

// check refuses a whole reply that says nothing usable. One that was cut off is
// the caller's to judge. An answer in JSON may look like a call: check takes it if it
// was refused before, and notes the answer that it refuses.
func check(reply Reply, tools json.RawMessage, refused *string) error {
	if e, failed := failedFinishes[reply.Finish]; failed {
		return &e
	}
	if reply.Finish == "length" || len(reply.Calls) > 0 {
		return nil
	}
	if strings.TrimSpace(reply.Text+reply.Reasoning) == "" {
		return &Error{Kind: Garbage, Blank: true, Message: "the reply is blank"}
	}
	if mark := callInText(reply.Text, tools); mark != "" {
		cameTwice := *refused == reply.Text
		if *refused = reply.Text; cameTwice && isObject(strings.TrimSpace(reply.Text)) {
			return nil
		}
		return garbage("the model wrote a call as text (%s): "+
			"the server's chat template or tool parser does not fit the model", mark)
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
