package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

// server is one of Servers.
type server struct {
	Server // complete
	name   string
	of     *Servers
	log    *slog.Logger
	broken error // what keeps it from being started until somebody changes the configuration

	turn  sync.Mutex  // held while it is started
	stale atomic.Bool // it will be asked again what it can do

	mu       sync.Mutex
	items    []catalogue.Item // nil: it was never asked
	kept     string           // the protocol in the file
	protocol string           // to begin with; "": the newest
	left     []string         // why tools that it listed last are not offered
	live     *live            // nil: it does not run
	pause    *backoff.ExponentialBackOff
	resume   time.Time // it is not started before
	failed   error     // why
	errors   tail      // of its standard error

	open    map[*pending]bool   // calls that somebody waits for
	waiting map[string]*pending // by the identity that called: calls that ask people
}

// live is a run of a server. server.mu guards calls and left.
type live struct {
	session *sdk.ClientSession
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the process is gone, with all that it started
	gone    chan struct{} // closed when the session is over
	calls   int           // under way
	left    []*pending    // calls under way whose questions were dismissed
	idle    *time.Timer
}

// stopGrace bounds the time that a server takes to end once its input has ended.
const stopGrace = 500 * time.Millisecond

// with does something with the server, which is started if it does not run. What shows that it does not work stops it,
// and begins a pause.
func (s *server) with(ctx context.Context, do func(*live) error) error {
	s.turn.Lock()
	l, err := s.begin(ctx)
	s.turn.Unlock()
	if err == nil {
		err = do(l)
		s.end(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, dead := errors.AsType[*deadError](err); !dead || ctx.Err() != nil {
		if err == nil {
			s.pause.Reset()
		}
		return err
	}
	wait := s.pause.NextBackOff()
	// A text, and no *deadError: a call in the pause is no further failure.
	s.resume = time.Now().Add(wait)
	s.failed = fmt.Errorf("the server %s does not work: %v.%s%s", s.name, err, s.errors.text(), s.whyUnreadable())
	s.log.Warn("a server of tools does not work", "error", err, "pause", wait)
	return s.failed
}

// whyUnreadable tells the cause if a program may not be read, and "" otherwise.
func (s *server) whyUnreadable() string {
	paths := s.Unreadable()
	if len(paths) == 0 || s.of.Trusted {
		return ""
	}
	list, _ := json.Marshal(paths) // strings: cannot fail
	return fmt.Sprintf("\nit may not read its program: put read = %s into [mcp.%s] of config.toml", list, s.name)
}

// deadError is why a server has to be started again.
type deadError struct{ error }

// begin returns the server as it runs, with one call more.
func (s *server) begin(ctx context.Context) (*live, error) {
	s.mu.Lock()
	l, wait := s.live, time.Until(s.resume)
	if l != nil {
		l.calls++
		l.idle.Stop()
	}
	s.mu.Unlock()
	switch {
	case l != nil:
		return l, nil
	case s.broken != nil:
		return nil, s.broken
	case wait > 0:
		return nil, fmt.Errorf("%w\nIt can be started again in %v", s.failed, wait.Round(time.Second/10))
	}
	l, err := s.start(ctx)
	if err != nil {
		return nil, &deadError{err}
	}
	s.mu.Lock()
	l.calls = 1
	l.idle = time.AfterFunc(s.of.idle, func() { s.stop(l, false) })
	s.live = l
	s.mu.Unlock()
	go func() { // ends with the session
		_ = l.session.Wait()
		s.stop(l, true)
		close(l.gone)
	}()
	return l, nil
}

func (s *server) end(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.calls--; l.calls == 0 {
		l.idle.Reset(s.of.idle)
	}
}

// stop ends a run unless calls keep it: first what it asks people, then its input, then, if that was not enough, all of
// it.
func (s *server) stop(l *live, called bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.calls > 0 && !called {
		return
	}
	if s.live == l {
		s.live = nil
	}
	for _, p := range s.waiting {
		if p.live == l {
			s.leave(p)
		}
	}
	left := slices.Clone(l.left)
	go func() { // ends with the session
		grace, end := context.WithTimeout(context.Background(), stopGrace)
		defer end()
		for _, p := range left {
			select {
			case <-p.done:
			case <-grace.Done():
			}
		}
		time.AfterFunc(stopGrace, l.cancel)
		l.session.Close()
	}()
}

// olderProtocol is the newest protocol that begins with a greeting. Servers on older libraries do not answer the question
// with which the newer ones begin, or end on it.
const olderProtocol = "2025-11-25"

// start runs the server, and lists its tools. One that does not begin by the newest protocol is started again for an
// older one.
func (s *server) start(ctx context.Context) (*live, error) {
	l, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	limit, stop := within(ctx, s.of.handshake)
	defer stop()
	if err = s.list(limit, l.session); err == nil {
		return l, nil
	}
	s.stop(l, true)
	l.cancel()
	<-l.ended
	if limit.Err() != nil {
		err = context.Cause(limit)
	}
	return nil, err
}

// within bounds a step of a start.
func within(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, fmt.Errorf("it did not answer within %v of its start", patience))
}

// connect runs the server, and begins a session by the protocol that it takes. Half of the handshake's time is for the
// newest one; the other has all of it, since a program may take long to start.
func (s *server) connect(ctx context.Context) (*live, error) {
	s.mu.Lock()
	protocol := s.protocol
	s.mu.Unlock()
	if protocol == "" {
		l, err := s.greet(ctx, "", s.of.handshake/2)
		if err == nil || ctx.Err() != nil {
			return l, err
		}
	}
	l, err := s.greet(ctx, olderProtocol, s.of.handshake)
	if err == nil && protocol == "" {
		s.mu.Lock()
		s.protocol = olderProtocol // goes into the file that is written with the tools
		s.mu.Unlock()
	}
	return l, err
}

// greet runs the server, and begins a session by a protocol; "" is the newest.
func (s *server) greet(ctx context.Context, protocol string, patience time.Duration) (*live, error) {
	limit, stop := within(ctx, patience)
	defer stop()
	run, cancel := context.WithCancel(context.Background())
	l := &live{cancel: cancel, ended: make(chan struct{}), gone: make(chan struct{})}
	transport, err := s.transport(run, l)
	if err == nil {
		client := sdk.NewClient(&sdk.Implementation{Name: "lethe", Version: "1"}, &sdk.ClientOptions{
			Capabilities:           &sdk.ClientCapabilities{Elicitation: asksPeople},
			ElicitationHandler:     s.elicited,
			ToolListChangedHandler: func(_ context.Context, r *sdk.ToolListChangedRequest) { s.changed(r.Session) },
		})
		l.session, err = client.Connect(limit, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	}
	if err == nil {
		return l, nil
	}
	if limit.Err() != nil {
		err = context.Cause(limit)
	}
	cancel()
	<-l.ended
	return nil, err
}

// asksPeople says that people answer questions: with a form, or by opening an address.
var asksPeople = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}

// transport begins to run a program, or returns what connects to an address.
func (s *server) transport(run context.Context, l *live) (sdk.Transport, error) {
	if s.URL != "" {
		close(l.ended)
		return s.dial(run), nil
	}
	private := filepath.Join(s.of.Home, "mcp", s.name)
	c := sandbox.Command{
		Args: s.Command, Dir: filepath.Join(private, "home"), Private: private,
		Confine: !s.of.Trusted, Offline: !s.Network, Read: s.Read, Write: s.Write,
		Hide: append([]string{s.of.Home}, s.of.Secrets...), Errors: &s.errors,
	}
	for key, value := range s.Env {
		c.Env = append(c.Env, key+"="+value)
	}
	err := durable.MkdirAll(c.Dir, 0o700)
	if err == nil {
		err = durable.MkdirAll(filepath.Join(private, "tmp"), 0o700)
	}
	if err != nil {
		close(l.ended)
		return nil, err
	}
	s.errors.text() // of the run before
	in, feed := io.Pipe()
	out, fill := io.Pipe()
	c.Input = in
	go func() { // ends with the program, which ends with run
		defer close(l.ended)
		end, err := sandbox.Run(run, c, fill)
		if err == nil {
			err = fmt.Errorf("it ended with exit code %d", end.Exit)
		}
		if end.Failed != "" {
			err = errors.New(end.Failed)
		}
		in.Close()
		fill.CloseWithError(err)
	}()
	said := newLines(out, messages(s.log, &s.errors))
	return &sdk.IOTransport{Reader: said, Writer: feed, MaxLineLength: maxMessage}, nil
}

// close stops the server, and waits for that.
func (s *server) close() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if l == nil {
		return
	}
	s.stop(l, true)
	<-l.ended
	select {
	case <-l.gone:
	case <-time.After(2 * stopGrace): // a server elsewhere does not answer
	}
}

// tail keeps the end of the text written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const tailBytes = 1000

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(t.last, b...)
	t.last = slices.Clone(all[max(0, len(all)-tailBytes):])
	return len(b), nil
}

// text returns what there is, and forgets it.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := strings.TrimSpace(strings.ToValidUTF8(string(t.last), ""))
	t.last = nil
	if last == "" {
		return ""
	}
	return " The last that it wrote:\n" + last
}
