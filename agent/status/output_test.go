package status_test

import (
	"lethe/agent/status"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// What a command writes is shown at its pace while it runs, as whole characters and the newest of
// it, and no longer than the call.
func TestLiveOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		v := status.NewView(dir)
		shown := func() status.Live {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			return status.ReadLive(dir)
		}
		write := v.Output("e1.1")
		write([]byte("caf\xc3"))
		if l := status.ReadLive(dir); l != (status.Live{}) {
			t.Errorf("at once %+v", l)
		}
		if l := shown(); l.Call != "e1.1" || l.Output != "caf" {
			t.Errorf("%+v", l)
		}
		write([]byte("\xa9 \xff!"))
		if l := shown(); l.Output != "café \uFFFD!" || l.From != 0 {
			t.Errorf("%+v", l)
		}
		all := "café \uFFFD!" + strings.Repeat("é", 3*status.MaxOutput)
		write([]byte(strings.Repeat("é", 3*status.MaxOutput)))
		if l := shown(); !utf8.ValidString(l.Output) || len(l.Output) > 2*status.MaxOutput ||
			l.From+int64(len(l.Output)) != int64(len(all)) || !strings.HasSuffix(all, l.Output) {
			t.Errorf("from %d, %d bytes", l.From, len(l.Output))
		}
		v.Begin(status.Live{})
		v.Flush()
		if l := status.ReadLive(dir); l != (status.Live{}) {
			t.Errorf("behind the end %+v", l)
		}
		write([]byte("of the job that it has become"))
		if l := shown(); l != (status.Live{}) {
			t.Errorf("behind the end %+v", l)
		}
	})
}
