package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// The whole of it, but for the terminal: keys in, escape sequences out, a room
// between.
func TestScreenOnAPipe(t *testing.T) {
	home := t.TempDir()
	a := newActor(t, home, "lethe", "dev")
	a.hear(func(l message) { a.turn(l, func() { a.say("I heard " + l.Text) }) })
	in, typed := io.Pipe()
	var out lethetest.Log
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ended <- Screen(ctx, Config{Home: home, User: "ada", In: in, Out: &out, Poll: 50 * time.Millisecond})
	}()
	lethetest.Eventually(t, "the screen is up", func() bool { return strings.Contains(out.String(), "\x1b[?1049h") })
	fmt.Fprint(typed, "hello\r")
	lethetest.Eventually(t, "the answer is in the room", func() bool { return len(texts(t, home, "dev")) == 2 })
	fmt.Fprint(typed, "/stop\r")
	lethetest.Eventually(t, "the second line is in the room", func() bool { return len(texts(t, home, "dev")) >= 3 })
	if got := texts(t, home, "dev"); got[0] != "ada: hello" || got[1] != "lethe: I heard hello" || got[2] != "ada: /stop" {
		t.Errorf("the room has %q", got)
	}
	cancel()
	typed.Close()
	if err := <-ended; err != nil {
		t.Errorf("a screen that was ended: %v", err)
	}
	lethetest.Words(t, out.String(), "\x1b[?1049l")
}
