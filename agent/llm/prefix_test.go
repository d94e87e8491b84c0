package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// However requests use a prefix, they are as without one, and those that were sent stay as they were.
func TestPrefixChangesNoByte(t *testing.T) {
	type body struct {
		parts net.Buffers
		want  []byte
	}
	rapid.Check(t, func(t *rapid.T) {
		preset, _ := Preset(rapid.SampledFrom(Presets()).Draw(t, "preset"))
		shows := album()
		var prefix Prefix
		var older []Prefix
		var bodies []body
		next := rapid.Custom(func(t *rapid.T) Message {
			return rapid.SampledFrom(slices.Concat(turns(), everything().Messages, pictured())).Draw(t, "message")
		})
		send := func(p Prefix, messages []Message) {
			r := everything()
			r.Messages, r.Prefix, r.pictures = messages, p, shows
			if rapid.Bool().Draw(t, "no tools") {
				r.Tools = nil
			}
			plain := r
			plain.Prefix = Prefix{}
			want, err := preset.Body(plain)
			lethetest.Must(t, err)
			parts, err := preset.parts(r)
			lethetest.Must(t, err)
			if bodies = append(bodies, body{parts, want}); r.Weight() != plain.Weight() {
				t.Fatalf("it weighs %d, and %d without a prefix", r.Weight(), plain.Weight())
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"grow": func(t *rapid.T) { prefix.Add(rapid.SliceOfN(next, 1, 5).Draw(t, "more")...) },
			"send": func(t *rapid.T) { send(prefix, prefix.Messages()) },
			"follow": func(t *rapid.T) {
				send(prefix, append(prefix.Messages(), rapid.SliceOfN(next, 1, 3).Draw(t, "behind")...))
			},
			"keep": func(*rapid.T) { older = append(older, prefix) },
			"cut back": func(t *rapid.T) {
				if len(older) > 0 {
					p := rapid.SampledFrom(older).Draw(t, "older")
					send(p, p.Messages())
				}
			},
			"other preset": func(t *rapid.T) { preset, _ = Preset(rapid.SampledFrom(Presets()).Draw(t, "preset")) },
			"":             func(*rapid.T) {},
		})
		for i, b := range bodies {
			if got, err := io.ReadAll(&b.parts); err != nil || !bytes.Equal(got, b.want) {
				t.Fatalf("body %d (%v)\ngot  %s\nwant %s", i, err, got, b.want)
			}
		}
	})
}

// A request costs what is new in it, however much it begins with; and so does the judgement of its count.
func TestPrefixIsReadOnce(t *testing.T) {
	preset, _ := Preset("custom")
	allocations := func(before int) float64 {
		var p Prefix
		var counts Counts
		said := Message{Role: "user", Content: Content{{Text: "one text"}, {Text: " and another"}}} // joined where they are weighed
		for range before {
			p.Add(append(turns(), said)...)
		}
		return testing.AllocsPerRun(10, func() {
			p.Add(append(turns()[4:6], said)...)
			request := Request{Model: "m", Messages: p.Messages(), Prefix: p, Tools: json.RawMessage("[]")}
			_, err := preset.parts(request)
			lethetest.Must(t, err)
			if believed, _ := counts.Judge(request, request.Weight()/3); !believed {
				t.Error("a usual count is not believed")
			}
		})
	}
	if few, many := allocations(1), allocations(1000); many > 2*few { // some more is made anew when a pool was emptied
		t.Errorf("%v allocations behind one turn, %v behind a thousand", few, many)
	}
}
