package chat_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// opened returns a function that reports whether a directory was opened since its last call, as each poll does.
func opened(t *testing.T, dir string) func() bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	lethetest.Must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
	lethetest.Must(t, err)
	return func() bool {
		n, _ := unix.Read(fd, make([]byte, 4096))
		return n > 0
	}
}

// Where events tell of all, nothing is polled; a link that leads out of the watched directories is, until it is gone.
func TestPollsOnlyWhatEventsDoNotTell(t *testing.T) {
	t.Parallel()
	const poll = 20 * time.Millisecond
	home := t.TempDir()
	if !chat.Told(home) {
		t.Skip("a file system that is polled")
	}
	lethetest.Write(t, chat.Path(home, "dev"), "")
	subs := filepath.Join(home, "agents", "51c0", "subs")
	lethetest.Must(t, chat.Subscribe(subs, chat.Dir(home), "dev"))
	w := chat.NewWatcher(poll, nil)
	changed, cancel := w.Subscribe(chat.Scope{Dir: subs}, chat.Scope{Dir: chat.Dir(home), Names: []string{"dev.md"}})
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	t.Cleanup(func() { lethetest.Must(t, <-ended) })
	looked := opened(t, subs)
	polled := func(want bool) func() bool {
		return func() bool {
			looked()
			for range 5 { // it looks at all now and then, which is no poll
				time.Sleep(3 * poll)
				if looked() != want {
					return false
				}
			}
			return true
		}
	}
	lethetest.Eventually(t, "nothing is polled", polled(false))
	elsewhere, link := filepath.Join(t.TempDir(), "shared.md"), filepath.Join(subs, "ops.md")
	lethetest.Write(t, elsewhere, "")
	for how, put := range map[string]func() error{
		"made":    func() error { return os.Symlink(elsewhere, link) },
		"renamed": func() error { return errors.Join(os.Symlink(elsewhere, home+"/new"), os.Rename(home+"/new", link)) }, // ln -sfn
	} {
		lethetest.Must(t, put())
		lethetest.Eventually(t, "the link is polled that was "+how, polled(true))
		select {
		case <-changed:
		default:
		}
		lethetest.Must(t, os.WriteFile(elsewhere, []byte(how), 0o600))
		lethetest.Eventually(t, "a signal", func() bool { return len(changed) > 0 })
		lethetest.Must(t, os.Remove(link))
		lethetest.Eventually(t, "nothing is polled again", polled(false))
	}
}
