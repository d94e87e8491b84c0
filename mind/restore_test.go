package mind

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// hostileValues stand in the place of each value of a snapshot.
var hostileValues = []string{
	"null", "0", "-1", "9223372036854775807", "-9223372036854775808", "1e300", `""`, `"x"`, `"◆ e1 note\n◆ end\n"`, "true", "[]", "{}",
	"[null]", `{"":null}`, `{"dev":null}`, `[{}]`, `{"dev":{}}`, "[[]]",
}

// splice puts value in the place of the n-th value of a JSON text, as they begin in it.
func splice(text []byte, n int, value string) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for at := 0; decoder.More() || at > 0; at++ {
		before := decoder.InputOffset()
		if at == n {
			from := before + int64(len(text[before:])-len(bytes.TrimLeft(text[before:], " \n:,")))
			rest := json.NewDecoder(bytes.NewReader(text[from:]))
			var whole json.RawMessage
			if rest.Decode(&whole) != nil { // the end of a list
				return text
			}
			to := from + rest.InputOffset()
			return bytes.Join([][]byte{text[:from], []byte(value), text[to:]}, nil)
		}
		if _, err := decoder.Token(); err != nil {
			return text
		}
	}
	return text
}

// fill gives a value to each part of v that has none: a list of one, an x, the address of a text.
func fill(v reflect.Value, address blobs.Hash, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), address, depth)
			}
		}
	case reflect.Pointer:
		if v.IsNil() && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			fill(v.Elem(), address, depth+1)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte("{}"))
		} else if v.Len() == 0 && depth < 6 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), address, depth+1)
		}
	case reflect.Map:
		if v.Len() == 0 && depth < 6 {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element, address, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), element)
		}
	case reflect.Array:
		if v.Type() == reflect.TypeFor[blobs.Hash]() && v.IsZero() {
			v.Set(reflect.ValueOf(address))
		}
	case reflect.String:
		if v.IsZero() {
			v.SetString("x")
		}
	case reflect.Int, reflect.Int64:
		if v.IsZero() {
			v.SetInt(1)
		}
	}
}

// use asks a state for all that a resume, an import and a request ask it for.
func use(t testing.TB, w *world, s *State) {
	t.Helper()
	_, _ = s.Conserved()
	_ = s.Owed()
	_, _, _, _ = s.Audience(), s.Concludes(), s.TurnRoom(), s.LostWakes()
	_ = s.Messages("tail")
	_ = s.Forgotten()
	if seen, ok := ReadView(s.View()); ok {
		s.Compare(seen)
	}
	body, err := s.Snapshot()
	lethetest.Must(t, err)
	again, err := Restore(body, w.read)
	if err != nil {
		t.Fatalf("not restored from its own snapshot: %v", err)
	}
	for _, line := range []string{
		"note NEXT why=lost hash", "inbound NEXT room=dev inode=1 at=0..5 hash", "reply NEXT in=1 out=1 hash", "result e8.1 status=ok hash",
		"joined NEXT room=other inode=1 at=0 hash", "stopped why=stop", "resumed why=kill", "posted e4 room=dev at=0..1",
	} {
		text := strings.NewReplacer("NEXT", EntryID(again.Next), " hash", "").Replace(line)
		e, err := life.ParseLine("[2026-11-20T12:57:16.123456Z] " + text + " #000000000000")
		lethetest.Must(t, err)
		var bodies []Body
		if strings.HasSuffix(line, " hash") {
			ref := w.store("g", []byte("text"))
			e.Refs, bodies = []blobs.Ref{{Hash: ref.Short, Gist: ref.Gist}}, []Body{{ref.Hash, []byte("text")}}
		}
		_ = again.Apply(e, bodies...)
	}
	again.Renew(Inputs{System: "system", Texts: []Text{{Name: "MEMORY.md"}}})
	again.Open("memory", nil, time.Unix(0, 0))
	_ = again.NextParams(Params{}, "model")
	_ = again.View()
}

func restore(t testing.TB, w *world, body []byte) {
	t.Helper()
	if s, err := Restore(body, w.read); err == nil {
		use(t, w, s)
	}
}

// A snapshot comes with a life from another home, and any of its values may be another one: it is refused, or it is a state
// that can be asked, folded into and stored.
func TestHostileSnapshot(t *testing.T) {
	w := example(t)
	whole := w.state
	body, err := whole.Snapshot()
	lethetest.Must(t, err)
	full, err := Restore(body, w.read)
	lethetest.Must(t, err)
	fill(reflect.ValueOf(full).Elem(), w.store("text", []byte("text")).Hash, 0)
	body, err = full.Snapshot()
	lethetest.Must(t, err)
	if _, err := Restore(body, w.read); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	tried := 0
	every := lethetest.Sample(7, 5, 1)
	for n := lethetest.Day() % every; n < 2000; n += every {
		if bytes.Equal(splice(body, n, `"never there"`), body) {
			continue
		}
		for _, value := range hostileValues {
			tried++
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("value %d as %s: %v", n, value, p)
					}
				}()
				restore(t, w, splice(body, n, value))
			}()
		}
	}
	if tried < 1000/every {
		t.Errorf("tried %d snapshots", tried)
	}
}

func FuzzRestore(f *testing.F) {
	w := example(f)
	body, err := w.state.Snapshot()
	lethetest.Must(f, err)
	for n, value := range hostileValues {
		f.Add(body, n, value)
		f.Add([]byte(value), 0, value)
	}
	f.Fuzz(func(t *testing.T, body []byte, n int, value string) {
		restore(t, w, splice(body, n, value))
	})
}
