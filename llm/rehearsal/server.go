package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	Record int           // how many of the newest requests to keep, 0: 256, negative: none
}

// maxBody bounds a request; a full window of CJK text is about 4 MB.
const maxBody = 64 << 20

// Server is an http.Handler that answers chat/completions. It is safe for
// concurrent use.
type Server struct {
	opts   Options
	check  checker
	script script
	log    log
	cache  cache

	listener net.Listener // set by Listen, before Serve
}

// New returns a server. It starts nothing.
func New(o Options) *Server {
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
	s := &Server{
		opts:  o,
		check: checker{o.Window},
		log:   log{keep: o.Record},
	}
	s.Push(o.Script...)
	return s
}

// Push adds steps behind those that are still to come.
func (s *Server) Push(steps ...Step) { s.script.push(steps) }

// Pending is the number of steps that have uses left.
func (s *Server) Pending() int { return s.script.pending() }

// Requests returns the newest requests as received, oldest first, refused ones
// included.
func (s *Server) Requests() []Recorded { return s.log.requests() }

// Usage returns the totals since New.
func (s *Server) Usage() Usage { return s.log.totals() }

// Listen binds a loopback address, such as "127.0.0.1:0", and returns the base
// URL for clients. Connections wait until Serve is called. Other addresses are
// refused: without Options.Key anyone who reaches the port is answered.
func (s *Server) Listen(addr string) (url string, err error) {
	if s.listener != nil {
		return "", errors.New("listen: already listening")
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", addr, err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = ln.Close()
		return "", fmt.Errorf("listen on %s: not a loopback address", addr)
	}
	s.listener = ln
	return "http://" + ln.Addr().String() + "/", nil
}

// Serve answers requests until ctx is done, and returns when every handler has
// ended. Running answers are cut off. It returns nil for an end by ctx.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("serve: call Listen first")
	}
	var handlers sync.WaitGroup
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			s.ServeHTTP(w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = srv.Close() // the listener's error, if any, is Serve's
	})
	err := srv.Serve(s.listener)
	if !stop() {
		<-closed
	}
	handlers.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
}

// ServeHTTP answers POST /chat/completions, with and without /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1")
	if route != "POST /chat/completions" {
		(&refusal{http.StatusNotFound, "Not Found: " + route, "invalid_request_error"}).write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		invalid("Failed to read the request body: %v", err).write(w)
		return
	}
	req, ref := s.check.parse(body)
	s.log.record(r, body, ref)
	if ref != nil {
		ref.write(w)
		return
	}
	x := &exchange{w: w, ctx: r.Context(), req: req, prefix: req.prefix, pace: s.opts.Pace}
	if _, ok := taskOf(req.Messages); ok {
		x.pace = 0
	}
	if step, ok := s.script.take(req); ok {
		x.step = step
		if step.Pace > 0 {
			x.pace = step.Pace
		}
	}
	s.play(x)
}
