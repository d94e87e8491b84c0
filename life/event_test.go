package life

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

var at = time.Date(2026, 11, 20, 12, 57, 16, 123456000, time.UTC)

const soulHash = "3f9c0ffee00ddead"

// events draws events that Append takes, with values that are hard on the format.
func events() *rapid.Generator[Event] {
	word := rapid.StringMatching(`[a-zA-Z0-9_.,:@/\[\]'é-]{1,12}|e[0-9]{1,3}(\.[0-9])?`)
	value := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z0-9]{0,8}`),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"◰", "◱", "◲", "◳", "◆", "\n", "\r", "\x00",
				`"`, "`", `\`, "#", "=", " ", "+", "\u2028", "\u202e", "\ufffd", "x", " #0123456789ab", "◱hash=3f9 gist=x◲"}), 0,
				12).Draw(t, "pieces"), "")
		}),
	)
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			At:   time.UnixMicro(rapid.Int64Range(-62135596800_000000, 253402300799_999999).Draw(t, "at")).UTC(),
			Kind: word.Draw(t, "kind"),
			Args: rapid.SliceOfN(word, 0, 3).Draw(t, "args"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			e.Fields = append(e.Fields, Field{word.Draw(t, "key"), strings.ToValidUTF8(value.Draw(t, "value"), "\ufffd")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "refs") {
			e.Refs = append(e.Refs, blobs.Ref{
				Hash: rapid.StringMatching(`[0-9a-f]{16,64}`).Draw(t, "hash"),
				Gist: blobs.Gist(value.Draw(t, "gist")),
			})
		}
		if len(e.Args) == 0 {
			e.Args = nil
		}
		return e
	})
}

func TestAppendRefusesWhatWouldNotReadBack(t *testing.T) {
	l, path := newLog(t)
	ref := func(h string) Event { return Event{At: at, Kind: "grant", Refs: []blobs.Ref{{Hash: h}}} }
	for name, e := range map[string]Event{
		"no kind":           {At: at},
		"kind with space":   {At: at, Kind: "a b"},
		"argument: space":   made("call", []string{"e1.1", "BASH tool"}),
		"argument: equals":  made("call", []string{"a=b"}),
		"argument: newline": made("call", []string{"a\nb"}),
		"argument: header":  made("call", []string{"◆e1"}),
		"argument: bytes":   made("call", []string{"\xff"}),
		"argument: joined":  made("call", []string{"+"}),
		"argument: empty":   made("call", []string{""}),
		"key: quote":        made("call", nil, `a"b`, "v"),
		"key: empty":        made("call", nil, "", "v"),
		"hash: not hex":     ref("3f9z"),
		"hash: upper case":  ref("3F9C0FFEE00DDEAD"),
		"hash: short":       ref("3f"),
		"hash: long":        ref(strings.Repeat("a", 65)),
	} {
		err := l.Append(made("good", nil), e)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if n := l.Size(); n != 0 {
		t.Errorf("refused events left %d bytes", n)
	}
	if err := l.Append(made("good", nil)); err != nil {
		t.Errorf("the log does not go on after a refusal: %v", err)
	}
	if got := scan(t, path); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
}

func TestParseRefuses(t *testing.T) {
	const stamp = "[2026-11-20T12:57:16.123456Z]"
	for _, bad := range []string{
		"", "[", "] x", "[] x", stamp, stamp + " ", stamp + "  x", stamp + " =v", stamp + " a=b",
		"[2026-11-20T1:57:16.123456Z] x", "[2026-11-20T12:57:16,123456Z] x", "[2026-11-20T12:57:16Z] x",
		stamp + " x ", stamp + " x  y", stamp + " x a=", stamp + " x a= b", stamp + ` x a="b`, stamp + ` x a="b"c`,
		stamp + ` x a=b"c`, stamp + " x a=b=c", stamp + ` x "a"`, stamp + " x a#b", stamp + " x \x00",
		stamp + " x ◱", stamp + " x ◱hash=3f9 gist=a", stamp + " x ◱hash=3f gist=a◲", stamp + " x ◱hash=3f9 gist=◱a◲",
		stamp + " x ◱hash=3f9 gist=a◲◱hash=3f9 gist=a◲", stamp + " x ◱hash=3f9 gist=a◲y", stamp + " x a◱hash=3f9 gist=a◲",
		stamp + " x 'a'=\x01", stamp + " x k=◲",
	} {
		if e, err := parse(bad); err == nil {
			t.Errorf("%q was read as %#v", bad, e)
		}
	}
}

// What a later Unicode calls printable may stand bare in a log; it is no damage.
func TestParseDoesNotAskUnicode(t *testing.T) {
	e, err := parse("[2026-11-20T12:57:16.123456Z] x k=\U0003fffd \U0003fffd")
	if err != nil || e.Get("k") != "\U0003fffd" || e.Arg(0) != "\U0003fffd" {
		t.Errorf("%#v %v", e, err)
	}
}

// made returns an event with fields from alternating keys and values.
func made(kind string, args []string, kv ...string) Event {
	e := Event{At: at, Kind: kind, Args: args}
	for i := 0; i < len(kv); i += 2 {
		e.Fields = append(e.Fields, Field{kv[i], kv[i+1]})
	}
	return e
}

// newLog returns an empty log.
func newLog(t testing.TB) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "LIFE.md")
	l, err := Create(path)
	lethetest.Must(t, err)
	t.Cleanup(func() { l.Close() })
	return l, path
}

// scan returns all events of a log that has to be sound.
func scan(t testing.TB, path string) []Event {
	t.Helper()
	var out []Event
	lethetest.Must(t, Scan(path, func(e Event, _ int64) error { out = append(out, e); return nil }))
	return out
}
