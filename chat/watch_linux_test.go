package chat

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lethe/internal/test/lethetest"
)

// A file system whose events do not tell of all is polled although it takes a watch. Every Linux has one: /proc.
func TestPollsWhatIsNotTold(t *testing.T) {
	t.Parallel()
	const name, number = "1000", 1000
	w, _ := newWatcher(t, 5*time.Millisecond)
	changed, cancel := w.Subscribe(Scope{Dir: "/proc/self/fdinfo", Names: []string{name}})
	defer cancel()
	settled(changed)
	null, err := os.Open(os.DevNull)
	lethetest.Must(t, err)
	defer null.Close()
	lethetest.Must(t, unix.Dup3(int(null.Fd()), number, unix.O_CLOEXEC))
	signalled(t, changed)
	settled(changed)
	lethetest.Must(t, unix.Close(number))
	signalled(t, changed)
}
