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

// Options say how a Server behaves. The zero value is a strict server without
// rate limits, whose bot hears everything in its groups.
type Options struct {
	Token       string           // of the bot, "<id>:<secret>"; "": DefaultToken
	Username    string           // of the bot, without @; "": "offline_bot"
	FirstUpdate int64            // id of the first update; 0: 100001
	Keep        time.Duration    // how long an unfetched update is kept; 0: 24 h
	Now         func() time.Time // the clock of dates, limits and retry_after; nil: time.Now
	Limits      Limits           // how fast the bot may write; zero: as fast as it likes
	Record      int              // how many of the newest calls to keep; 0: 10000, negative: none

	// Privacy is Telegram's privacy mode: of a group the bot hears only commands,
	// mentions of it, replies to it and service messages.
	Privacy bool
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
	faults     []Fault // those with uses left, in order
	limits     limiter
	calls      []Call // oldest first, at most Options.Record
	dropped    int    // so many calls are no longer kept
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
	if o.Keep == 0 {
		o.Keep = 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Record == 0 {
		o.Record = 10000
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
			CanJoinGroups: true, CanReadAllGroupMessages: !o.Privacy,
		},
		changed: make(chan struct{}),
		world:   newWorld(),
		updates: queue{next: o.FirstUpdate, keep: o.Keep},
		limits:  newLimiter(o.Limits),
	}
}

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Bot is the bot as getMe shows it.
func (s *Server) Bot() models.User { return s.bot }

// Listen binds a loopback address, such as "127.0.0.1:0", and returns the base
// URL, without a slash at its end. Connections wait until Serve is called. Other
// addresses are refused: the world's side asks nobody who he is. When Serve has
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
	if tcp, ok := ln.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = ln.Close()
		return "", fmt.Errorf("listen on %s: not a loopback address", addr)
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

// ServeHTTP answers /bot<token>/<method>, /file/bot<token>/<path> and /world/….
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/world/"); ok {
		s.control(w, r, rest)
		return
	}
	rest, file := strings.CutPrefix(r.URL.Path, "/file")
	token, what, whole := strings.Cut(strings.TrimPrefix(rest, "/bot"), "/")
	switch {
	case !strings.HasPrefix(rest, "/bot") || !whole:
		refuse(http.StatusNotFound, "Not Found").write(w)
	case token != s.opts.Token:
		refuse(http.StatusUnauthorized, "Unauthorized").write(w)
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
