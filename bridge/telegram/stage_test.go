package telegram

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"go.uber.org/goleak"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asBridge) != "" {
		os.Exit(beBridge())
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil { // most of a test is waiting
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// stage is a home, a fake Telegram, and what a test needs to act on both.
type stage struct {
	*botapi.Server
	t    *testing.T
	home string
	cfg  Config
	log  *lethetest.Log
	ill  bool // the bot is made to do what it must not
}

// quick is what makes a test not wait.
var quick = tuning{
	poll: time.Second, grace: 2 * time.Second, backoff: 10 * time.Millisecond, maxBackoff: 100 * time.Millisecond,
	call: 5 * time.Second, upload: 5 * time.Second,
	file: 5 * time.Second, files: time.Minute, maxFile: 20 << 20, typing: 400 * time.Millisecond, album: 300 * time.Millisecond,
	speed: 1e6,
}

// newStage is the stage of a test that runs beside others. At its end the bot must have done
// nothing that it must not do, and told its token to nobody.
func newStage(t *testing.T) *stage {
	t.Parallel()
	return stageOf(t, "")
}

func stageOf(t *testing.T, token string) *stage {
	t.Helper()
	st := &stage{Server: botapi.New(token), t: t, home: t.TempDir(), log: &lethetest.Log{}}
	url, end := st.Start()
	store, err := blobs.Open(filepath.Join(st.home, "blobs"))
	lethetest.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	watcher := chat.NewWatcher(20*time.Millisecond, nil)
	var ends sync.WaitGroup
	ends.Go(func() { _ = watcher.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		end()
		ends.Wait()
		for _, v := range st.Violations() {
			if !st.ill {
				t.Errorf("violation: %s", v)
			}
		}
		st.secret()
		if t.Failed() {
			t.Logf("the log:\n%s", st.log)
		}
	})
	st.cfg = Config{
		Home: st.home, Store: store, Watcher: watcher, Token: st.Token(), Settings: Settings{BaseURL: url}, tune: quick,
		Log: slog.New(slog.NewTextHandler(st.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return st
}

// running is a bridge under way.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs the bridge until the end of the test, or until stop.
func (st *stage) start() *running {
	st.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = Run(ctx, st.cfg)
		if r.err != nil {
			st.cfg.Log.Error("the bridge has ended", "error", r.err)
		}
	}()
	st.t.Cleanup(func() { st.stop(r) })
	return r
}

func (st *stage) stop(r *running) error {
	st.t.Helper()
	r.cancel()
	return st.ended(r)
}

func (st *stage) ended(r *running) error {
	st.t.Helper()
	st.within("the bridge ends", func() bool {
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	})
	return r.err
}

// within polls until ok holds, and fails after a generous time.
func (st *stage) within(what string, ok func() bool) {
	st.t.Helper()
	lethetest.Eventually(st.t, what, ok)
}

// greeted starts the bridge, and waits for somebody's hello to be in dev.
func (st *stage) greeted(where botapi.Chat, who models.User) *running {
	st.t.Helper()
	r := st.start()
	st.Say(where, who, "hello")
	st.hears("dev", 1)
	return r
}

// file is one of the bridge's own.
func (st *stage) file(name string) string { return filepath.Join(st.home, "bridges", Name, name) }

// owner does what the owner does on the command line.
func (st *stage) owner(do func(*access.Policy) error) {
	st.t.Helper()
	lethetest.Must(st.t, do(&access.Policy{Dir: st.file("")}))
}

// lets allows persons and groups, "ID NAME", with a room, which may be empty.
func (st *stage) lets(room string, entries ...string) {
	st.t.Helper()
	for _, entry := range entries {
		st.owner(func(p *access.Policy) error {
			_, err := p.Allow(entry, room, entry[0] == '-')
			return err
		})
	}
}

// lines are the lines of a room.
func (st *stage) lines(room string) []chat.Line {
	st.t.Helper()
	var all []chat.Line
	var c chat.Cursor
	for {
		b, err := chat.Read(chat.Path(st.home, room), c, 0)
		lethetest.Must(st.t, err)
		all = append(all, b.Lines...)
		if c = b.Next; !b.More {
			return all
		}
	}
}

// texts are the texts of a room, as "name: text".
func (st *stage) texts(room string) []string {
	st.t.Helper()
	var all []string
	for _, l := range st.lines(room) {
		all = append(all, l.Name+": "+l.Text)
	}
	return all
}

// hears waits for the room to have n lines, and returns their texts.
func (st *stage) hears(room string, n int) []string {
	st.t.Helper()
	st.within(fmt.Sprintf("%d lines in %s", n, room), func() bool { return len(st.lines(room)) >= n })
	got := st.texts(room)
	if len(got) != n {
		st.t.Fatalf("room %s has %d lines, not %d:\n%s", room, len(got), n, strings.Join(got, "\n"))
	}
	return got
}

// answers has an agent say something in a room.
func (st *stage) answers(room, text string) { st.agent("lethe", room, text) }

func (st *stage) agent(name, room, text string) {
	st.t.Helper()
	line, err := chat.Format(true, name, time.Now(), text)
	if err == nil {
		_, _, err = chat.Append(chat.Path(st.home, room), line)
	}
	lethetest.Must(st.t, err)
}

// sent waits for the bot to have written n messages in a chat, and returns their
// texts.
func (st *stage) sent(where botapi.Chat, n int) []string {
	st.t.Helper()
	st.within(fmt.Sprintf("%d messages to %d", n, where.ID), func() bool { return len(st.Texts(where)) >= n })
	got := st.Texts(where)
	if len(got) != n {
		st.t.Fatalf("chat %d has %d messages, not %d:\n%s", where.ID, len(got), n, strings.Join(got, "\n"))
	}
	return got
}

// quiet waits until the bot has fetched everything and waits for more.
func (st *stage) quiet() {
	st.t.Helper()
	st.within("nothing is pending", func() bool { return st.Pending() == 0 && st.Polling() })
}

// ready waits until the bridge polls.
func (st *stage) ready() {
	st.t.Helper()
	st.within("the bridge polls", st.Polling)
}

// secret checks that the token is in no log and in no file.
func (st *stage) secret(errs ...error) {
	st.t.Helper()
	_, secret, _ := strings.Cut(st.Token(), ":")
	if strings.Contains(st.log.String(), secret) {
		st.t.Errorf("the token is in the log:\n%s", st.log)
	}
	for _, err := range errs {
		if err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			st.t.Errorf("the token is in an error: %v", err)
		}
	}
	err := filepath.WalkDir(st.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file
		}
		if strings.Contains(string(data), secret) {
			st.t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		st.t.Error(err)
	}
}

func (st *stage) health() bridge.Health {
	st.t.Helper()
	all, err := bridge.ReadHealth(st.home)
	if err != nil || len(all) != 1 {
		st.t.Fatalf("health: %v, %v", all, err)
	}
	return all[0]
}

// person is somebody with a private chat with the bot.
type person struct {
	st *stage
	models.User
	dm botapi.Chat
}

// ada is a listed person.
func (st *stage) ada() person {
	ada := st.User("Ada")
	st.lets("", id(ada.ID))
	return person{st, ada, st.Private(ada)}
}

// greeted is a stage whose bridge runs, and has heard ada's hello in dev.
func greeted(t *testing.T) (*stage, person) {
	st := newStage(t)
	ada := st.ada()
	ada.greets()
	return st, ada
}

func (p person) greets() *running {
	p.st.t.Helper()
	return p.st.greeted(p.dm, p.User)
}

func (p person) says(text string) int            { return p.st.Say(p.dm, p.User, text) }
func (p person) replies(to int, text string) int { return p.st.Reply(p.dm, p.User, to, text) }
func (p person) messages() []models.Message      { return p.st.Sent(p.dm) }

// got waits for the bot to have written n messages to the person, and returns their texts.
func (p person) got(n int) []string {
	p.st.t.Helper()
	return p.st.sent(p.dm, n)
}

// crew is a listed supergroup.
func (st *stage) crew() botapi.Chat {
	crew := st.Group(models.ChatTypeSupergroup, "Crew")
	// Message 1: no topic has that id, but General.
	st.Send(crew, st.User("Zoe"), models.Message{NewChatMembers: []models.User{{ID: 1}}})
	st.lets("", id(crew.ID))
	return crew
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func equalAll(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: no %q in %q", what, p, text)
		}
	}
}

// brokenDisk refuses every write to paths that contain a word, until it is mended.
type brokenDisk struct {
	asked  atomic.Int64
	mended atomic.Bool
}

func newBrokenDisk(t *testing.T, word string) *brokenDisk {
	d := &brokenDisk{}
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if d.mended.Load() || !strings.Contains(path, word) {
			return nil
		}
		d.asked.Add(1)
		return errors.New("no space left on device")
	}
	t.Cleanup(func() { durable.Fault = nil })
	return d
}
