package rehearsal

import (
	"context"
	"encoding/json"
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
	Seed         uint64        // varies the small talk; the same seed says the same
	Window       int           // context window in tokens, 0: DefaultWindow
	Pace         time.Duration // delay between streamed chunks, 0: none; tasks have none, since nobody watches them
	SummaryRatio float64       // length of a summary as a share of its source, 0: 0.12
	Script       []Step        // what to do instead of answering; see Step
	Models       []string      // accepted names, `*` at the end matches any rest; nil: DefaultModels
	Key          string        // when set, requests need `Authorization: Bearer <Key>`
	Record       int           // how many of the newest requests to keep, 0: 256, negative: none

	// RequireReasoning asks for a non-empty reasoning_content on every assistant
	// message, as some gateways do, and not only on those with tool calls.
	RequireReasoning bool
}

// DefaultModels are the names accepted when Options.Models is nil.
var DefaultModels = []string{"deepseek-v4-pro", "deepseek-flash", "deepseek-v4-flash", "rehearsal*"}

// defaultRatio is how long a summary is as a share of its source.
const defaultRatio = 0.12

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
	if o.SummaryRatio <= 0 {
		o.SummaryRatio = defaultRatio
	}
	if o.Models == nil {
		o.Models = DefaultModels
	}
	s := &Server{
		opts:  o,
		check: checker{models: o.Models, window: o.Window, reasonings: o.RequireReasoning},
		log:   log{keep: o.Record},
		cache: cache{users: map[string]*userCache{}},
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

// ServeHTTP answers POST /chat/completions and GET /models, with and without /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1")
	switch route {
	case "POST /chat/completions":
		s.complete(w, r)
	case "GET /models":
		s.models(w)
	default:
		(&refusal{http.StatusNotFound, "Not Found: " + route, "invalid_request_error"}).write(w)
	}
}

func (s *Server) models(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := []model{}
	for _, m := range s.opts.Models {
		list = append(list, model{strings.TrimSuffix(m, "*"), "model", "rehearsal"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		invalid("Failed to read the request body: %v", err).write(w)
		return
	}
	req, ref := s.accept(r, body)
	s.log.record(r, body, ref)
	if ref != nil {
		ref.write(w)
		return
	}
	x := &exchange{w: w, ctx: r.Context(), req: req, prefix: req.prefix, pace: s.opts.Pace}
	if _, ok := taskOf(req); ok {
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

func (s *Server) accept(r *http.Request, body []byte) (*Request, *refusal) {
	if ref := s.authorise(r); ref != nil {
		return nil, ref
	}
	return s.check.parse(body)
}

func (s *Server) authorise(r *http.Request) *refusal {
	if s.opts.Key == "" {
		return nil
	}
	ref := ofStatus(http.StatusUnauthorized)
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !bearer:
		ref.message = "Authentication Fails (auth header format should be Bearer sk-...)"
	case key != s.opts.Key:
		ref.message = "Authentication Fails, Your api key: ****" + key[max(0, len(key)-4):] + " is invalid"
	default:
		return nil
	}
	return ref
}
