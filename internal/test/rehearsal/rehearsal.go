// Package rehearsal is the offline model of package agent/llm/rehearsal for tests. It adds a prefix cache, which counts
// whole messages in blocks of 64 tokens, apart for every user_id; and a script: the model's answers to requests, and
// the faults of a provider.
package rehearsal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/agent/llm/rehearsal"
)

// Those of the offline model.
type (
	Answer  = rehearsal.Answer
	Call    = rehearsal.Call
	Request = rehearsal.Request
)

// Options say how a Server behaves. The zero value is a strict, instant server
// with DeepSeek's models and window.
type Options struct {
	Window int           // context window in tokens, 0: DeepSeek's
	Pace   time.Duration // delay between streamed chunks, 0: none
	Script []Step        // what to do instead of answering; see Step
	Sees   bool          // it takes pictures
	Saw    func(string)  // is told of each: image/png 640x480; may be nil
	Record int           // how many of the newest requests to keep for Requests
}

// Server is an http.Handler that answers chat/completions. It is safe for
// concurrent use.
type Server struct {
	opts  Options
	model *rehearsal.Server

	mu    sync.Mutex
	steps []Step     // those with uses left, in order
	kept  []Recorded // oldest first
	usage Usage
	seen  map[[sha256.Size]byte]bool // what the cache knows: ends of messages
}

// Recorded is a request as it came in.
type Recorded struct {
	Body    []byte
	Refused string // why it was refused; "" when it was accepted
}

// Usage are totals in tokens; Input includes Cached, Output includes Reasoning.
type Usage struct {
	Calls     int // accepted requests that got an answer
	Refused   int
	Input     int
	Cached    int
	Output    int
	Reasoning int
}

// New returns a server. It starts nothing.
func New(o Options) *Server {
	s := &Server{opts: o, steps: slices.Clone(o.Script), seen: map[[sha256.Size]byte]bool{}}
	s.opts.Window = cmp.Or(o.Window, DefaultWindow)
	s.model = rehearsal.New(rehearsal.Options{Answer: s.answer, Cached: s.cached})
	return s
}

// Push adds steps behind the present ones.
func (s *Server) Push(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Pending is the number of steps that have uses left.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// Requests returns the newest requests as received, oldest first, refused ones
// included: as many as Options.Record says.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// Usage returns the totals since New.
func (s *Server) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// exchange is one request on its way to an answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	prefix prefix
	step   Step
}

type exchangeKey struct{}

// answer takes the step for an accepted request, and waits as long as it says.
func (s *Server) answer(ctx context.Context, r *Request) *Answer {
	exchange := ctx.Value(exchangeKey{}).(*exchange)
	exchange.step = s.take(r)
	if exchange.step.Hold != nil || exchange.step.Fault == Hang {
		select {
		case <-exchange.step.Hold: // never, if it hangs
		case <-ctx.Done():
		}
	}
	return exchange.step.Answer
}

// ServeHTTP lets the model answer, and plays the answer as the step says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the client died while it sent this
		return
	}
	exchange := &exchange{w: w}
	exchange.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, exchange))
	exchange.r.Body = io.NopCloser(bytes.NewReader(body))
	text, refused := body, error(nil)
	if s.opts.Sees {
		text, refused = read(body, s.opts.Saw)
		exchange.r.Body = io.NopCloser(bytes.NewReader(text))
	}
	if refused == nil && r.Method == http.MethodPost {
		exchange.prefix, refused = refusal(text, s.opts.Window)
	}
	s.keep(func() { s.kept = append(s.kept, Recorded{Body: body}) })
	made := httptest.NewRecorder()
	if refused == nil {
		s.model.ServeHTTP(made, exchange.r)
	} else {
		made.WriteHeader(http.StatusBadRequest)
		const kind = "invalid_request_error"
		problem := map[string]any{"message": refused.Error(), "type": kind, "param": nil, "code": kind}
		_ = json.NewEncoder(made).Encode(map[string]any{"error": problem})
	}
	if exchange.r.Context().Err() != nil {
		return
	}
	if made.Code != http.StatusOK {
		var said struct{ Error struct{ Message string } }
		_ = json.Unmarshal(made.Body.Bytes(), &said)
		s.keep(func() {
			s.usage.Refused++
			for i := range s.kept {
				if &s.kept[i].Body[0] == &body[0] {
					s.kept[i].Refused = said.Error.Message
				}
			}
		})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(made.Code)
		_, _ = w.Write(made.Body.Bytes())
		return
	}
	if exchange.step.Status != 0 {
		exchange.refuse()
		return
	}
	s.play(exchange, strings.SplitAfter(strings.TrimSuffix(made.Body.String(), "\n\n"), "\n\n"))
}

func (s *Server) keep(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	s.kept = s.kept[max(0, len(s.kept)-s.opts.Record):]
}

// refuse sends the step's error.
func (x *exchange) refuse() {
	body := x.step.Body
	if body == "" {
		body = `{"error":{"message":` + strconv.Quote(http.StatusText(x.step.Status)) + `,"type":"invalid_request_error"}}`
	}
	for k, v := range x.step.Headers {
		x.w.Header().Set(k, v)
	}
	x.w.WriteHeader(x.step.Status)
	_, _ = io.WriteString(x.w, body)
}

// play streams the events of an answer up to [DONE], or breaks it off where the fault says so.
func (s *Server) play(exchange *exchange, events []string) {
	last := len(events) - 2
	s.count(events[last])
	exchange.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	exchange.w.WriteHeader(http.StatusOK)
	for exchange.step.Fault == Quiet && exchange.send(": keep-alive\n\n", time.Second) {
	}
	switch exchange.step.Fault {
	case Stall, Truncate:
		events = events[:max(1, last/2)]
	case NoDone:
		events = events[:last+1]
	case Understate:
		events[last] = tokens.ReplaceAllStringFunc(events[last], func(field string) string {
			name, n, _ := strings.Cut(field, ":")
			tenth, _ := strconv.Atoi("0" + n[:len(n)-1])
			return name + ":" + strconv.Itoa(tenth)
		})
	}
	for i, e := range events {
		pace := s.opts.Pace
		if i == 0 || i >= last {
			pace = 0
		}
		if !exchange.send(e, pace) {
			return
		}
	}
	if exchange.step.Fault == Stall {
		<-exchange.r.Context().Done()
	}
}

var tokens = regexp.MustCompile(`tokens":\d+`)

// count adds what an answer's usage says.
func (s *Server) count(event string) {
	var e struct {
		Usage struct {
			Input   int `json:"prompt_tokens"`
			Cached  int `json:"prompt_cache_hit_tokens"`
			Output  int `json:"completion_tokens"`
			Details struct {
				Reasoning int `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	_ = json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &e)
	s.keep(func() {
		s.usage.Calls++
		s.usage.Input += e.Usage.Input
		s.usage.Cached += e.Usage.Cached
		s.usage.Output += e.Usage.Output
		s.usage.Reasoning += e.Usage.Details.Reasoning
	})
}

// send sends after a pause. False: the client has left.
func (x *exchange) send(text string, after time.Duration) bool {
	if after > 0 {
		select {
		case <-time.After(after):
		case <-x.r.Context().Done():
		}
	}
	if x.r.Context().Err() != nil {
		return false
	}
	_, err := io.WriteString(x.w, text)
	return err == nil && http.NewResponseController(x.w).Flush() == nil
}
