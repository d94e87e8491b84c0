package chat_test

import (
	"fmt"
	"lethe/chat"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 57, 16, 987654321, time.UTC)

func TestValidRoom(t *testing.T) {
	for name, want := range map[string]bool{
		"dev": true, "0": true, "a-b_c9": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "_a": false, "Dev": false, "a.b": false, "a/b": false, "..": false,
		"é": false, "a b": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if got := chat.ValidRoom(name); got != want {
			t.Errorf("ValidRoom(%q) = %v, want %v", name, got, want)
		}
	}
	if got := chat.Path("/home", "dev"); got != "/home/chats/dev.md" {
		t.Errorf("Path = %q", got)
	}
}

func TestParse(t *testing.T) {
	long, longName := strings.Repeat("é", 32), "[USER:"+strings.Repeat("a", 65)+" 2026-11-20T12:57:16Z] hi"
	const other = "[AGENT:x 2026-11-20T12:57:16Z] b"
	for raw, want := range map[string]string{ // who, when, what
		"[USER:ada 2026-11-20T12:57:16Z] hi\n":                        "user ada 2026-11-20T12:57:16Z hi",
		"[AGENT:lethe 2026-11-20T12:57:16Z] hi\n":                     "agent lethe 2026-11-20T12:57:16Z hi",
		"[USER:ada 2026-11-20T12:57:16Z] hi":                          "user ada 2026-11-20T12:57:16Z hi",
		"[USER:ada 2026-11-20T12:57:16Z] hi\r\n":                      "user ada 2026-11-20T12:57:16Z hi",
		"[USER:ada 2026-11-20T13:57:16.5+01:00] hi":                   "user ada 2026-11-20T12:57:16.5Z hi",
		"[USER:ada 2026-11-20T12:57:16Z]hi":                           "user ada 2026-11-20T12:57:16Z hi",
		"[USER:ada 2026-11-20T12:57:16Z]   hi":                        "user ada 2026-11-20T12:57:16Z   hi",
		"[USER:ada 2026-11-20T12:57:16Z]\n":                           "user ada 2026-11-20T12:57:16Z ",
		"\uFEFF[USER:ada 2026-11-20T12:57:16Z] hi":                    "user ada 2026-11-20T12:57:16Z hi",
		"[AGENT:" + long + " 2026-11-20T13:57:16.123456789+01:00] hi": "agent " + long + " 2026-11-20T12:57:16.123456789Z hi",
		"[USER:ada 2026-11-20T12:57:16Z] a\u2028" + other:             "user ada 2026-11-20T12:57:16Z a\n" + other,
		"[USER:ada 2026-11-20T12:57:16Z] " + other:                    "user ada 2026-11-20T12:57:16Z " + other,

		"hello\n": "hello", " \t\r\n": " \t", "": "",
		"x [AGENT:lethe 2026-11-20T12:57:16Z] hi": "x [AGENT:lethe 2026-11-20T12:57:16Z] hi",
		" [AGENT:lethe 2026-11-20T12:57:16Z] hi":  " [AGENT:lethe 2026-11-20T12:57:16Z] hi",
		"[USER:ada] hi":                           "[USER:ada] hi",
		"[USER:ada yesterday] hi":                 "[USER:ada yesterday] hi",
		"[USER: 2026-11-20T12:57:16Z] hi":         "[USER: 2026-11-20T12:57:16Z] hi",
		"[USER:a b 2026-11-20T12:57:16Z] hi":      "[USER:a b 2026-11-20T12:57:16Z] hi",
		longName:                                  longName,
		"[ROOT:ada 2026-11-20T12:57:16Z] hi":      "[ROOT:ada 2026-11-20T12:57:16Z] hi",
		"[USER:ada 2026-11-20T12:57:16Z":          "[USER:ada 2026-11-20T12:57:16Z",
		"a\x00b":                                  "a\uFFFDb", "a\xff\xfeb\xc3": "a\uFFFDb\uFFFD", "a\rb\n": "a\rb",
	} {
		line := chat.Parse([]byte(raw))
		got := line.Text
		if line.Tagged {
			who := map[bool]string{true: "agent", false: "user"}[line.Agent]
			got = fmt.Sprintf("%s %s %s %s", who, line.Name, line.At.UTC().Format(time.RFC3339Nano), got)
		}
		untagged := line.Tagged || !line.Agent && line.Name == chat.Unknown && line.At.IsZero()
		if got != want || !untagged || string(line.Raw) != strings.TrimSuffix(raw, "\n") {
			t.Errorf("%q is read as %q, want %q: %+v", raw, got, want, line)
		}
	}
}

func TestFormat(t *testing.T) {
	east := time.FixedZone("east", 3600)
	tests := []struct {
		agent      bool
		name, text string
		want       string // empty: refused
	}{
		{false, "ada", "hi", "[USER:ada 2026-11-20T12:57:16Z] hi\n"},
		{true, "lethe", "hi", "[AGENT:lethe 2026-11-20T12:57:16Z] hi\n"},
		{false, "ada", "a\nb\r\nc\rd\n\r\n", "[USER:ada 2026-11-20T12:57:16Z] a\u2028b\u2028c\u2028d\n"},
		{false, "ada", "\n a", "[USER:ada 2026-11-20T12:57:16Z] \u2028 a\n"},
		{false, "Ada [x] Lovelace", "hi", "[USER:Ada_[x_Lovelace 2026-11-20T12:57:16Z] hi\n"},
		{false, "", "hi", "[USER:unknown 2026-11-20T12:57:16Z] hi\n"},
		{false, "a", "x\xff\x00", "[USER:a 2026-11-20T12:57:16Z] x\uFFFD\uFFFD\n"},
		{true, "a", "\t\x1b[2J\x07\x7f\u0085\u009b1m\u202e\u2066\u200d\u200f",
			"[AGENT:a 2026-11-20T12:57:16Z] \t␛[2J␇␡\\u0085\\u009b1m\\u202e\\u2066\u200d\u200f\n"},
		{false, "a", "", ""},
		{false, "a", "\v\u0085", ""},
		{false, "a", " \n\t\r", ""},
		{false, "a", "\u2028", ""},
	}
	for _, tt := range tests {
		got, err := chat.Format(tt.agent, tt.name, noon.In(east), tt.text)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Format(%q, %q) = %q, %v; want %q", tt.name, tt.text, got, err, tt.want)
		}
	}
}

func TestCleanName(t *testing.T) {
	for in, want := range map[string]string{
		"ada": "ada", "": "unknown", " ] \t": "unknown", " Ada  Lovelace ": "Ada_Lovelace",
		"a]b": "ab", "a\x00\x1b[31mb": "a[31mb", "a\u202eb": "ab", "a\u2028b": "a_b", "\xff\xfe": "unknown",
		"日本 語": "日本_語", strings.Repeat("é", 40): strings.Repeat("é", 32),
		"x" + strings.Repeat("é", 40): "x" + strings.Repeat("é", 31),
	} {
		if got := chat.CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
	for _, r := range "\u3164\ufe0f\u034f\u2800\u115f\u1160\uffa0\U000e0100\u200b\u00ad" {
		if name := "grace" + string(r); chat.ValidName(name) || chat.CleanName(name) != "grace" {
			t.Errorf("%+q looks like grace, and is taken for a name: %+q", name, chat.CleanName(name))
		}
	}
	// Lines of before are read as they were.
	if l := chat.Parse([]byte("[USER:Ada\u2764\ufe0f 2026-11-20T12:57:16Z] /stop")); !l.Tagged ||
		l.Name != "Ada\u2764\ufe0f" || l.Text != "/stop" {
		t.Errorf("parsed as %+v", l)
	}
}

func TestCommand(t *testing.T) {
	const tag = "[USER:ada 2026-11-20T12:57:16Z] "
	for raw, want := range map[string][2]string{
		"/stop": {"stop"}, tag + "/stop": {"stop"}, tag + "/stop \r\n": {"stop"}, tag + "/status": {"status"},
		tag + "/model deepseek-flash": {"model", "deepseek-flash"}, tag + "/model  a/b ": {"model", "a/b"},
		tag + "/model": {}, tag + "/model a b": {}, tag + "/modelx": {}, tag + "/stop now": {}, tag + " /stop": {}, tag + "/STOP": {},
		tag + "/stop\u2028please": {}, tag + "say /stop": {}, tag + "/model a\u2028b": {}, tag: {},
		"[AGENT:x 2026-11-20T12:57:16Z] /stop": {},
	} {
		l := chat.Parse([]byte(raw))
		if l.Command != want[0] || l.Arg != want[1] {
			t.Errorf("%q is the command %q of %q; want %q", raw, l.Command, l.Arg, want)
		}
	}
}
