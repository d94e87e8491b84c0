package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/lethetest"
	"lethe/internal/sandbox"
	"lethe/internal/status"
	"lethe/life"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
	"lethe/tools"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if childHome := os.Getenv(childEnv); childHome != "" {
		childMain(childHome)
		return
	}
	lethetest.AskFaults()
	durable.Trace = tellTraces
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // the tests wait for disks and servers, not for processors
	goleak.VerifyTestMain(m)
}

// world is a home with a strict model server and what else an identity needs.
type world struct {
	testing.TB
	home    Home
	store   *blobs.Store
	watcher *chat.Watcher
	model   *rehearsal.Server
	url     string
	conf    Config // of every identity; tests change it before they open one
	limit   time.Duration
}

func newWorld(t testing.TB, script ...rehearsal.Step) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	lethetest.Must(t, err)
	w := &world{TB: t, model: rehearsal.New(rehearsal.Options{Script: script, Record: 10_000}), limit: 2 * time.Minute}
	w.home, err = OpenHome(filepath.Join(dir, "home"))
	lethetest.Must(t, err)
	w.store, err = blobs.Open(w.home.Blobs())
	lethetest.Must(t, err)
	server := httptest.NewServer(w.model)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.watcher = chat.NewWatcher(100*time.Millisecond, nil)
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { // ends with the test
		defer close(watched)
		_ = w.watcher.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-watched })
	w.conf = Config{
		Home: w.home, Store: w.store, Watcher: w.watcher, Model: w.client(llm.Config{}), Offline: true,
		Params: mind.Params{Endpoint: "offline"}, DefaultModel: "rehearsal",
		Tools: tools.Config{Bash: tools.BashTrusted},
	}
	return w
}

// client talks to the model's server over HTTP.
func (w *world) client(c llm.Config) *llm.Client {
	w.Helper()
	c.Preset, c.BaseURL, c.Key = cmp.Or(c.Preset, "deepseek"), w.url, "the-key-of-tests"
	if c.MaxRetries == 0 {
		c.MaxRetries = -1 // the agent's own patience is what is tested here
	}
	client, err := llm.New(c)
	lethetest.Must(w, err)
	w.Cleanup(func() { client.Close() })
	return client
}

// eventually polls cond until it holds.
func (w *world) eventually(what string, cond func() bool) {
	w.Helper()
	for deadline := time.Now().Add(w.limit); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("waited %v in vain until %s\n%s", w.limit, what, w.dump())
		}
	}
}

// dump shows the rooms and the lives, for a test that failed.
func (w *world) dump() string {
	var b strings.Builder
	rooms, _ := filepath.Glob(filepath.Join(w.home.Chats(), "*.md"))
	lives, _ := filepath.Glob(filepath.Join(w.home.Agents(), "*", "LIFE.md"))
	for _, path := range append(rooms, lives...) {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "--- %s\n%s\n", path, text[max(0, len(text)-6000):])
	}
	return b.String()
}

func (w *world) boot(name string, rooms ...string) Identity {
	w.Helper()
	id, err := Boot(w.home, w.store, BootOptions{Name: name, Rooms: rooms})
	lethetest.Must(w, err)
	return id
}

// start runs an identity that hears room dev.
func start(t testing.TB, script ...rehearsal.Step) (*world, Identity, *running) {
	t.Helper()
	w := newWorld(t, script...)
	id := w.boot("ada", "dev")
	return w, id, w.run(id)
}

// running is an agent in a goroutine.
type running struct {
	w      *world
	id     Identity
	agent  *Agent // which belongs to its own goroutine
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done
}

// run opens an identity and lets it live until the test stops it.
func (w *world) run(id Identity, change ...func(*Config)) *running {
	w.Helper()
	var r *running
	w.eventually(id.Name+" is opened", func() bool {
		var err error
		r, err = w.try(id, change...)
		if busy := (*RunningError)(nil); errors.As(err, &busy) { // a command that is just being started has the lock's file open, too
			return false
		}
		lethetest.Must(w, err)
		return true
	})
	return r
}

func (w *world) try(id Identity, change ...func(*Config)) (*running, error) {
	conf := w.conf
	for _, f := range change {
		f(&conf)
	}
	a, err := Open(id, conf)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{w: w, id: id, agent: a, cancel: cancel, done: make(chan struct{})}
	go func() { // ends with cancel
		defer close(r.done)
		r.err = guard(ctx, a)
	}()
	w.Cleanup(func() { cancel(); <-r.done })
	return r, nil
}

// stop ends the agent as a signal would.
func (r *running) stop() {
	r.w.Helper()
	r.cancel()
	lethetest.Must(r.w, r.wait())
}

// finish stops the agent when it is idle.
func (r *running) finish() {
	r.w.Helper()
	r.settled()
	r.stop()
}

// wait returns what Run returned.
func (r *running) wait() error {
	r.w.Helper()
	select {
	case <-r.done:
	case <-time.After(r.w.limit):
		r.w.Fatalf("%s did not stop\n%s", r.id.Name, r.w.dump())
	}
	return r.err
}

func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// settled waits until the identity has heard and answered everything.
func (r *running) settled() {
	r.w.Helper()
	r.w.eventually(r.id.Name+" is idle", func() bool {
		if r.ended() {
			r.w.Fatalf("%s has ended: %v\n%s", r.id.Name, r.err, r.w.dump())
		}
		return r.idle()
	})
}

func (r *running) idle() bool {
	s, err := status.Read(r.id.Dir)
	if err != nil || s.State != status.Paused && (s.State != status.Idle || len(s.Answering) > 0) {
		return false
	}
	subscribed, _ := chat.Rooms(r.id.Subs())
	if !slices.Equal(s.Rooms, subscribed) {
		return false
	}
	for _, room := range s.Rooms {
		if _, size, err := chat.End(r.w.path(room)); err != nil || s.Heard[room] != size && s.Heard[room] != r.w.whole(room) {
			return false
		}
	}
	return true
}

// whole is where the last line of a room that has a newline ends.
func (w *world) whole(room string) int64 {
	text, _ := os.ReadFile(w.path(room))
	return int64(bytes.LastIndexByte(text, '\n') + 1)
}

func (w *world) path(room string) string { return chat.Path(w.home.Dir, room) }

// put appends bytes to a room as anything outside would: without this program.
func (w *world) put(room, text string) {
	w.Helper()
	f, err := os.OpenFile(w.path(room), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	lethetest.Must(w, err)
	_, err = f.WriteString(text)
	lethetest.Must(w, errors.Join(err, f.Close()))
}

// say appends messages of a user.
func (w *world) say(room, who string, texts ...string) {
	w.Helper()
	var all []byte
	for _, text := range texts {
		line, err := chat.Format(false, who, time.Now(), text)
		lethetest.Must(w, err)
		all = append(all, line...)
	}
	w.put(room, string(all))
}

func (w *world) lines(room string) []chat.Line {
	w.Helper()
	text, err := os.ReadFile(w.path(room))
	if !errors.Is(err, os.ErrNotExist) {
		lethetest.Must(w, err)
	}
	var out []chat.Line
	for raw := range bytes.Lines(text) {
		if l := chat.Parse(raw); !l.Blank() && bytes.HasSuffix(raw, []byte("\n")) {
			out = append(out, l)
		}
	}
	return out
}

// said returns the texts that agents have said in a room.
func (w *world) said(room string) []string {
	w.Helper()
	var out []string
	for _, l := range w.lines(room) {
		if l.Agent {
			out = append(out, l.Text)
		}
	}
	return out
}

// answered waits for the n-th agent's line of a room and returns it.
func (w *world) answered(room string, n int) string {
	w.Helper()
	w.eventually(fmt.Sprintf("room %s has %d answers", room, n), func() bool { return len(w.said(room)) >= n })
	return w.said(room)[n-1]
}

// ask says something and waits for the answer.
func (w *world) ask(room string, texts ...string) string {
	w.Helper()
	n := len(w.said(room))
	w.say(room, "ann", texts...)
	return w.answered(room, n+1)
}

// life returns all events of an identity, checked.
func (w *world) life(id Identity) []life.Event {
	w.Helper()
	var out []life.Event
	lethetest.Must(w, life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
		explained(w, e)
		out = append(out, e)
		return nil
	}))
	return out
}

// events returns those of one kind.
func (w *world) events(id Identity, kind string) []life.Event {
	w.Helper()
	return slices.DeleteFunc(w.life(id), func(e life.Event) bool { return e.Kind != kind })
}

// status is what an identity shows now.
func (w *world) status(id Identity) status.Status {
	w.Helper()
	s, err := status.Read(id.Dir)
	lethetest.Must(w, err)
	return s
}

// shows waits until an identity shows something.
func (w *world) shows(id Identity, what string, is func(status.Status) bool) {
	w.Helper()
	w.eventually(what, func() bool {
		s, err := status.Read(id.Dir)
		return err == nil && is(s)
	})
}

func (w *world) fold(id Identity) *mind.State {
	w.Helper()
	s, err := Fold(id, w.store)
	lethetest.Must(w, err)
	return s
}

// body reads the blob of an event's i-th ref.
func (w *world) body(e life.Event, i int) string {
	w.Helper()
	h, err := w.store.Resolve(e.Refs[i].Hash)
	lethetest.Must(w, err)
	b, err := w.store.Get(h)
	lethetest.Must(w, err)
	return string(b.Body)
}

// heard returns the lines that an identity has heard in a room, in order.
func (w *world) heard(id Identity, room string) []string {
	w.Helper()
	var out []string
	for _, e := range w.events(id, "inbound") {
		if e.Get("room") != room {
			continue
		}
		var own []mind.Span
		for _, o := range e.All("own") {
			var span mind.Span
			_, err := fmt.Sscanf(o, "%d..%d", &span.From, &span.To)
			lethetest.Must(w, err)
			own = append(own, span)
		}
		at := int64(0)
		for raw := range strings.Lines(w.body(e, 0)) {
			l := chat.Parse([]byte(raw))
			mine := slices.ContainsFunc(own, func(o mind.Span) bool { return o.From <= at && at < o.To })
			at += int64(len(raw))
			if !mine && !l.Blank() {
				out = append(out, l.Text)
			}
		}
	}
	return out
}

// asked returns the requests so far.
func (w *world) asked() []rehearsal.Recorded { return w.model.Requests() }

// calls answers with tool calls: pairs of a name and arguments.
func calls(pairs ...string) *rehearsal.Answer {
	a := &rehearsal.Answer{Reasoning: "I do what the script says."}
	for i := 0; i+1 < len(pairs); i += 2 {
		a.Calls = append(a.Calls, rehearsal.Call{Name: pairs[i], Arguments: pairs[i+1]})
	}
	return a
}

// text answers with words.
func text(s string) *rehearsal.Answer { return &rehearsal.Answer{Text: s} }

func contains(t testing.TB, s, part string) {
	t.Helper()
	if !strings.Contains(s, part) {
		t.Errorf("%q is missing in:\n%s", part, s)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func equalSlices(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

// own is the path of one of the identity's files.
func (w *world) own(id Identity, name string) string { return filepath.Join(id.Dir, name) }

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	lethetest.Must(w, err)
	return string(data)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// llmRetries lets the client try again by itself.
func llmRetries(n int) llm.Config { return llm.Config{MaxRetries: n} }
