package botapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
)

// DefaultToken is the token of a server without Options.Token. It opens nothing
// anywhere else.
const DefaultToken = "123456789:TEST-TOKEN-of-the-offline-Bot-API-0"

// Options say how a Server behaves.
type Options struct {
	Token       string           // of the bot, "<id>:<secret>"; "": DefaultToken
	Username    string           // of the bot, without @; "": "offline_bot"
	FirstUpdate int64            // id of the first update; 0: 100001
	Now         func() time.Time // the clock of dates and retry_after; nil: time.Now
}

// Server is the world and the HTTP server in front of it.
type Server struct {
	opts Options
	bot  models.User

	mu         sync.Mutex    // guards all below; never held while waiting
	listener   net.Listener  // from Listen to the end of Serve
	changed    chan struct{} // closed and replaced whenever anything below changes
	world      world
	updates    queue
	faults     []Fault              // those with uses left, in order
	quiet      map[string]time.Time // by lane: nothing is taken before
	calls      []Call               // oldest first
	violations []string
	webhook    string
	commands   []models.BotCommand
}

// New returns a server with an empty world. It starts nothing. A token that does
// not begin with a number and a colon panics.
func New(o Options) *Server {
	if o.Token == "" {
		o.Token = DefaultToken
	}
	if o.Username == "" {
		o.Username = "offline_bot"
	}
	if o.FirstUpdate == 0 {
		o.FirstUpdate = 100001
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	digits, secret, _ := strings.Cut(o.Token, ":")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id <= 0 || secret == "" || strings.ContainsRune(secret, '/') {
		panic("botapi: a token is <id>:<secret>")
	}
	return &Server{
		opts: o,
		bot: models.User{
			ID: id, IsBot: true, FirstName: "Offline", Username: o.Username,
			CanJoinGroups: true, CanReadAllGroupMessages: true,
		},
		changed: make(chan struct{}),
		world:   newWorld(),
		updates: queue{next: o.FirstUpdate},
		quiet:   map[string]time.Time{},
	}
}

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Listen binds a loopback address, such as "127.0.0.1:0", and returns the base
// URL, without a slash at its end. Connections wait until Serve is called. When Serve has
// returned, Listen and Serve may follow again, with the same world: between them
// the server is down.
func (s *Server) Listen(addr string) (url string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return "", errors.New("listen: already listening")
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.listener = ln
	return "http://" + ln.Addr().String(), nil
}

// Serve answers requests until ctx is done, and returns when every handler has
// ended; polls and hanging answers are cut off. It returns nil for an end by ctx.
func (s *Server) Serve(ctx context.Context) error {
	s.mu.Lock()
	ln := s.listener
	s.mu.Unlock()
	if ln == nil {
		return errors.New("serve: call Listen first")
	}
	defer func() {
		s.mu.Lock()
		s.listener = nil
		s.mu.Unlock()
	}()
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
	err := srv.Serve(ln)
	if !stop() {
		<-closed
	}
	handlers.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve %s: %w", ln.Addr(), err)
}

// ServeHTTP answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, file := strings.CutPrefix(r.URL.Path, "/file")
	token, what, whole := strings.Cut(strings.TrimPrefix(rest, "/bot"), "/")
	switch {
	case !strings.HasPrefix(rest, "/bot") || !whole:
		send(w, http.StatusNotFound, "application/json", refuse(http.StatusNotFound, "Not Found").body())
	case token != s.opts.Token:
		send(w, http.StatusUnauthorized, "application/json", refuse(http.StatusUnauthorized, "Unauthorized").body())
	case file:
		s.download(w, r, what)
	default:
		s.call(w, r, what)
	}
}

// Wait returns nil as soon as ok says true, and ctx's error when that is done
// first. ok is asked again after every change; it may call any method of Server
// but Wait.
func (s *Server) Wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lock begins a change of the world: defer s.lock()().
func (s *Server) lock() (unlock func()) {
	s.mu.Lock()
	return func() {
		s.touch()
		s.mu.Unlock()
	}
}

// touch tells all who wait that something has changed. s.mu is held.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Violations are the things that a well-behaved bot must not do and that this
// one did, oldest first, each with method and chat. None is what a test wants.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// maxViolations bounds the list for a bot that runs wild.
const maxViolations = 1000

// violate notes a violation. s.mu is held.
func (s *Server) violate(format string, args ...any) {
	if len(s.violations) < maxViolations {
		s.violations = append(s.violations, fmt.Sprintf(format, args...))
	}
}
