// Package llm calls a language model over an OpenAI-compatible HTTP API.
//
// The smallest use:
//
//	c, err := llm.New(llm.Config{}) // DeepSeek, key from DEEPSEEK_API_KEY
//	if err != nil { … }
//	defer c.Close()
//	reply, err := c.Complete(ctx, llm.Request{
//		Model:    c.Preset().Model,
//		Messages: []llm.Message{{Role: "user", Content: llm.Text("good morning")}},
//	}, func(d llm.Delta) { fmt.Print(d.Text) })
//
// What it guarantees:
//
//   - A Reply is whole: the model gave a finish reason, with or without the stream's [DONE].
//     Everything else is an *Error; its Kind tells the caller's next step. Delta.Reset
//     takes back the text that a failed attempt has streamed.
//   - The body of a request is a pure function of the Request and the preset, and
//     grows only at its end when the Request goes on with the reply, so a provider's
//     prefix cache can serve nearly all of it.
//   - A silent server is noticed: any byte, sent or received, restarts one idle
//     timer that also covers the wait for headers. A server that only keeps the connection
//     alive is given up after the AnswerTimeout.
//   - A key is sent to the host it belongs to and nowhere else: not to another
//     provider, not along a redirect, not into an error or a log line.
//
// It reads no file and, of the environment, the key variable of the chosen
// preset and the proxy settings. Of deepseek-go it uses the types of an answer. Its client
// would lose tool schemas, errors and truncation, and ends a call after a fixed time
// however lively it is: so what goes out is written here, byte for byte, and each event is
// read once. Presets cover what other providers want differently.
package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/internal/secret"
	"lethe/mind/message"
)

// The types of package message, which minds render without knowing a client.
type (
	Message  = message.Message
	ToolCall = message.Call
	Content  = message.Content
)

// Text is the content of a message that is one text.
func Text(s string) message.Content { return message.Text(s) }

// Weight returns the weighted characters of a text.
func Weight(s string) int { return message.Weight(s) }

// Request is everything that shapes one answer.
type Request struct {
	Model    string // as the provider names it; required
	Messages []Message
	Prefix   Prefix // what Messages begin with, as the caller keeps it; may be empty
	// Tools is the "tools" array in JSON, sent as it is except for insignificant
	// whitespace. Nothing is sent if it is empty or an empty array.
	Tools     json.RawMessage
	MaxTokens int    // bound on the output, reasoning included; 0 leaves it out
	Window    int    // tokens that an Ollama server is to hold, the output included; 0 leaves it out
	Thinking  string // "enabled" or "disabled"; "" leaves it to the provider
	Effort    string // "low", "high" or "max"; "" leaves it to the provider
	// UserID keeps the provider's cache and limits of one identity apart from
	// others: the same in every request of a life.
	UserID string
	Spare  bool // replies without calls go without a stand-in for their reasoning
	// Patience bounds a time without a piece of an answer, where another model can stand in; 0 is the AnswerTimeout. A
	// Slow preset gets slowFactor times as much.
	Patience time.Duration
	// Pay, when not nil, is asked before each attempt, with what those before it have cost.
	// Its error ends the call.
	Pay func(Waste) error

	pictures *pictures // that parts name; nil shows their texts alone
	refused  *string   // the last reply that was refused since it looks like a call
}

// Delta is a piece of a reply on its way, for screens. Only the Reply counts.
type Delta struct {
	Reset     bool   // forget everything shown of this reply: the attempt failed
	Reasoning string // more thinking
	Text      string // more text; neither when a tool call is on its way
}

// Usage counts the tokens of one call as the provider reports them; zero if it
// reports no usage.
type Usage struct {
	Input     int `json:"input"`            // the whole prompt, Cached included
	Cached    int `json:"cached"`           // of Input, what came from the prefix cache
	Written   int `json:"written,omitzero"` // of Input, what the cache took in at a price of its own
	Output    int `json:"output"`           // everything generated, Reasoning included
	Reasoning int `json:"reasoning"`        // of Output, what was thinking
}

// AtLeast is the usage with at least so many tokens: where a provider tells fewer, the shares of its
// cache stay.
func (u Usage) AtLeast(input, output int) Usage {
	if input > u.Input {
		grown := func(n int) int { return int(int64(n) * int64(input) / int64(max(u.Input, 1))) }
		u.Cached, u.Written = grown(u.Cached), grown(u.Written)
		u.Input = input
	}
	u.Output = max(u.Output, output)
	return u
}

// Weight returns the weighted characters of the answer.
func (r Reply) Weight() int {
	return Message{Content: Text(r.Text), Reasoning: r.Reasoning, Calls: r.Calls}.Weight() - Message{}.Weight()
}

// Reply is a whole answer.
type Reply struct {
	Text      string
	Reasoning string
	Opaque    string     // JSON that the provider wants back as it is
	Calls     []ToolCall // in the order of their index
	// Finish is why the model stopped: "stop", "tool_calls", or "length" where the answer was cut off, which leaves text
	// and calls incomplete.
	Finish string
	Model  string // the model that answered, as the provider names it
	Usage  Usage
	Waste  Waste // what came before it and brought no reply; also set beside an error
}

// Redacted returns the reply without the secrets that this process holds.
func (r Reply) Redacted() Reply {
	all := r.Text + r.Opaque
	for i, c := range r.Calls {
		all += c.Name + c.Arguments + c.Opaque
		r.Calls[i].Name, r.Calls[i].Arguments = secret.Text(c.Name), secret.Text(c.Arguments)
	}
	if secret.Text(all) != all { // Opaque belongs to the texts beside it
		r.Opaque = ""
		for i := range r.Calls {
			r.Calls[i].Opaque = ""
		}
	}
	r.Text, r.Reasoning = secret.Text(r.Text), secret.Text(r.Reasoning)
	return r
}

// Waste counts attempts without a reply that were billed, or may have been.
type Waste struct {
	Calls      int   // attempts that were billed, by all signs
	Usage      Usage // of the calls whose usage the provider told
	Uncounted  int   // calls that ended before it told
	Streamed   int   // weighted characters that uncounted calls had brought; see Weight
	Unanswered int   // further attempts, sent and without any answer; they may have been billed
}

// add counts an attempt that failed. One whose stream was open and brought no usage cost
// nobody knows how much, but its prompt was read.
func (w *Waste) add(a *call) {
	d := a.draft
	if d == nil {
		if a.sent.Load() && !a.answered {
			w.Unanswered++
		}
		return
	}
	w.Calls++
	counted := d.reply.Usage
	if (counted == Usage{}) || d.reply.Finish == "" { // Anthropic tells of the request at once, and of the answer in the end
		w.Uncounted++
		w.Streamed += d.weight
		return
	}
	w.Usage.Input += counted.Input
	w.Usage.Cached += counted.Cached
	w.Usage.Written += counted.Written
	w.Usage.Output += counted.Output
	w.Usage.Reasoning += counted.Reasoning
}

// Config names the model server and bounds the patience with it. Its zero value is
// DeepSeek with the key in DEEPSEEK_API_KEY.
type Config struct {
	// Preset is a name of Presets. Empty chooses by the host of BaseURL; without one, by the Model,
	// and else deepseek.
	Preset string
	// Model is the model that will be asked, as a Name; it may be empty.
	Model string
	// BaseURL is the address that chat/completions is appended to, with or without a
	// final slash; empty means the preset's.
	BaseURL string
	// Key is sent to the host of BaseURL as a bearer token. Empty takes the
	// preset's environment variable, but only for the provider's own host.
	Key string
	// AnswerTimeout bounds how long nothing may come of an answer, whatever keeps the connection
	// alive. 0 means 10 minutes. It is not asked again: Complete has taken long already.
	AnswerTimeout time.Duration
	// MaxRetries bounds the attempts after the first. 0 means 8, about three
	// minutes; negative means no retry.
	MaxRetries int
	// Log gets one debug line an attempt, without keys or content. It may be nil.
	Log *slog.Logger
	// OnRetry is told before each wait, from the goroutine of Complete.
	OnRetry func(err error, wait time.Duration)
	// Blob reads what the Ref of a part names. nil shows no pictures: models read their texts.
	Blob func(hash string) ([]byte, error)
	// Transport replaces the default one, which honours the proxy environment.
	// It must not follow redirects.
	Transport http.RoundTripper
}

// idleTimeout bounds silence, on the way out, before the headers, and within the
// stream. DeepSeek itself gives up after 10 minutes without inference and sends
// keep-alives until then, so 300 s of true silence is a dead connection.
const idleTimeout = 300 * time.Second

// Defaults of Config.
const (
	defaultAnswer  = 10 * time.Minute
	defaultRetries = 8
)

// callCap bounds one attempt, however lively its stream: 384K tokens, the
// longest output there is, take about two hours at 50 tokens a second.
const callCap = 6 * time.Hour

// Client calls one model server. It is safe for concurrent use.
type Client struct {
	target
	http     http.Client
	conf     Config
	pictures *pictures
}

// New prepares a client; it does not connect. The error wraps ErrNoKey if the
// provider wants a key and there is no key.
func New(conf Config) (*Client, error) {
	target, err := aim(conf)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	conf.AnswerTimeout = cmp.Or(conf.AnswerTimeout, defaultAnswer)
	conf.MaxRetries = cmp.Or(conf.MaxRetries, defaultRetries)
	conf.Log = cmp.Or(conf.Log, slog.New(slog.DiscardHandler))
	conf.Key = "" // from here on only the target knows it
	return &Client{target, newHTTP(conf.Transport), conf, &pictures{read: conf.Blob, kept: map[[sha256.Size]byte]shown{}}}, nil
}

// Preset returns the preset in use.
func (c *Client) Preset() PresetInfo { return c.preset }

// Host returns the host that requests go to, for people.
func (c *Client) Host() string { return c.base.Host }

// Key returns the variable of the environment that holds the key, and whether it is set.
func (c *Client) Key() (name string, set bool) { return c.keyEnv, c.key != "" }

// Withheld says why the key of a provider is not sent to another address, if no other key is set. Otherwise it is "".
func (c *Client) Withheld() string {
	own, env := c.preset.KeyEnv, c.keyEnv
	isWithheld := c.preset.KeyRequired && env != own && env != ""
	if c.key != "" || !isWithheld {
		return ""
	}
	return fmt.Sprintf("%s goes to the provider's own address alone: set %s to a key of %s and restart", own, env, c.Host())
}

// Look asks the endpoint, for nothing, which models it serves, with their windows, and what its clock says. What it
// does not tell is empty.
func (c *Client) Look(ctx context.Context) (status int, date time.Time, models Known, err error) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+"models", nil) // of a parsed URL
	req.Header = c.header("application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		e := broken(err)
		e.Host, e.Message = c.Host(), c.redact(e.Message+c.notRunning(err))
		return 0, date, nil, e
	}
	defer resp.Body.Close()
	date, _ = http.ParseTime(resp.Header.Get("Date"))
	var list struct {
		Data []struct {
			ID     string
			Window int `json:"context_length"` // OpenRouter's word
			Most   int `json:"max_model_len"`  // vLLM's
			Meta   struct {
				Held int `json:"n_ctx"` // llama.cpp's
			}
		}
	}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list)
	models = Known{}
	for _, m := range list.Data {
		told := Info{Window: max(m.Window, m.Most, m.Meta.Held, 0), From: time.Now().UTC().Format(time.DateOnly) + " " + c.Host()}
		models[strings.TrimPrefix(m.ID, "models/")] = told // Gemini's prefix, which it takes without
	}
	return resp.StatusCode, date, models, nil
}

// Here returns the models that servers on this machine offer at the usual addresses of their presets, as preset:model. It
// waits for half a second at most.
func Here(ctx context.Context) (models []string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second/2)
	defer cancel()
	found := make([][]string, len(presets))
	var looks sync.WaitGroup
	for i, preset := range presets {
		client, err := New(Config{Preset: preset.Name})
		if err != nil || preset.KeyRequired {
			continue
		}
		looks.Go(func() {
			defer client.Close()
			_, _, list, _ := client.Look(ctx) // without one, nothing runs there
			for _, name := range slices.Sorted(maps.Keys(list)) {
				found[i] = append(found[i], preset.Name+":"+name)
			}
		})
	}
	looks.Wait()
	return slices.Concat(found...)
}

// Close releases idle connections. Calls under way are not disturbed.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Complete sends r and returns the whole reply, after as many attempts as
// Config allows. on, when not nil, is called from this goroutine with each
// piece as it comes; after a failed attempt that showed anything it gets a
// Delta with Reset alone. Any error is an *Error; the Reply beside it holds nothing
// but its Waste.
func (c *Client) Complete(ctx context.Context, r Request, on func(Delta)) (Reply, error) {
	r.refused = new(string)
	if on == nil {
		on = func(Delta) {}
	}
	var waste Waste
	r.pictures = c.pictures
	reply, err := c.retry(ctx, r, func() (Reply, error) {
		if r.Pay != nil {
			if err := r.Pay(waste); err != nil {
				refused := &Error{Kind: Permanent, Message: "not asked: " + err.Error(), Err: err}
				refused.Model, refused.Host = clean(r.Model, 100), c.Host()
				return Reply{}, refused
			}
		}
		shown := false
		reply, err := c.attempt(ctx, r, &waste, func(d Delta) { shown = true; on(d) })
		if err != nil && shown {
			on(Delta{Reset: true})
		}
		return reply, err
	})
	reply.Waste = waste
	return reply, err
}

// slowFactor multiplies the patience with a model that may think unseen, or is loaded and reads first.
const slowFactor = 5

// patience bounds the time without a piece of an answer.
func (c *Client) patience(r Request) time.Duration {
	patience := cmp.Or(r.Patience, c.conf.AnswerTimeout)
	if c.preset.Slow && r.Patience > 0 {
		patience *= slowFactor
	}
	return min(patience, c.conf.AnswerTimeout)
}

// attempt makes one call and reads it to its end.
func (c *Client) attempt(parent context.Context, r Request, waste *Waste, on func(Delta)) (Reply, error) {
	began := time.Now()
	a := begin(parent, c.patience(r))
	defer a.end()
	reply, err := c.ask(a, r, on)
	if err != nil {
		err = c.failure(parent, a, r, err)
		waste.add(a)
	}
	c.conf.Log.Debug("model call", "model", r.Model, "host", c.Host(), "took", time.Since(began), "err", err)
	return reply, err
}
