package rehearsal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say how a Server behaves. The zero value is a strict, instant server
// with DeepSeek's models and window.
type Options struct {
	Window int           // context window in tokens, 0: DefaultWindow
	Pace   time.Duration // delay between streamed chunks, 0: none; tasks have none, since nobody watches them
	Script []Step        // what to do instead of answering; see Step
	Record int           // how many of the newest requests to keep for Requests
}

// maxBody bounds a request; a full window of CJK text is about 4 MB.
const maxBody = 64 << 20

// Server is an http.Handler that answers chat/completions. It is safe for
// concurrent use.
type Server struct {
	opts     Options
	listener net.Listener // set by Listen, before Serve

	mu    sync.Mutex
	steps []Step     // those with uses left, in order
	kept  []Recorded // oldest first
	usage Usage
	seen  map[[sha256.Size]byte]bool // ends of messages
}

// Recorded is a request as it came in.
type Recorded struct {
	Body    []byte
	Refused string // why it was refused; "" when it was accepted
}

// New returns a server. It starts nothing.
func New(o Options) *Server {
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
	return &Server{opts: o, steps: slices.Clone(o.Script), seen: map[[sha256.Size]byte]bool{}}
}

// Push adds steps behind those that are still to come.
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

// Listen binds a loopback address, such as "127.0.0.1:0", and returns the base
// URL for clients. Connections wait until Serve is called. Callers pass no other
// address: anyone who reaches the port is answered.
func (s *Server) Listen(addr string) (url string, err error) {
	if s.listener, err = net.Listen("tcp", addr); err != nil {
		return "", fmt.Errorf("listen on %s: %w", addr, err)
	}
	return "http://" + s.listener.Addr().String() + "/", nil
}

// Serve answers requests until ctx is done. Running answers are cut off. It returns nil
// for an end by ctx.
func (s *Server) Serve(ctx context.Context) error {
	srv := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	err := srv.Serve(s.listener)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
}

// ServeHTTP answers POST /chat/completions, with and without /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1")
	if route != "POST /chat/completions" {
		(&refusal{http.StatusNotFound, "Not Found: " + route}).write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		invalid("Failed to read the request body: %v", err).write(w)
		return
	}
	req, ref := parseRequest(body, s.opts.Window)
	s.record(body, ref)
	if ref != nil {
		ref.write(w)
		return
	}
	x := &exchange{w: w, ctx: r.Context(), req: req, step: s.take(req), pace: s.opts.Pace}
	if _, ok := taskOf(req.Messages); ok {
		x.pace = 0
	}
	s.play(x)
}

func (s *Server) record(body []byte, ref *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := Recorded{Body: body}
	if ref != nil {
		rec.Refused = ref.message
		s.usage.Refused++
	}
	s.kept = append(s.kept, rec)
	s.kept = s.kept[max(0, len(s.kept)-s.opts.Record):]
}

// refusal is an answer that is an error: a status and the error object.
type refusal struct {
	status  int
	message string
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// write sends the error in DeepSeek's shape.
func (r *refusal) write(w http.ResponseWriter) {
	const kind = "invalid_request_error"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	problem := object{"message": r.message, "type": kind, "param": nil, "code": kind}
	_ = json.NewEncoder(w).Encode(object{"error": problem}) // a client that has left hears nothing
}

// play answers an accepted request: with the step's error, or with the step's or the model's answer and its fault.
func (s *Server) play(x *exchange) {
	if held := x.step.Hold; held != nil || x.step.Fault == Hang {
		wait(x, held) // for ever, if it hangs
	}
	if x.ctx.Err() != nil {
		return
	}
	if x.step.Status != 0 {
		for k, v := range x.step.Headers {
			x.w.Header().Set(k, v)
		}
		if x.step.Body == "" {
			(&refusal{x.step.Status, http.StatusText(x.step.Status)}).write(x.w)
			return
		}
		x.w.WriteHeader(x.step.Status)
		_, _ = io.WriteString(x.w, x.step.Body)
		return
	}
	request := x.req.ends()
	input := request[len(request)-1]
	x.id = hex.EncodeToString(input.hash[:10])
	answer := x.answer()
	u := newUsage(input.tokens, s.hit(request), answer)
	s.mu.Lock()
	s.usage.add(u) // before the client can see the end, and in full whatever it gets to see
	s.mu.Unlock()
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	if x.stream(answer, u) { // the client got it whole
		s.hit(x.req.ends(Message{"assistant", &answer.Text, &answer.Reasoning, answer.Calls, ""}))
	}
}
