package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"lethe/internal/test/lethetest"
)

// never is a poll that does not come: what is heard is heard by event.
const never = time.Hour

// running starts w, and ends it with the test.
func running(t *testing.T, w *Watcher) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		lethetest.Must(t, <-done)
	})
}

func newWatcher(t *testing.T, poll time.Duration) (*Watcher, *lethetest.Log) {
	t.Helper()
	log := &lethetest.Log{}
	w := NewWatcher(poll, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	w.anyway = never
	begun, cancel := w.Subscribe(Scope{Dir: t.TempDir()})
	signalled(t, begun)
	running(t, w)
	signalled(t, begun) // Run tells everybody when it begins
	cancel()
	return w, log
}

// signalled waits for a signal that comes after what the test just did.
func signalled(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	lethetest.Eventually(t, "a signal", func() bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	})
}

// settled takes signals until none has come for a while, which is how tests
// start from silence.
func settled(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-time.After(150 * time.Millisecond): // a busy machine is late with events
			return
		}
	}
}

func silent(t *testing.T, changed <-chan struct{}, d time.Duration) {
	t.Helper()
	select {
	case <-changed:
		t.Fatal("a signal for nothing")
	case <-time.After(d):
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dev := Path(home, "dev")
	write(t, dev, "")
	lethetest.Must(t, os.Symlink("chats", filepath.Join(home, "alias")))
	w, _ := newWatcher(t, never)
	changed, cancel := w.Subscribe(Scope{Dir: filepath.Join(home, "alias"), Names: []string{"dev.md"}})
	defer cancel()
	signalled(t, changed) // the one to begin with
	settled(changed)
	for name, do := range map[string]func(){
		"append":  func() { echo(t, dev, "one\n") },
		"echo":    func() { _ = exec.Command("sh", "-c", `echo two >> "$0"`, dev).Run() },
		"save":    func() { save(t, dev, "saved\n") },
		"empty":   func() { write(t, dev, "") },
		"remove":  func() { _ = os.Remove(dev) },
		"restore": func() { echo(t, dev, "back\n") },
	} {
		do()
		t.Log(name)
		signalled(t, changed)
		settled(changed)
	}
	cancel()
	echo(t, dev, "after\n")
	silent(t, changed, 50*time.Millisecond)
}

// Those who hear another room, or another directory, sleep on.
func TestWatchScopes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	subs := filepath.Join(home, "subs")
	write(t, Path(home, "dev"), "")
	write(t, filepath.Join(subs, "x"), "")
	w, _ := newWatcher(t, never)
	dev, c1 := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"dev.md"}})
	ops, c2 := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"ops.md"}}, Scope{Dir: subs})
	all, c3 := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"ops.md"}}, Scope{Dir: Dir(home)})
	defer c1()
	defer c2()
	defer c3()
	settled(dev)
	settled(ops)
	settled(all)
	echo(t, Path(home, "dev"), "one\n")
	signalled(t, dev)
	signalled(t, all)
	silent(t, ops, 50*time.Millisecond)

	settled(dev)
	settled(all)
	lethetest.Must(t, os.Symlink("../chats/dev.md", filepath.Join(subs, "dev.md")))
	signalled(t, ops)
	silent(t, dev, 50*time.Millisecond)
	silent(t, all, 0)

	echo(t, Path(home, "ops"), "made\n")
	signalled(t, ops)
	signalled(t, all)
	silent(t, dev, 50*time.Millisecond)
}

// hearer reads a room to its end at each signal, as slowly as it likes.
func hearer(t *testing.T, w *Watcher, home, room string, pause func()) (heard func() int) {
	t.Helper()
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home), Names: []string{FileName(room)}})
	var mu sync.Mutex
	n := 0
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with the test
		defer close(done)
		c := Cursor{}
		for {
			select {
			case <-stop:
				return
			case <-changed:
			}
			for more := true; more; {
				b, err := Read(Path(home, room), c, 1<<16)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				n += len(b.Lines)
				mu.Unlock()
				c, more = b.Next, b.More
			}
			pause()
		}
	}()
	t.Cleanup(func() { close(stop); <-done; cancel() })
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// A thousand appends, one event or many, fast and slow readers: nobody misses
// the last one.
func TestNothingMissed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	w, _ := newWatcher(t, never)
	fast := hearer(t, w, home, "dev", func() {})
	slow := hearer(t, w, home, "dev", func() { time.Sleep(30 * time.Millisecond) })
	total := 0
	for range 20 {
		for range 50 {
			echo(t, Path(home, "dev"), "line\n")
		}
		total += 50
		lethetest.Eventually(t, "both hear all", func() bool { return fast() == total && slow() == total })
	}
	echo(t, Path(home, "dev"), strings.Repeat("line\n", 1000))
	lethetest.Eventually(t, "both hear a thousand at once", func() bool { return fast() == total+1000 && slow() == total+1000 })
}

// The event queue overflows while the receiver is held up.
func TestOverflow(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, room := range []string{"dev", "ops", "late"} {
		write(t, Path(home, room), "")
	}
	w, log := newWatcher(t, never)
	dev, ops := hearer(t, w, home, "dev", func() {}), hearer(t, w, home, "ops", func() {})
	late := hearer(t, w, home, "late", func() {})
	lethetest.Eventually(t, "the watch is on", func() bool {
		w.addMu.Lock()
		defer w.addMu.Unlock()
		return w.notify != nil && len(w.notify.WatchList()) == 1
	})

	files := [2]*os.File{}
	for i, room := range []string{"dev", "ops"} {
		f, err := os.OpenFile(Path(home, room), os.O_WRONLY|os.O_APPEND, 0)
		lethetest.Must(t, err)
		defer f.Close()
		files[i] = f
	}
	w.mu.Lock() // nobody receives
	n := 20_000
	for range n { // alternating, since equal events in a row are one
		for _, f := range files {
			if _, err := f.WriteString("line\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	echo(t, Path(home, "late"), "its only event is lost\n")
	w.mu.Unlock()
	lethetest.Eventually(t, "all is heard", func() bool { return dev() == n && ops() == n && late() == 1 })
	lethetest.Eventually(t, "the overflow is in the log", func() bool { return strings.Contains(log.String(), "overflowed") })
}

// deaf has w told of no event but what the test says.
func deaf(t *testing.T, w *Watcher) *fsnotify.Watcher {
	n, err := fsnotify.NewWatcher()
	lethetest.Must(t, err)
	n.Events = nil
	w.open = func() (*fsnotify.Watcher, error) { return n, nil }
	return n
}

// Everybody looks at times, however much is told and polled meanwhile: an event that is lost makes nobody deaf for good.
func TestLooksAnyway(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	w := NewWatcher(0, nil)
	if w.anyway != time.Minute {
		t.Errorf("everybody looks every %v", w.anyway)
	}
	w.poll, w.anyway = 2*time.Millisecond, 50*time.Millisecond
	deaf(t, w)
	running(t, w)
	_, cancel := w.Subscribe(Scope{Dir: filepath.Join(home, "missing")}) // is polled
	defer cancel()
	heard := hearer(t, w, home, "dev", func() {})
	for n := range 3 {
		echo(t, Path(home, "dev"), "its event is lost\n")
		lethetest.Eventually(t, "the line", func() bool { return heard() == n+1 })
	}
}

// Everybody looks, once, when events were lost, and when the clock was put.
func TestEverybodyLooks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	var ahead atomic.Int64
	w := NewWatcher(5*time.Millisecond, nil)
	w.anyway, w.ahead = never, func() time.Duration { return time.Duration(ahead.Load()) }
	n := deaf(t, w)
	running(t, w)
	changed, cancel := w.Subscribe(Scope{Dir: home}, Scope{Dir: Dir(home)}, Scope{Dir: filepath.Join(home, "missing")})
	defer cancel()
	settled(changed)
	for why, tell := range map[string]func(){
		"overflow": func() { n.Errors <- fsnotify.ErrEventOverflow },
		"error":    func() { n.Errors <- errors.New("bad descriptor") },
		"slept":    func() { ahead.Add(int64(time.Hour)) },
		"put back": func() { ahead.Add(int64(-2 * time.Second)) },
	} {
		t.Log(why)
		tell()
		signalled(t, changed)
		silent(t, changed, 50*time.Millisecond)
	}
}

// Subscribing before Run loses nothing, and a directory may come later.
func TestSubscribeBeforeRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := NewWatcher(10*time.Millisecond, nil)
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"dev.md"}})
	signalled(t, changed)
	write(t, Path(home, "dev"), "before\n")
	running(t, w)
	signalled(t, changed)
	settled(changed)
	echo(t, Path(home, "dev"), "after\n")
	signalled(t, changed)
	cancel()
	cancel()
	if len(w.dirs) != 0 {
		t.Errorf("directories without subscriber: %v", w.dirs)
	}
}

// Many come and go while rooms are busy and directories are moved away under
// the watches; nothing locks up, and who stays hears all.
func TestWatchChurn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	w, _ := newWatcher(t, 5*time.Millisecond)
	heard := hearer(t, w, home, "dev", func() {})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				dir := filepath.Join(home, fmt.Sprintf("subs%d", g))
				write(t, filepath.Join(dir, "x"), "")
				changed, cancel := w.Subscribe(Scope{Dir: dir}, Scope{Dir: Dir(home)})
				<-changed
				if i%2 == 0 {
					_ = os.Rename(dir, dir+".moved")
					_ = os.RemoveAll(dir + ".moved")
				}
				echo(t, Path(home, "dev"), "line\n")
				cancel()
			}
		})
	}
	wg.Wait()
	lethetest.Eventually(t, "every line", func() bool { return heard() == 400 })
}

// Nothing happens: no signal, however often it polls.
func TestIdle(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "one\n")
	w, _ := newWatcher(t, 5*time.Millisecond)
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home)}, Scope{Dir: filepath.Join(home, "missing")})
	defer cancel()
	settled(changed)
	silent(t, changed, 100*time.Millisecond)
	// One change, one signal: the poll does not tell again what an event told.
	echo(t, Path(home, "dev"), "two\n")
	signalled(t, changed)
	settled(changed)
	silent(t, changed, 50*time.Millisecond)
}

func TestDirectoryRemade(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "one\n")
	w, _ := newWatcher(t, 20*time.Millisecond)
	heard := hearer(t, w, home, "dev", func() {})
	lethetest.Eventually(t, "the first line", func() bool { return heard() == 1 })
	for i := range 5 {
		aside := fmt.Sprintf("%s.%d", Dir(home), i)
		gone := func() error { return os.RemoveAll(Dir(home)) }
		if i%2 == 1 { // a watch that follows the old directory hears the wrong one
			gone = func() error { return os.Rename(Dir(home), aside) }
		}
		lethetest.Must(t, gone())
		write(t, Path(home, "dev"), fmt.Sprintf("line %d of the new room\n", i))
		lethetest.Eventually(t, "the line in the new directory", func() bool { return heard() == 2+2*i })
		if i%2 == 1 {
			write(t, filepath.Join(aside, "dev.md"), "elsewhere\n")
		}
		echo(t, Path(home, "dev"), fmt.Sprintf("second line %d\n", i))
		lethetest.Eventually(t, "a line after it", func() bool { return heard() == 3+2*i })
	}
}

// After the poll found a directory again, events come from it, not from polls.
func TestDirectoryWatchedAgain(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	w, _ := newWatcher(t, never)
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"dev.md"}})
	defer cancel()
	settled(changed)
	lethetest.Must(t, os.RemoveAll(Dir(home)))
	signalled(t, changed)
	settled(changed)
	write(t, Path(home, "dev"), "")
	w.checkDoubted() // what the poll does
	signalled(t, changed)
	settled(changed)
	echo(t, Path(home, "dev"), "one\n")
	signalled(t, changed)
}

// The tree above a directory is swapped, or mounted over, without an event: the next look finds what is there now, and
// from then on its events count, and those of what was there before do not.
func TestTreeSwapped(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	write(t, Path(home, "dev"), "")
	w, _ := newWatcher(t, never)
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home)})
	defer cancel()
	settled(changed)
	lethetest.Must(t, os.Rename(home, home+".old"))
	write(t, Path(home, "dev"), "")
	w.doubtAll() // what Run does at times
	signalled(t, changed)
	settled(changed)
	echo(t, Path(home+".old", "dev"), "elsewhere\n")
	if told(home) {
		silent(t, changed, 50*time.Millisecond)
	}
	echo(t, Path(home, "dev"), "here\n")
	signalled(t, changed)
}

// Where the kernel gives no events, of anything or of a directory, polling does the
// same, and says so once.
func TestPollAlone(t *testing.T) {
	t.Parallel()
	for said, open := range map[string]func() (*fsnotify.Watcher, error){
		"no file events, polling": func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") },
		"no file events for a directory": func() (*fsnotify.Watcher, error) {
			n, err := fsnotify.NewWatcher()
			for i := 0; err != nil && i < 300; i++ { // other programs may hold all that a user has
				time.Sleep(100 * time.Millisecond)
				n, err = fsnotify.NewWatcher()
			}
			if err != nil {
				return nil, err
			}
			return n, n.Close() // from now on Add fails
		},
	} {
		home := t.TempDir()
		log := &lethetest.Log{}
		w := NewWatcher(5*time.Millisecond, slog.New(slog.NewTextHandler(log, nil)))
		w.open, w.anyway = open, never
		write(t, Path(home, "dev"), "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		changed, leave := w.Subscribe(Scope{Dir: Dir(home)})
		settled(changed)
		for name, do := range map[string]func() error{
			"append": func() error { _, _, err := Append(Path(home, "dev"), []byte("one\n")); return err },
			"save":   func() error { save(t, Path(home, "dev"), "one\ntwo\n"); return nil },
			"link":   func() error { return os.Symlink("dev.md", Path(home, "ops")) },
			"remove": func() error { return os.Remove(Path(home, "dev")) },
		} {
			if err := do(); err != nil {
				t.Fatal(name, err)
			}
			signalled(t, changed)
			settled(changed)
		}
		silent(t, changed, 50*time.Millisecond) // ten polls of nothing
		leave()
		cancel()
		if err := <-done; err != nil || strings.Count(log.String(), said) != 1 || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%v, the log is\n%s", err, log)
		}
	}
}

// A room that is a link to a file elsewhere changes without an event.
func TestPollLinkedRoom(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "shared.md")
	write(t, elsewhere, "")
	write(t, Path(home, "ops"), "")
	lethetest.Must(t, os.Symlink(elsewhere, Path(home, "dev")))
	w, _ := newWatcher(t, 10*time.Millisecond)
	heard := hearer(t, w, home, "dev", func() {})
	echo(t, elsewhere, "one\n")
	lethetest.Eventually(t, "a line", func() bool { return heard() == 1 })
}
