// Package botapi is Telegram's Bot API for tests: a strict HTTP server with a small world of
// people, chats and files behind it.
//
//	s := botapi.New(botapi.Options{})
//	url, end := s.Start()
//	defer end()
//
//	ada := s.User("Ada", "ada")
//	dm := s.Private(ada)
//	s.Say(dm, ada, "hello") // the bot at url, with s.Token(), gets an update
//	s.Sent(dm)              // what the bot has written there
//
// It has what the bridge uses, and refuses what the real server refuses, with its status and
// description. What the real server silently ignores or repairs (an unknown parameter) is refused
// here. Violations notes that, and everything else that a well-behaved bot never does: a call
// before retry_after has passed, an offset that goes back.
//
// An offset of getUpdates confirms what is below it; an update that was not confirmed comes again.
// Nothing is idempotent: the same sendMessage twice makes two messages. Ids are dealt out in
// order; message ids are counted for each chat apart. The token is in no recorded call and in no
// violation. Every way in which the service or the way to it can misbehave is a Fault.
//
// All methods of Server are safe for concurrent use. Misuse by a test, such as a message in a chat
// that does not exist, panics.
//
// Read server.go and methods.go (requests and answers), updates.go, send.go, html.go and files.go
// (the bot's side), world.go, talk.go and trouble.go (the people's side), faults.go.
package botapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
)

// DefaultToken is the token of a server without Options.Token.
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

// New returns a server with an empty world. It starts nothing.
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
	digits, _, _ := strings.Cut(o.Token, ":")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic("botapi: a token is <id>:<secret>")
	}
	return &Server{
		opts: o, bot: models.User{ID: id, IsBot: true, FirstName: "Offline", Username: o.Username},
		changed: make(chan struct{}), world: newWorld(), updates: queue{next: o.FirstUpdate}, quiet: map[string]time.Time{},
	}
}

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Start serves on a loopback address. end cuts polls and hanging answers off, and returns
// when every handler has ended.
func (s *Server) Start() (url string, end func()) {
	srv := httptest.NewServer(http.HandlerFunc(s.answer))
	return srv.URL, func() {
		srv.CloseClientConnections()
		srv.Close()
	}
}

// answer answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
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

// Wait returns nil as soon as ok says true, and ctx's error when that is done first. ok is asked
// again after every change; it may call any method of Server but Wait.
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

// Violations are the things that a well-behaved bot must not do and that this one did, oldest
// first. None is what a test wants.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// violate notes a violation. s.mu is held.
func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}
