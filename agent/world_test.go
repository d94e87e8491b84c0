package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life"
	"lethe/mind"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if die, ok := os.LookupEnv(dieEnv); ok {
		itselfMain(os.Getenv(childEnv), die)
	}
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

// world is a home with a strict model server and what else an identity needs. look_test.go
// has what reads its rooms and lives, asked_test.go what reads the requests.
type world struct {
	testing.TB
	home    home.Home
	store   *blobs.Store
	watcher *chat.Watcher
	model   *rehearsal.Server
	url     string
	gauge   *gauge // the model of conf: a client of the server
	conf    Config // of every identity; tests change it before they open one
	limit   time.Duration
	remarks int // that talk has made

	mu    sync.Mutex
	rooms map[string]parsed
	lives map[string]lived
	known map[*byte]asked // requests that were read, by their bodies
}

func newWorld(t testing.TB, script ...rehearsal.Step) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	lethetest.Must(t, err)
	w := &world{TB: t, gauge: &gauge{}, limit: 2 * time.Minute, rooms: map[string]parsed{}, lives: map[string]lived{},
		known: map[*byte]asked{}}
	w.home, err = home.Open(filepath.Join(dir, "home"))
	lethetest.Must(t, err)
	w.store, err = blobs.Open(w.home.Blobs())
	lethetest.Must(t, err)
	w.watcher = chat.NewWatcher(100*time.Millisecond, nil)
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { // ends with the test
		defer close(watched)
		_ = w.watcher.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-watched })
	w.conf = Config{
		Home: w.home, Store: w.store, Watcher: w.watcher,
		Thinking: Thinking{
			Model: w.gauge, Offline: true, Params: mind.Params{Endpoint: "offline"}, DefaultModel: "rehearsal",
		},
		Calling: Calling{Tools: tools.Config{Bash: tools.BashTrusted}},
		pace:    pace{viewEvery: time.Millisecond},
	}
	w.serve(rehearsal.Options{Script: script})
	return w
}

// forgetful is a world whose identities have a small limit, which no request may pass.
func forgetful(t testing.TB, limit int, script ...rehearsal.Step) *world {
	t.Helper()
	w := newWorld(t, script...)
	w.conf.ContextLimit, w.gauge.limit = limit, limit
	return w
}

// serve starts a server of the model, in the place of the one before. It may refuse
// requests for their length only.
func (w *world) serve(o rehearsal.Options) {
	w.Helper()
	o.Record = 10_000
	model := rehearsal.New(o)
	server := httptest.NewServer(model)
	w.Cleanup(func() {
		server.Close()
		for _, q := range model.Requests() {
			if q.Refused != "" && o.Window == 0 {
				w.Errorf("a request was refused: %s", q.Refused)
			}
		}
	})
	w.model, w.url = model, server.URL
	w.use(llm.Config{})
}

// use has identities talk to the server with these settings.
func (w *world) use(c llm.Config) {
	w.Helper()
	if c.Preset == "" {
		c.Preset = "deepseek"
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = -1 // the agent's own patience is what is tested here
	}
	c.BaseURL, c.Key = w.url, "the-key-of-tests"
	client, err := llm.New(c)
	lethetest.Must(w, err)
	w.Cleanup(func() { client.Close() })
	w.gauge.Model = client
}

// eventually polls cond until it holds: more rarely where it takes long, since a look may read a whole life.
func (w *world) eventually(what string, cond func() bool) {
	w.Helper()
	for began := time.Now(); !cond(); time.Sleep(min(max(2*time.Millisecond, time.Since(began)/8), 25*time.Millisecond)) {
		if time.Since(began) > w.limit {
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

func (w *world) boot(name string, rooms ...string) home.Identity {
	w.Helper()
	id, err := home.Boot(w.home, w.store, home.BootOptions{Name: name, Rooms: rooms})
	lethetest.Must(w, err)
	return id
}

// start runs an identity that hears room dev.
func start(t testing.TB, script ...rehearsal.Step) (*world, home.Identity, *running) {
	t.Helper()
	w := newWorld(t, script...)
	id, r := w.ada()
	return w, id, r
}

// ada boots an identity that hears room dev, and runs it.
func (w *world) ada() (home.Identity, *running) {
	w.Helper()
	id := w.boot("ada", "dev")
	return id, w.run(id)
}

// slow runs a test beside others, and not under the race detector.
func slow(t *testing.T) {
	t.Helper()
	lethetest.Unraced(t)
	t.Parallel()
}

// running is an agent in a goroutine.
type running struct {
	w      *world
	id     home.Identity
	agent  *Agent // which belongs to its own goroutine
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done
}

// run opens an identity and lets it live until the test stops it.
func (w *world) run(id home.Identity, change ...func(*Config)) *running {
	w.Helper()
	var r *running
	w.eventually(id.Name+" is opened", func() bool {
		var err error
		r, err = w.try(id, change...)
		if busy := (*home.RunningError)(nil); errors.As(err, &busy) { // a command that is just being started has the lock's file open, too
			return false
		}
		lethetest.Must(w, err)
		return true
	})
	return r
}

func (w *world) try(id home.Identity, change ...func(*Config)) (*running, error) {
	conf := w.conf
	for _, f := range change {
		f(&conf)
	}
	a, err := Open(id, conf)
	if err != nil {
		return nil, err
	}
	return w.live(a), nil
}

// live lets an open identity live.
func (w *world) live(a *Agent) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{w: w, id: a.view.ID, agent: a, cancel: cancel, done: make(chan struct{})}
	go func() { // ends with cancel
		defer close(r.done)
		r.err = guarded(ctx, a)
	}()
	w.Cleanup(func() { cancel(); <-r.done })
	return r
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

// again stops the agent and runs it again.
func (r *running) again(change ...func(*Config)) *running {
	r.w.Helper()
	r.stop()
	return r.w.run(r.id, change...)
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
		if end, err := chat.End(r.w.path(room)); err != nil || s.Heard[room] != end.Size() && s.Heard[room] != r.w.whole(room) {
			return false
		}
	}
	return true
}

// rested waits until the identity is idle and no compaction is under way.
func (r *running) rested() {
	r.w.Helper()
	r.w.eventually(r.id.Name+" has rested", func() bool {
		s, err := status.Read(r.id.Dir)
		return r.ended() || r.idle() && err == nil && !s.Compacting
	})
}

// compact has a running identity compact, as a person asks for it.
func (r *running) compact() {
	r.w.Helper()
	was := len(r.w.having(r.id, "epoch", "why", byPerson))
	lethetest.Must(r.w, home.Ask(r.id, home.WishCompact))
	r.w.eventually("the context is compacted", func() bool { return len(r.w.having(r.id, "epoch", "why", byPerson)) > was })
	r.settled()
}

// checked stops the identity when it is idle, and checks that its bound held, that
// requests grew at their ends, and that all of it can be reached.
func (r *running) checked() {
	r.w.Helper()
	r.finish()
	r.w.gauge.held(r.w)
	if r.w.conf.Params.Order != mind.OrderTail {
		r.w.stable(r.w.requests())
	}
	r.w.conserved(r.id)
}

// ask says something in room dev, waits for the answer and until the identity is idle.
func (r *running) ask(texts ...string) string {
	r.w.Helper()
	answer := r.w.ask("dev", texts...)
	r.settled()
	return answer
}

// tell says something in room dev, and waits until the identity is idle.
func (r *running) tell(texts ...string) {
	r.w.Helper()
	r.w.say("dev", "ann", texts...)
	r.settled()
}

// asks says something in room dev, and returns the question that comes of it.
func (r *running) asks(text string) chat.Question {
	r.w.Helper()
	before := 0
	for _, said := range r.w.said("dev") {
		if _, asked := chat.ParseQuestion(said); asked {
			before++
		}
	}
	r.w.say("dev", "ann", text)
	question := r.w.question("dev", before+1)
	r.settled()
	return question
}

// dieAt kills the agent when the n-th event of a kind is in the log, before it
// knows: what a kill -9 leaves behind. An epoch that opening writes does not count: nothing runs yet.
func dieAt(kind string, n int) func(*Config) {
	return func(c *Config) {
		c.Tell = func(_ home.Identity, e life.Event) {
			if e.Kind == kind && e.Get("why") != "settings" {
				if n--; n == 0 {
					panic("killed at " + kind)
				}
			}
		}
	}
}

// killed waits until dieAt has struck.
func (r *running) killed() {
	r.w.Helper()
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "killed at") {
		r.w.Fatalf("the agent ended with %v", err)
	}
}

// dies runs an identity until dieAt strikes.
func (w *world) dies(id home.Identity, kind string, n int) {
	w.Helper()
	w.run(id, dieAt(kind, n)).killed()
}

// supervised are identities under Supervise, until the test stops them.
type supervised struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // of Supervise, once done
}

func (w *world) supervise(ids ...home.Identity) *supervised {
	ctx, cancel := context.WithCancel(context.Background())
	s := &supervised{stop: cancel, done: make(chan struct{})}
	open := func(id home.Identity) (*Agent, error) { return Open(id, w.conf) }
	go func() { defer close(s.done); s.err = children.Supervise(ctx, ids, open, discard()) }()
	w.Cleanup(func() { cancel(); <-s.done })
	return s
}

// end stops the identities, and waits until they have ended.
func (s *supervised) end() {
	s.stop()
	<-s.done
}

// gone waits until an identity runs no more.
func (w *world) gone(id home.Identity) {
	w.Helper()
	w.eventually(id.Name+" has stopped", func() bool { _, runs := home.Running(id); return !runs })
}

// guarded is Run with a panic as an error, as under supervision.
func guarded(ctx context.Context, a *Agent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.view.Log.Error("panic", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return a.Run(ctx)
}
