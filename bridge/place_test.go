package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"lethe/internal/durable"
)

// Each part of a long line costs a mark, not the line again; and what was marked
// outlives the process, also when the last mark is torn.
func TestMarksAreSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		b := open(t, home)
		b.accept(t, message("1", "ada", "question"))
		var want []string
		for i := range 200 {
			want = append(want, fmt.Sprint("part ", i, strings.Repeat(" words", 1000)))
		}
		agentSays(t, home, strings.Join(want, "\n"))
		writes, whole := 0, 0
		during(t, func(stage durable.Stage, op, _ string) error {
			if stage == durable.After {
				switch op {
				case "append":
					writes++
				case "rename":
					whole++
				}
			}
			return nil
		})
		s := &script{answer: func(_ context.Context, n int, _ string) error {
			if n > 100 {
				return errors.New("gone")
			}
			return nil
		}}
		b.catchUp(t, ada, s)
		if writes != 100 || whole > 1 {
			t.Errorf("%d marks and %d whole files for 100 parts", writes, whole)
		}
		b.abandon()
		path := inState(home, "peers/p-ada.json")
		if fi, err := os.Stat(path); err != nil || fi.Size() > 1_300_000 {
			t.Errorf("the file has %d bytes, %v", fi.Size(), err)
		}
		if h := health(t, home); h.Out != 1 {
			t.Errorf("health %+v", h)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = io.WriteString(f, `{"part":100,"sta`)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		b = open(t, home)
		s.answer = nil
		b.deliver(t, ada, s)
		settled()
		equal(t, "sent", s.got(), want)
		if st := state(t, home, "p-ada"); st.Line != nil {
			t.Error("the line is still being sent")
		}
	})
}

// Marks go to the file that they are about, or the file is written anew.
func TestMarkedFileIsReplaced(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := t.TempDir()
				b := open(t, home)
				b.accept(t, message("1", "ada", "question"))
				agentSays(t, home, "a\nb\nc")
				s := &script{answer: func(ctx context.Context, n int, text string) error {
					if n == 2 {
						return spoil(inState(home, "peers/p-ada.json"))
					}
					return goneAfterOne(ctx, n-1, text)
				}}
				b.catchUp(t, ada, s)
				equal(t, "stored", shown(state(t, home, "p-ada").Line), []string{`"a" "sent" "r1" ""`, `"b" "sent" "r2" ""`, `"c" "" "" ""`})
			})
		})
	}
}

// Of a file that makes no sense, nothing is believed.
func TestFoldPeer(t *testing.T) {
	const line = `{"room":"dev","cursor":{},"line":{"room":"dev","from":0,"to":9,"parts":[{"data":1},{"data":2}]}}`
	for _, c := range []struct {
		data string
		next int // -2: an error
		torn bool
	}{
		{line + "\n", 0, false},
		{line, 0, true},
		{line + "\n" + `{"part":0,"state":"sent"}` + "\n", 1, false},
		{line + "\n" + `{"part":0,"state":"sent"}`, 1, true},
		{line + "\n" + `{"part":0,"stat`, 0, true},
		{line + "\n" + `{"part":0,"stat` + "\n", -2, false},
		{line + "\n" + `{"part":0,"stat` + "\n" + `{"part":0,"state":"sent"}` + "\n", -2, false},
		{line + "\n" + `{"part":2,"state":"sent"}` + "\n", -2, false},
		{line + "\n" + `{"part":-1,"state":"sent"}` + "\n", -2, false},
		{line + "\n" + `{"part":0}` + "\n", -2, false},
		{line + "\n" + `{"part":0,"state":"sent"}` + "\n" + `{"part":1,"state":"refused"}` + "\n", -2, false},
		{`{"room":"dev","cursor":{}}` + "\n" + `{"part":0,"state":"sent"}` + "\n", -2, false},
		{"", -2, true},
	} {
		st, torn, err := foldPeer([]byte(c.data))
		if (err != nil) != (c.next == -2) || torn != c.torn || err == nil && st.Line.next() != c.next {
			t.Errorf("%s: %+v, torn %v, %v", c.data, st, torn, err)
		}
	}
}

// A line that makes more than can be read again is left out, and told of.
func TestPartsThatAreTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		log := &captured{}
		b := open(t, home, func(c *Config) { c.Log = log.logger() })
		b.accept(t, message("1", "ada", "question"))
		agentSays(t, home, "large")
		agentSays(t, home, "small")
		large := []Part{{Data: append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, maxParts)...), '"')}}
		s := &script{parts: func(p Peer, l Line) ([]Part, error) {
			if l.Text == "large" {
				return large, nil
			}
			return split(p, l)
		}}
		b.deliver(t, ada, s)
		settled()
		equal(t, "sent", s.got(), []string{"small"})
		if log.count("a part was refused and is left out") != 1 {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// A line whose last mark could not be written is over when its peer moves.
func TestSentLineDoesNotMove(t *testing.T) {
	home := t.TempDir()
	b := open(t, home)
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
	if err := b.Move(Peer{ada.Key, "ops"}); err != nil {
		t.Fatal(err)
	}
	b.abandon()
	if _, _, _, err := readPeer(inState(home, "peers/p-ada.json")); err != nil {
		t.Errorf("after a kill: %v", err)
	}
}
