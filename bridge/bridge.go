// Package bridge is the common part of all bridges between rooms and an outside service. It keeps the messages that
// came in and, for each room, the end of the lines that went out, and tells whether the other side can be reached. A
// bridge of your own is a Sender, which renders and sends, and a loop that fetches:
//
//	b, err := bridge.Open(bridge.Config{Home: home, Name: "pager", Watcher: watcher})
//	defer b.Close()
//	go watcher.Run(ctx)
//	go b.Run(ctx)
//	go b.Deliver(ctx, bridge.Peer{Key: "42", Room: "dev"}, sender)
//	for {
//		messages, err := …             // fetch what came
//		b.Trouble(err)                 // or b.Exchanged()
//		err = b.Accept(messages...)
//		…                              // acknowledge them only when err is nil
//	}
//
// spool_test.go is a whole bridge, docs/bridges.md specifies the files; bridge/access lists the people
// who may speak.
//
// What the package guarantees, through kill -9 and power loss at any point:
//
//   - Inward exactly once. A message that Accept took is in its room once, however often the
//     other side repeats it, and the messages of a user in a room stay in order. Accept keeps an
//     intent in inbox.jsonl, posts with chat.Post, and records that it did.
//   - Outward at least once. A line is cut into parts that are durable before the first is
//     sent, and each part is marked when it was. Parts go out in order, without a gap.
//     The part whose mark a crash or a lost answer prevented is sent again; nothing else is.
//   - One process per bridge: Open takes a lock that ends with the process.
//   - A state file that makes no sense is kept beside the new one and reported; it neither
//     stops the bridge nor is it overwritten.
//
// The room itself is the queue of the lines that go out, so a bridge that was away for a week sends the lines of that
// week.
package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"lethe/chat"
	"lethe/internal/durable"
)

// Config names the bridge to open.
type Config struct {
	Home string
	// Name names the bridge and its directory, <home>/bridges/<name>. It has the
	// form of a room's name.
	Name string
	Log  *slog.Logger // may be nil
	// Watcher tells Deliver of new lines. The caller runs it.
	Watcher *chat.Watcher
	Shared  Shared // nil where no other host shares the home
}

// ErrRunning is in Open's error when another process has the bridge.
var ErrRunning = errors.New("another process runs it")

// Bridge is one bridge's state. Its methods may be called from any goroutine.
type Bridge struct {
	cfg    Config
	dir    string
	log    *slog.Logger
	lock   *flock.Flock
	health *recorder

	io     sync.Mutex // held over every write of the inbox and of rooms
	inbox  *journal
	closed bool

	mu    sync.Mutex
	peers map[string]*peer // by key, as they are asked for; each has a lock of its own
}

// Open takes the bridge's lock and loads its state; it starts nothing. It fails with
// ErrRunning if another process has the bridge.
func Open(config Config) (opened *Bridge, err error) {
	defer func() {
		if err != nil {
			opened, err = nil, fmt.Errorf("open bridge %s: %w", config.Name, err)
		}
	}()
	if !chat.ValidRoom(config.Name) {
		return nil, errors.New("that is not a bridge's name")
	}
	if config.Shared == nil {
		config.Shared = alone(config.Home)
	}
	opened = &Bridge{
		cfg: config, dir: filepath.Join(config.Home, "bridges", config.Name), peers: map[string]*peer{},
		log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)).With("bridge", config.Name),
	}
	if err := durable.MkdirAll(peersDir(opened.dir), 0o700); err != nil {
		return nil, err
	}
	if err := opened.takeLock(filepath.Join(opened.dir, "lock")); err != nil {
		return nil, err
	}
	opened.health = newRecorder(opened.dir, opened.log)
	opened.health.write()
	if err = config.Shared.Begin(); err == nil {
		opened.inbox, err = openJournal(filepath.Join(opened.dir, "inbox.jsonl"), config.Shared, opened.log)
	}
	if err != nil {
		opened.Fail(err)
		opened.health.close()
		opened.lock.Close()
		return nil, err
	}
	return opened, nil
}

// takeLock takes the bridge's lock, and writes the number of this process into it, for people.
func (b *Bridge) takeLock(path string) error {
	b.lock = durable.Lock(path)
	// HealthOf holds the lock for an instant, or until its processor has time for it again.
	patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ok, err := b.lock.TryLockContext(patience, 10*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		if _, pid, _ := Holder(b.dir); pid > 0 {
			return fmt.Errorf("%w: process %d", ErrRunning, pid)
		}
		return ErrRunning
	}
	if err := durable.Overwrite(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		b.lock.Close()
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// Failed records that bridge name could not be opened because of cause, so that it shows as dead, and not as it was
// left. It is for errors before Open, which records its own.
// Where the bridge was never opened, or another process runs it, nothing is recorded.
func Failed(home, name string, cause error) {
	dir := filepath.Join(home, "bridges", name)
	if locked, _, err := Holder(dir); err != nil || locked {
		return
	}
	r := newRecorder(dir, slog.New(slog.DiscardHandler))
	r.fail(cause)
	r.close()
}

// Run keeps health.json, and posts the lines that wait in the inbox because their room could
// not be written. It returns nil when ctx ends; what waits stays in the inbox. One Run at a time.
func (b *Bridge) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { b.health.run(ctx) })
	defer beside.Wait()
	for ctx.Err() == nil {
		b.retry()
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
	return nil
}

// Close writes down that the bridge was stopped and releases its lock. Run and Deliver must
// have returned; Accept refuses from then on.
func (b *Bridge) Close() error {
	b.io.Lock()
	defer b.io.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	b.health.close()
	return b.lock.Close()
}

// Refresh brings the list of people up to date where other hosts share the home.
func (b *Bridge) Refresh() error { return b.cfg.Shared.Refresh() }

// Exchanged records that the other side has just answered successfully. It ends what Trouble
// began.
func (b *Bridge) Exchanged() {
	b.Trouble(nil)
	b.health.change(func() { b.health.report.Exchanged = time.Now().UTC() })
}

// Listening records where the other side comes to this bridge, which so is never deaf.
func (b *Bridge) Listening(url string) {
	b.health.change(func() { b.health.report.Listening = url })
	b.health.write() // somebody may ask for it at once
}

// Trouble records an error in fetching from the other side; nil ends it. Deliver records its
// own. Its beginning, at most once a minute, and its end are logged.
func (b *Bridge) Trouble(err error) { b.LocalTrouble("reach "+b.cfg.Name, err) }

// LocalTrouble records an error on this side: in the bridge's own files or settings. It is logged as "cannot <what>"
// and shown like Trouble; nil ends it.
func (b *Bridge) LocalTrouble(what string, err error) { b.health.trouble(what, "", err) }

// Fail records that the bridge ends with err, which it cannot get over by itself: a token that was revoked. It then
// shows as dead, with err, until it is opened again. Only the first error counts, and nil does nothing. The caller ends
// the bridge.
func (b *Bridge) Fail(err error) { b.health.fail(err) }
