package status

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Nobody waits for what is shown; it is written at its pace, the newest of it, and at once where that is asked for.
func TestView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		v := NewView(dir)
		turn := func(want int) {
			t.Helper()
			synctest.Wait()
			if s, _ := Read(dir); s.Turn != want {
				t.Errorf("turn %d is shown, not %d", s.Turn, want)
			}
		}
		v.Show(Status{Self: "a", Turn: 1})
		turn(0)
		time.Sleep(pace / 10)
		turn(1)
		for i := range 9 {
			v.Show(Status{Self: "a", Turn: 2 + i})
			time.Sleep(pace / 10)
			turn(1)
		}
		time.Sleep(pace / 10)
		turn(10)
		v.Live(func(now *Live) bool { *now = Live{Entry: "e4", Text: "so far"}; return true })
		v.Show(Status{Self: "a", Turn: 11})
		v.Flush()
		turn(11)
		if l := ReadLive(dir); l != (Live{Entry: "e4", Text: "so far"}) {
			t.Errorf("under way is %+v", l)
		}
		v.Live(func(now *Live) bool { *now = Live{Entry: "e6"}; return true })
		v.Flush()
		if l := ReadLive(dir); l != (Live{}) {
			t.Errorf("of an answer that has not begun, %+v", l)
		}
		if l := ReadLive(dir); NewView(dir).shown != l {
			t.Error("what a killed process has left is not known")
		}
	})
}

// Whoever reads while answers follow each other sees no piece of one as the beginning of the next.
func TestLiveIsOfOneEntry(t *testing.T) {
	dir := t.TempDir()
	v := NewView(dir)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			entry := fmt.Sprintf("e%d", i)
			for _, l := range []Live{{Entry: entry, Thinking: entry + " thinks"},
				{Entry: entry, Thinking: entry + " thinks", Text: entry + " says"}} {
				v.Live(func(now *Live) bool { *now = l; return true })
				v.Flush()
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if l := ReadLive(dir); !strings.HasPrefix(l.Thinking+" ", l.Entry+" ") || l.Text != "" && l.Text != l.Entry+" says" {
			t.Fatalf("%+v", l)
		}
	}
}
