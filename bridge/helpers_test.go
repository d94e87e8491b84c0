package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asBridge); dir != "" {
		if err := mortalBridge(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// noon is when test messages are sent.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// pager is a bridge called pager, in a home of its own, with what a test looks at.
type pager struct {
	*Bridge
	t    testing.TB
	home string
	log  *captured
}

// newPager is a pager that is not open yet.
func newPager(t testing.TB, home string) *pager { return &pager{t: t, home: home, log: &captured{}} }

func open(t testing.TB) *pager {
	t.Helper()
	p := newPager(t, t.TempDir())
	p.start()
	return p
}

func (p *pager) start() { p.Bridge = start(p.t, p.home, func(c *Config) { c.Log = p.log.logger() }) }

// again leaves the bridge as kill -9 would, and opens it anew.
func (p *pager) again() {
	p.t.Helper()
	p.abandon()
	p.start()
}

func (p *pager) file(name string) string { return inState(p.home, name) }

func (p *pager) accept(msgs ...Message) {
	p.t.Helper()
	lethetest.Must(p.t, p.Accept(msgs...))
}

func (p *pager) say(room string, agent bool, name string, at time.Time, text string) {
	p.t.Helper()
	say(p.t, p.home, room, agent, name, at, text)
}

func (p *pager) agentSays(text string) { agentSays(p.t, p.home, text) }

func (p *pager) lines(room string) []chat.Line { return lines(p.t, p.home, room) }

// texts is what a room says, "user: text" by line.
func (p *pager) texts(room string) (all []string) {
	for _, l := range p.lines(room) {
		all = append(all, l.Name+": "+l.Text)
	}
	return all
}

func (p *pager) health() Health { return healthOf(p.t, p.home) }

func (p *pager) state(key string) peerState {
	p.t.Helper()
	st, err := readPeer(p.file("peers/" + key + ".json"))
	lethetest.Must(p.t, err)
	return st
}

// start opens a bridge that nobody tells of new lines: Deliver sees what is there
// when it starts.
func start(t testing.TB, home string, change ...func(*Config)) *Bridge {
	t.Helper()
	c := Config{Home: home, Name: "pager", Watcher: chat.NewWatcher(0, nil)}
	for _, f := range change {
		f(&c)
	}
	b, err := Open(c)
	lethetest.Must(t, err)
	t.Cleanup(func() { b.abandon() })
	return b
}

// abandon leaves everything as kill -9 would.
func (b *Bridge) abandon() {
	b.io.Lock()
	defer b.io.Unlock()
	b.closed = true
	b.lock.Close()
}

func message(id, user, text string) Message {
	return Message{ID: id, Peer: "p-" + user, Room: "dev", User: user, At: noon, Text: text}
}

// say appends a line to a room, as somebody else.
func say(t testing.TB, home, room string, agent bool, name string, at time.Time, text string) {
	t.Helper()
	line, err := chat.Format(agent, name, at, text)
	lethetest.Must(t, err)
	if _, _, err := chat.Append(chat.Path(home, room), line); err != nil {
		t.Fatal(err)
	}
}

func lines(t testing.TB, home, room string) []chat.Line {
	t.Helper()
	var all []chat.Line
	for b := (chat.Batch{More: true}); b.More; {
		var err error
		if b, err = chat.Read(chat.Path(home, room), b.Next, 64<<20); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Lines...)
	}
	return all
}

func equal(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Fatalf("%s:\n%s\nwant:\n%s", what, g, w)
	}
}

func inState(home, name string) string { return filepath.Join(home, "bridges", "pager", name) }

var errDisk = errors.New("no space left on device")

// captured is a log that a test can read.
type captured struct{ lethetest.Log }

func (c *captured) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// count is how many times s is logged.
func (c *captured) count(s string) int { return strings.Count(c.String(), s) }

// script is a Sender whose parts are the lines of a text and whose answers the
// test decides.
type script struct {
	mu      sync.Mutex
	parts   func(p Peer, l Line) ([]Part, error) // nil: split
	answer  func(ctx context.Context, n int, text string) error
	calls   int
	sent    []string // what the other side got, in order
	offered []Line
}

func (s *script) Parts(p Peer, l Line) ([]Part, error) {
	s.mu.Lock()
	s.offered = append(s.offered, l)
	s.mu.Unlock()
	if s.parts != nil {
		return s.parts(p, l)
	}
	return split(p, l)
}

// split makes a part of each line of what an agent says.
func split(_ Peer, l Line) (parts []Part, err error) {
	for text := range strings.SplitSeq(l.Text, "\n") {
		data, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Data: data})
	}
	return parts, nil
}

func (s *script) Send(ctx context.Context, p Peer, part Part) error {
	var text string
	if err := json.Unmarshal(part.Data, &text); err != nil {
		return err
	}
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	var err error
	if s.answer != nil {
		err = s.answer(ctx, n, text)
	}
	if lost := new(lostAnswer); err == nil || errors.As(err, &lost) {
		s.mu.Lock()
		s.sent = append(s.sent, text)
		s.mu.Unlock()
	}
	return err
}

func (s *script) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sent...)
}

// lostAnswer is a Send that the other side carried out and whose answer got lost.
type lostAnswer struct{}

func (*lostAnswer) Error() string { return "connection reset" }

// deliver runs Deliver until the test ends it.
func (p *pager) deliver(to Peer, s Sender) (end func()) {
	b := p.Bridge
	return background(p.t, func(ctx context.Context) error { return b.Deliver(ctx, to, s) })
}

// run runs Run until the test ends it.
func (p *pager) run() (end func()) { return background(p.t, p.Run) }

// background runs what runs until its context ends; end, or the end of the test, ends it.
func background(t testing.TB, run func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }() // ends with ctx
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// catchUp delivers what there is.
func (p *pager) catchUp(to Peer, s Sender) {
	end := p.deliver(to, s)
	settled()
	end()
}

// must is for steps that are not what a test is about.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
