package acp

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What stands behind a session/cancel in one write is read when that is obeyed, or after a second. Long lines pass.
func TestCancelComesFirst(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"dev"}}` + "\n"
	next := `{"id":2,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"no session/cancel"}]}}` + "\n"
	long := `{"id":3,"method":"` + strings.Repeat("session/cancel", 10_000) + `"}` + "\n"
	for _, obeyed := range []time.Duration{300 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			cancelled := make(chan struct{}, 1)
			o := newWire(strings.NewReader(next+cancel+next+long+cancel), io.Discard, cancelled)
			read := func(want string) {
				t.Helper()
				got := make([]byte, len(want))
				if _, err := io.ReadFull(o, got); err != nil || string(got) != want {
					t.Errorf("%.80s, %v, want %.80s", got, err, want)
				}
			}
			read(next + cancel)
			began := time.Now()
			timer := time.AfterFunc(obeyed, func() { cancelled <- struct{}{} })
			read(next + long + cancel)
			if waited := time.Since(began); waited != min(obeyed, obeyTime) {
				t.Errorf("waited %s", waited)
			}
			timer.Stop()
		})
	}
}
