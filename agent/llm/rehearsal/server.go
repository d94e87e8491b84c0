package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Options say how a Server behaves. The zero value is an instant server.
type Options struct {
	Pace time.Duration // delay between streamed chunks; 0, and for tasks always: no delay
	// Answer returns the answer to a request. The model answers itself if Answer is nil or returns nil.
	Answer func(context.Context, *Request) *Answer
	// Cached returns the tokens of a request that a prefix cache would serve; nil counts no token as cached.
	Cached func(context.Context, *Request, Answer) int
}

// Answer is an answer of the model. Calls without ids get some.
type Answer struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    string // finish_reason; "": stop or tool_calls
}

// maxBody bounds a request; a full window of CJK text is about 4 MB.
const maxBody = 64 << 20

// Server is an http.Handler that answers chat/completions. It is safe for
// concurrent use.
type Server struct {
	opts     Options
	listener net.Listener // set by Listen, before Serve
}

// New returns a server. It starts nothing.
func New(o Options) *Server {
	if o.Answer == nil {
		o.Answer = func(context.Context, *Request) *Answer { return nil }
	}
	if o.Cached == nil {
		o.Cached = func(context.Context, *Request, Answer) int { return 0 }
	}
	return &Server{opts: o}
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
		refuse(w, http.StatusNotFound, "Not Found: "+route)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var req *Request
	if err == nil {
		req, err = readRequest(body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	x := &exchange{w: w, ctx: r.Context(), req: req, pace: s.opts.Pace}
	if TaskOf(req.Messages) != "" {
		x.pace = 0
	}
	s.play(x)
}

// refuse answers with an error in DeepSeek's shape.
func refuse(w http.ResponseWriter, status int, message string) {
	const kind = "invalid_request_error"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	problem := object{"message": message, "type": kind, "param": nil, "code": kind}
	_ = json.NewEncoder(w).Encode(object{"error": problem}) // a client that has left hears nothing
}

// play streams the answer to a request.
func (s *Server) play(x *exchange) {
	answer := x.answer(s.opts.Answer(x.ctx, x.req))
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	x.stream(answer, answer.usage(x.req.tokens(), s.opts.Cached(x.ctx, x.req, answer)))
}
