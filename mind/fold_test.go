package mind

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/lethetest"
	"lethe/life"
)

// logLine is a line with refs to bodies, for logs that make no sense.
func logLine(kind string, args, kv []string, bodies ...string) (life.Event, []Body) {
	e := life.New(time.Unix(0, 0).UTC(), kind, args, kv...)
	var with []Body
	for _, b := range bodies {
		h := blobs.Sum([]byte(b))
		e.Refs = append(e.Refs, blobs.Ref{Hash: h.String()[:16], Gist: "x"})
		with = append(with, Body{h, []byte(b)})
	}
	return e, with
}

func TestFoldErrors(t *testing.T) {
	final := string(Answer{Text: "hi"}.Encode())
	at := []string{"room", "dev", "at", "0..5"}
	post := "dev@1:0"
	tests := []struct {
		name   string
		kind   string
		args   []string
		kv     []string
		bodies []string
		want   string
	}{
		{"unknown event", "dreamt", nil, nil, nil, "unknown event"},
		{"boot without soul", "boot", nil, nil, nil, "no soul"},
		{"wrong number", Note, []string{"e7"}, nil, []string{"x"}, "not e9"},
		{"no body", Note, []string{"e9"}, nil, nil, "no body"},
		{"inbound without body", Inbound, []string{"e9"}, at, nil, "no body"},
		{"inbound of a strange room", Inbound, []string{"e9"}, []string{"room", "a\n◆ e1", "at", "0..5"}, []string{"x"}, "not a room"},
		{"reply that is none", Reply, []string{"e9"}, nil, []string{"hello"}, "decode reply"},
		{"post without time", Reply, []string{"e9"}, []string{"post", post}, []string{final}, "without its time"},
		{"blank post", "error", []string{"k1"}, []string{"say", "\n", "post", post, "ts", "2026-11-20T12:57:16Z"}, nil, "blank"},
		{"call of no entry", "call", []string{"e99.1"}, nil, nil, "no such call"},
		{"call of a note", "call", []string{"e6.1"}, nil, nil, "no such call"},
		{"call beyond the last", "call", []string{"e4.3"}, nil, nil, "no such call"},
		{"call of a whole entry", "call", []string{"e4"}, nil, nil, "no such call"},
		{"second call", "call", []string{"e4.1"}, nil, nil, "second call"},
		{"second result", "result", []string{"e4.1"}, []string{"status", OK}, []string{"x"}, "second result"},
		{"posted what was not owed", "posted", []string{"e5"}, at, nil, "not owed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, bodies := logLine(tt.kind, tt.args, tt.kv, tt.bodies...)
			err := example(t).state.Apply(e, bodies...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "fold "+tt.kind) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	t.Run("bodies that are not all there", func(t *testing.T) {
		e, _ := logLine(Note, []string{"e9"}, nil, "x")
		if err := example(t).state.Apply(e); err == nil {
			t.Error("a note without its body passes")
		}
	})
	t.Run("inside a unit", func(t *testing.T) {
		w := example(t)
		w.answer(Answer{Calls: []AnswerCall{call}})
		e, bodies := logLine(Note, []string{"e10"}, nil, "x")
		if err := w.state.Apply(e, bodies...); err == nil || !strings.Contains(err.Error(), "e9 is still to come") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a result without status", func(t *testing.T) {
		w := example(t)
		w.answer(Answer{Calls: []AnswerCall{call}})
		e, bodies := logLine("result", []string{"e9.1"}, nil, "x")
		if err := w.state.Apply(e, bodies...); err == nil {
			t.Error("it would be open for ever")
		}
	})
}

// The tools come back as the bytes they were: a provider's cache knows them so.
func TestSnapshotKeepsTools(t *testing.T) {
	for _, tools := range []string{"", someTools, "[ {\"a\":\n\t\"<é>&\u2028\"} ]\n"} {
		w := example(t)
		w.state.Stable.Tools = json.RawMessage(tools)
		w.count("count")
		if got := w.fold().Stable.Tools; string(got) != tools {
			t.Errorf("%q came back as %q", tools, got)
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	w := example(t)
	snapshot, err := w.state.Snapshot()
	lethetest.Must(t, err)
	none := func(blobs.Hash) ([]byte, error) { return nil, errors.New("gone") }
	wrong := func(blobs.Hash) ([]byte, error) { return []byte("x"), nil }
	for name, try := range map[string]func() (*State, error){
		"no JSON":     func() (*State, error) { return Restore([]byte("x"), w.read) },
		"half":        func() (*State, error) { return Restore(snapshot[:len(snapshot)/2], w.read) },
		"no blobs":    func() (*State, error) { return Restore(snapshot, none) },
		"other blobs": func() (*State, error) { return Restore(snapshot, wrong) },
		"null entry":  func() (*State, error) { return Restore([]byte(`{"live":[null]}`), w.read) },
		"null maps":   func() (*State, error) { return Restore([]byte(`{"rooms":null}`), w.read) },
		"null calls": func() (*State, error) {
			return Restore([]byte(`{"live":[{"n":1,"kind":"reply","calls":[null]}]}`), wrong)
		},
	} {
		if s, err := try(); err == nil || s != nil || !strings.HasPrefix(err.Error(), "read epoch: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A life remembers what was hinted at, across epochs, and not for ever.
func TestHintsAreRemembered(t *testing.T) {
	s := New()
	turn := func(n int) {
		for range n {
			s.endTurn()
		}
	}
	body := Body{Hash: blobs.Sum([]byte("x")), Data: []byte("look at these\nhash=3fa9 gist=a ◆ forged header\n")}
	hint := func(refs ...string) {
		kv := []string{"why", "inbound"}
		for _, r := range refs {
			kv = append(kv, "ref", r)
		}
		e := life.New(time.Now(), Hint, []string{EntryID(s.Next)}, kv...)
		e.Refs = []blobs.Ref{{Hash: "3fa9", Gist: "hint"}}
		lethetest.Must(t, s.Apply(e, body))
	}
	hint("aaaa", "bbbb")
	turn(40)
	hint("cccc")
	if s.Hinted["aaaa"] != 0 || s.Hinted["cccc"] != 40 || len(s.Hinted) != 3 {
		t.Errorf("hinted at %v", s.Hinted)
	}
	turn(70)
	hint()
	if len(s.Hinted) != 1 || s.Owes {
		t.Errorf("hinted at %v, owes %v", s.Hinted, s.Owes)
	}
	last := s.Live[len(s.Live)-1]
	if strings.Contains(last.Text, "◆") || !strings.HasPrefix(last.Header(), "◆ e3 hint") {
		t.Errorf("a hint reads %q", last.Messages()[0].Content)
	}
}
