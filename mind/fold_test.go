package mind

import (
	"errors"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// logLine is a line with refs to bodies, for logs that make no sense.
func logLine(t *testing.T, line string, bodies ...string) (life.Event, []Body) {
	e, err := life.ParseLine("[2026-11-20T12:57:16.123456Z] " + line + " #000000000000")
	lethetest.Must(t, err)
	var with []Body
	for _, b := range bodies {
		h := blobs.Sum([]byte(b))
		e.Refs = append(e.Refs, blobs.Ref{Hash: h.String()[:16], Gist: "x"})
		with = append(with, Body{h, []byte(b)})
	}
	return e, with
}

func TestFoldErrors(t *testing.T) {
	for name, tt := range map[string]struct{ line, body, want string }{
		"unknown event":               {"dreamt", "", "unknown event"},
		"boot without soul":           {"boot", "", "no soul"},
		"wrong number":                {"note e7", "x", "e10"},
		"no body":                     {"note e10", "", "no body"},
		"inbound without body":        {"inbound e10 room=dev at=0..5", "", "no body"},
		"inbound of a strange room":   {`inbound e10 room="a\n◰4 e1" at=0..5`, "x", "not a room"},
		"reply that is none":          {"reply e10", "hello", "decode reply"},
		"blank post":                  {`error k1 say="\n" post=dev@1:0 ts=2026-11-20T12:57:16Z`, "", "blank"},
		"call of no entry":            {"call e99.1 BASH", "", "no such call"},
		"call of a note":              {"call e6.1 BASH", "", "no such call"},
		"call beyond the last":        {"call e4.3 BASH", "", "no such call"},
		"call of a whole entry":       {"call e4 BASH", "", "no such call"},
		"second call":                 {"call e4.1 BASH", "", "second call"},
		"second result":               {"result e4.1 BASH status=ok", "x", "second result"},
		"posted what was not owed":    {"posted e5 room=dev at=0..5", "", "not owed"},
		"a result without status":     {`result e9.1 BASH status=""`, "x", "no status"},
		"inside a unit":               {"note e10", "x", "e9 is still to come"},
		"an inbound line in the unit": {"inbound e10 room=dev at=0..5", "x", "e9 is still to come"},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			if tt.body != "" {
				bodies = []string{tt.body}
			}
			e, with := logLine(t, tt.line, bodies...)
			w := example(t)
			calls := []AnswerCall{call}
			if !strings.Contains(tt.want, "e9") && !strings.Contains(tt.want, "status") {
				calls = nil
			}
			w.answer(Answer{Calls: calls})
			err := w.state.Apply(e, with...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "fold "+e.Kind) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	e, _ := logLine(t, "note e9", "x")
	if err := example(t).state.Apply(e); err == nil {
		t.Error("a note without its body passes")
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
	} {
		if s, err := try(); err == nil || s != nil || !strings.HasPrefix(err.Error(), "read epoch: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
