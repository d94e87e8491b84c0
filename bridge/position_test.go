package bridge

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
)

// Of a file that makes no sense, nothing is believed.
func TestFoldPeer(t *testing.T) {
	const line = `{"room":"dev","cursor":{},"line":{"room":"dev","from":0,"to":9,"parts":[{"data":1},{"data":2}]}}`
	for _, c := range []struct {
		data string
		next int // -2: an error
	}{
		{line + "\n", 0},
		{line, 0},
		{line + "\n" + `{"part":0,"state":"sent"}` + "\n", 1},
		{line + "\n" + `{"part":0,"state":"sent"}`, 1},
		{line + "\n" + `{"part":0,"stat`, 0},
		{line + "\n" + `{"part":0,"stat` + "\n", -2},
		{line + "\n" + `{"part":0,"stat` + "\n" + `{"part":0,"state":"sent"}` + "\n", -2},
		{line + "\n" + `{"part":2,"state":"sent"}` + "\n", -2},
		{line + "\n" + `{"part":-1,"state":"sent"}` + "\n", -2},
		{line + "\n" + `{"part":0}` + "\n", -2},
		{line + "\n" + `{"part":0,"state":"sent"}` + "\n" + `{"part":1,"state":"refused"}` + "\n", -2},
		{`{"room":"dev","cursor":{}}` + "\n" + `{"part":0,"state":"sent"}` + "\n", -2},
		{"", -2},
	} {
		st, err := foldPeer([]byte(c.data))
		if (err != nil) != (c.next == -2) || err == nil && st.Line.next() != c.next {
			t.Errorf("%s: %+v, %v", c.data, st, err)
		}
	}
}

// A line whose last part could not be written is over when its peer moves.
func TestSentLineDoesNotMove(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	b.accept(t, message("1", "ada", "question"))
	agentSays(t, home, "one\ntwo")
	var full atomic.Bool
	during(t, func(_ durable.Stage, _, path string) error {
		if full.Load() && strings.Contains(path, "peers") {
			return errors.New("no space left on device")
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: func(_ context.Context, n int, _ string) error {
		if n == 2 {
			full.Store(true)
			cancel()
		}
		return nil
	}}
	b.Deliver(ctx, ada, s)
	full.Store(false)
	lethetest.Must(t, b.Move(Peer{ada.Key, "ops"}))
	b.abandon()
	if _, _, err := readPeer(inState(home, "peers/p-ada.json")); err != nil {
		t.Errorf("after a kill: %v", err)
	}
}
