package chat

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestDirectoryRemade(t *testing.T) {
	home := t.TempDir()
	write(t, Path(home, "dev"), "one\n")
	w, _ := newWatcher(t, 20*time.Millisecond)
	heard := hearer(t, w, home, "dev", func() {})
	within(t, "the first line", func() bool { return heard() == 1 })
	for i := range 5 {
		aside := fmt.Sprintf("%s.%d", Dir(home), i)
		gone := func() error { return os.RemoveAll(Dir(home)) }
		if i%2 == 1 { // a watch that follows the old directory hears the wrong one
			gone = func() error { return os.Rename(Dir(home), aside) }
		}
		if err := gone(); err != nil {
			t.Fatal(err)
		}
		write(t, Path(home, "dev"), fmt.Sprintf("line %d of the new room\n", i))
		within(t, "the line in the new directory", func() bool { return heard() == 2+2*i })
		if i%2 == 1 {
			write(t, filepath.Join(aside, "dev.md"), "elsewhere\n")
		}
		echo(t, Path(home, "dev"), fmt.Sprintf("second line %d\n", i))
		within(t, "a line after it", func() bool { return heard() == 3+2*i })
	}
}

// After the poll found a directory again, events come from it, not from polls.
func TestDirectoryWatchedAgain(t *testing.T) {
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	w, _ := newWatcher(t, never)
	changed, cancel := w.Subscribe(Scope{Dir: Dir(home), Names: []string{"dev.md"}})
	defer cancel()
	settled(changed)
	if err := os.RemoveAll(Dir(home)); err != nil {
		t.Fatal(err)
	}
	signalled(t, changed)
	settled(changed)
	write(t, Path(home, "dev"), "")
	w.checkAll() // what the poll does
	signalled(t, changed)
	settled(changed)
	echo(t, Path(home, "dev"), "one\n")
	signalled(t, changed)
}

// Where the kernel gives no events, polling does the same, and says so once.
func TestPollAlone(t *testing.T) {
	home := t.TempDir()
	log := &logBuffer{}
	w := NewWatcher(5*time.Millisecond, slog.New(slog.NewTextHandler(log, nil)))
	w.open = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	running(t, w)
	heard := hearer(t, w, home, "dev", func() {})
	if _, _, err := Append(Path(home, "dev"), []byte("one\n")); err != nil {
		t.Fatal(err)
	}
	within(t, "the first line", func() bool { return heard() == 1 })
	save(t, Path(home, "dev"), "one\ntwo\n")
	within(t, "a line of a saved file", func() bool { return heard() == 2 })

	subs, cancel := w.Subscribe(Scope{Dir: filepath.Join(home, "subs")})
	defer cancel()
	settled(subs)
	if err := Subscribe(filepath.Join(home, "subs"), Dir(home), "ops"); err != nil {
		t.Fatal(err)
	}
	signalled(t, subs)
	settled(subs)
	if err := Unsubscribe(filepath.Join(home, "subs"), "ops"); err != nil {
		t.Fatal(err)
	}
	signalled(t, subs)
	settled(subs)
	silent(t, subs, 50*time.Millisecond) // ten polls of nothing
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("the log has %d lines:\n%s", n, log)
	}
}

// A directory that cannot be watched is polled, and told of once.
func TestPollOneDirectory(t *testing.T) {
	home := t.TempDir()
	write(t, Path(home, "dev"), "")
	log := &logBuffer{}
	w := NewWatcher(5*time.Millisecond, slog.New(slog.NewTextHandler(log, nil)))
	w.open = func() (*fsnotify.Watcher, error) {
		n, err := fsnotify.NewWatcher()
		if err == nil {
			err = n.Close() // from now on Add fails
		}
		return n, err
	}
	running(t, w)
	heard := hearer(t, w, home, "dev", func() {})
	for i := range 5 {
		echo(t, Path(home, "dev"), "line\n")
		within(t, "a line", func() bool { return heard() == i+1 })
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), Dir(home)) {
		t.Errorf("the log has %d lines:\n%s", n, log)
	}
}

// A room that is a link to a file elsewhere changes without an event.
func TestPollLinkedRoom(t *testing.T) {
	home := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "shared.md")
	write(t, elsewhere, "")
	write(t, Path(home, "ops"), "")
	if err := os.Symlink(elsewhere, Path(home, "dev")); err != nil {
		t.Fatal(err)
	}
	w, _ := newWatcher(t, 10*time.Millisecond)
	heard := hearer(t, w, home, "dev", func() {})
	echo(t, elsewhere, "one\n")
	within(t, "a line", func() bool { return heard() == 1 })
}
