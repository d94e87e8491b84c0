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

// A file of an earlier version has notes behind the position; a line without a part to send is over.
func TestParsePeer(t *testing.T) {
	const line = `{"room":"dev","cursor":{},"line":{"room":"dev","from":0,"to":9,"parts":[{"data":1},{"data":2}]}}`
	if st, err := parsePeer([]byte(line + "\n" + `{"part":0,"state":"sent"}` + "\n" + `{"part":1,"sta`)); err != nil || st.Line.next() != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := parsePeer([]byte(`{"room":"dev","line":{"parts":[{"data":1,"state":"sent"}]}}`)); err != nil || st.Line != nil {
		t.Errorf("%+v, %v", st, err)
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
	lethetest.Must(t, b.ensurePeer(ada.Key, "ops"))
	b.abandon()
	if _, _, err := readPeer(inState(home, "peers/p-ada.json")); err != nil {
		t.Errorf("after a kill: %v", err)
	}
}
