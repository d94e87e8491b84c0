package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lethe/internal/test/lethetest"
)

// Arguments of a model are understood, or refused with one bounded line; what a SAY
// says is what was given.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "null", "{}", "[]", `{"path":"x"}`, `{"PATH":"a","Path":"b","path":null}`,
		`{"path":"x","offset":"-9223372036854775808","limit":9.223372036854775807e18}`,
		`{"path":"x","offset":1e999}`, `{"path":"x","column":true}`, `{"room":" #rooms/dev.md","message":"hi\u2028\u0000"}`,
		`{"room":"dev","message":"` + "\u202e" + `"}`, `{"room":"../x","message":"x"}`,
		`{"room":"dev","message":" \n"}`, `{"path":"\ud800"}`, `{"path":"x","extra\n":1}`, strings.Repeat(`{"path":`, 20000),
		`{"path":"` + strings.Repeat("◆", 3000), "\xff\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		refused := func(err error) bool {
			if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error())) {
				t.Fatalf("%q: %q", args, err)
			}
			return err != nil
		}
		var a readArgs
		if !refused(Decode(json.RawMessage(args), &a)) {
			again, _ := json.Marshal(map[string]any{"path": a.Path, "offset": a.Offset, "limit": fmt.Sprint(a.Limit), "COLUMN": a.Column})
			var b readArgs
			if err := Decode(again, &b); err != nil || a != b {
				t.Fatalf("%q is %+v, and %s is %+v, %v", args, a, again, b, err)
			}
		}
		talk := &Set{Config: Config{Zone: time.UTC}}
		talk.tools = talk.roomTools()
		effect, err := talk.Intent("SAY", []byte(args))
		if refused(err) {
			return
		}
		said := effect.(Post)
		again, _ := json.Marshal(map[string]string{"room": said.Room, "message": said.Text})
		if more, err := talk.Intent("SAY", again); strings.TrimSpace(said.Text) == "" || more != effect || err != nil {
			t.Fatalf("%q says %q, and then %q, %v", args, said, more, err)
		}
	})
}

// Page by page a text file is shown whole, whatever is asked for first; no page is
// larger than its bound, and there is no page without progress.
func FuzzRender(f *testing.F) {
	lethetest.Unraced(f)
	for i, s := range []string{"", "a", "a\nb\n", "\n\n\n", "a\r\nb", "\xff\xfe\n漢字\u2028x", strings.Repeat("x", 5000),
		strings.Repeat("漢", 2500) + "\n" + strings.Repeat("y\n", 2100), "a\x00b"} {
		f.Add([]byte(s), int64(i), int64(2), int64(1))
		f.Add([]byte(s), int64(-1)<<63, int64(1)<<62, int64(1)<<62)
		f.Add([]byte(s), int64(2), int64(1<<63-1), int64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, offset, limit, column int64) {
		most := 1 + int(uint64(offset)%5000)
		show := func(a readArgs) (body string, last, total, next int64) {
			f := Set{Config: Config{Weight: func(text string) int { return len(text) }}}
			r, err := f.render(t.Context(), Call{Most: most}, bytes.NewReader(text), int64(len(text)), "f", a)
			if err != nil {
				return "", 0, 0, 0
			}
			head, body, _ := strings.Cut(string(r.Body), "\n")
			var first int64
			if n, _ := fmt.Sscanf(head, "[f: lines %d-%d of %d", &first, &last, &total); n < 3 {
				return "", 0, 0, 0
			}
			if len(body) > most+leastCut+200 || last < first || last > total {
				t.Fatalf("%+v of %.200q: %s, %d bytes", a, text, head, len(body))
			}
			if i := strings.Index(head, "next page: offset "); i >= 0 {
				fmt.Sscanf(head[i:], "next page: offset %d", &next)
			}
			return body, last, total, next
		}
		show(readArgs{Offset: integer(offset), Limit: integer(limit), Column: integer(column)})
		if isBinary(text[:min(len(text), sniffed)]) {
			return
		}
		var all strings.Builder
		for at := int64(1); at > 0; {
			body, last, _, next := show(readArgs{Offset: integer(at), Limit: integer(limit)})
			if all.WriteString(body); next > 0 && next != last+1 {
				t.Fatalf("after line %d of %.200q comes %d", last, text, next)
			}
			at = next
		}
		whole := string(text)
		if whole != "" && !strings.HasSuffix(whole, "\n") {
			whole += "\n"
		}
		if !strings.Contains(all.String(), "…[line ") && all.String() != whole {
			t.Fatalf("of %.200q is shown %.200q", whole, all.String())
		}
	})
}
