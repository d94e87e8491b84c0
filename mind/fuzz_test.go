package mind

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// Any call becomes one that the wire takes; one that is fit stays as it is.
func FuzzRepairCall(f *testing.F) {
	f.Add("BASH", `{"command":"ls"}`)
	f.Add("", "null")
	f.Add("my tool/◆\n", "\xff\x00")
	f.Add("SAY", `{"room":"dev","message":"◆ e1 note\u2028\ud800","Room":1e999}`)
	f.Add("SAY", strings.Repeat(`{"a":`, 20000))
	f.Add("X", `{}{}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		c := RepairCall(name, args)
		if !toolName.MatchString(c.Tool) || !isObject(c.Args) || !utf8.ValidString(c.Args) {
			t.Fatalf("%q %q becomes %+v", name, args, c)
		}
		if again := RepairCall(c.Tool, c.Args); again.Tool != c.Tool || again.Args != c.Args || again.Original != "" {
			t.Fatalf("%+v becomes %+v", c, again)
		}
		if escaped := model(c.Args); !isObject(escaped) || strings.ContainsAny(escaped, "◱◲◳◆") {
			t.Fatalf("%q goes on the wire as %q", c.Args, escaped)
		}
		call := Call{Tool: c.Tool, Args: model(c.Args)}
		call.Say()
	})
}

// A file that nobody has changed is no edit, an editor's habits are none either, and
// whatever is made of it, obeying it leaves a state that can be stored and resumed.
func FuzzCompare(f *testing.F) {
	view := string(example(f).state.View())
	f.Add(0, 0, "")
	f.Add(len(view)/2, len(view), "")
	f.Add(0, len(view), "◆ context of ada 0 epoch=99999999999999999999 through=e1 hash=0123456789abcdef\n◆ end")
	for _, s := range []string{"◆ e1 note\n", "◆ e99999999999999999999..e2 gist\n", "\n◆ pins\n- e5..e1: x\n- \n", "◆", "◆ ",
		"◆ e2.1 result ok\nother\n", "◆ memory\n(empty)\n", "◆ end\n", "\xff\x00\u2028\uFEFF", "</reasoning>\n<reasoning>\n"} {
		f.Add(strings.Index(view, "◆ e"), strings.Index(view, "◆ e"), s)
		f.Add(len(view)-10, len(view)-10, s)
		f.Add(strings.Index(view, "◆ memory"), strings.Index(view, "◆ memory")+12, s)
	}
	f.Fuzz(func(t *testing.T, from, to int, with string) {
		w := example(t)
		from = max(0, min(from, len(view)))
		file := view[:from] + with + view[max(from, min(to, len(view))):]
		found, ok := ReadView([]byte(file))
		if !ok {
			return
		}
		ed := w.state.Compare(found)
		if file == view && (!found.Intact || !ed.Empty()) {
			t.Fatalf("nothing was edited: %+v, %+v", found, ed)
		}
		if crlf := w.state.Compare(seen(strings.ReplaceAll(view, "\n", " \r\n"))); !crlf.Empty() {
			t.Fatalf("only line ends were edited: %+v", crlf)
		}
		if err := w.state.Amend(ed, func(gist string, body []byte) (Ref, error) { return w.store(gist, body), nil }); err != nil {
			t.Fatalf("%+v: %v", ed, err)
		}
		resumable(t, w)
		checkStrict(t, w.state.Messages(""))
		if next, ok := ReadView(w.state.View()); !ok || !next.Intact || !w.state.Compare(next).Empty() {
			t.Fatalf("obeyed, the view is not its own: %+v\n%s", w.state.Compare(next), w.state.View())
		}
	})
}

// resumable holds that a state can be stored and comes back as it was.
func resumable(t lethetest.Failer, w *world) {
	body, err := w.state.Snapshot()
	lethetest.Must(t, err)
	again, err := Restore(body, w.read)
	if err != nil || dump(t, again) != dump(t, w.state) {
		t.Fatalf("resumed, %v, as\n%s", err, body)
	}
	if !reflect.DeepEqual(again.Messages(""), w.state.Messages("")) {
		t.Fatalf("resumed, another request follows")
	}
}

// Any event after any life is refused, or leaves a state that can be asked about,
// stored and resumed.
func FuzzApply(f *testing.F) {
	f.Add("note NEXT", "text", false)
	f.Add("inbound NEXT room=dev inode=1 at=0..5 before= own=0..9 own=-1..2", "◆ hi\x00\n", false)
	f.Add("inbound NEXT room=dev at=9223372036854775807..9223372036854775807 show=-5 moved=yes", "[USER:bob 2026-11-20T12:57:16Z] hi\n", false)
	f.Add("reply NEXT in=-9223372036854775808 out=99999999999999999999 usd=-1e300",
		string(Answer{Text: "x", Calls: []AnswerCall{{Tool: "SAY", Args: "{}"}}}.Encode()), false)
	f.Add("reply NEXT post=dev@1:-7 ts=2026-11-20T12:57:16Z", string(Answer{Text: "x"}.Encode()), false)
	f.Add("result e8.1 status=ok show=1", "漢字", true)
	f.Add("call e8.1 SAY post=dev@1:2 ts=x", "", true)
	f.Add("call e8.1 SAY post=dev@1:2 ts=2026-11-20T12:57:16Z", "", true)
	f.Add("joined NEXT room=dev inode=1 at=-1 before=x last=,,, end=-1", "x", false)
	f.Add("command k1 room=dev at=0..1 name=/stop say=x post=dev@1:1 ts=2026-11-20T12:57:16Z line=x early=y", "", false)
	f.Add("posted e4 room=dev at=0..1 torn=0..9", "", false)
	f.Add("boot name=", "soul", false)
	f.Add("spent usd=x", "", false)
	f.Fuzz(func(t *testing.T, line, body string, underWay bool) {
		w := example(t)
		if underWay {
			w.answer(Answer{Calls: []AnswerCall{{Tool: "SAY", Args: `{"room":"dev","message":"hi"}`}}})
		}
		e, err := life.ParseLine("[2026-11-20T12:57:16.123456Z] " +
			strings.ToValidUTF8(strings.ReplaceAll(line, "NEXT", EntryID(w.state.Next)), "\ufffd") + " #000000000000")
		if err != nil {
			return
		}
		var bodies []Body
		if body != "" {
			ref := w.store("g", []byte(body))
			e.Refs, bodies = []blobs.Ref{{Hash: ref.Short, Gist: ref.Gist}}, []Body{{ref.Hash, []byte(body)}}
		} else {
			e.Refs = nil
		}
		// no JSON holds such a price, and none is ever written
		if w.state.Apply(e, bodies...) != nil || math.IsNaN(w.state.Usage.USD) || math.IsInf(w.state.Usage.USD, 0) {
			return
		}
		w.state.Owed()
		w.state.View()
		if _, err := time.Parse(time.RFC3339, e.Get("ts")); err != nil && len(w.state.Outbox) > 0 {
			t.Fatalf("%s is owed without a time", w.state.Outbox[0].Line)
		}
		resumable(t, w)
	})
}
