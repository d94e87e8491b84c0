package terminal

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// What is typed is sent as it was typed, or is a command; what is sent for text is
// obeyed by nobody.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		"", " ", "hi", "/stop", "//stop", " /stop", "//model x", "/model", "/model a b", "/model  x", "/room #dev", "/room ../x",
		"/room", "/q", "/stop\n", "a\n/stop", "//", "///stop", "/\x00", "/stop\u2028", "\u202e/stop", "//status \t", "//status",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		command, text := understand(input)
		line, err := chat.Format(false, "you", time.Unix(0, 0), text)
		switch {
		case command == "" && err != nil && strings.TrimSpace(strings.ReplaceAll(input, "/", "")) != "":
			t.Fatalf("%q cannot be said: %v", input, err)
		case command == "" && err == nil:
			if ok := chat.Parse(line).Command != ""; ok != (forHarness(input) && !strings.HasPrefix(input, "//")) {
				t.Fatalf("%q is said as %q, which is obeyed: %v", input, line, ok)
			}
		}
	})
}

// Each line that a pipe sends is one message, and nothing of it is left out; what others
// say is shown as one message and moves no cursor.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "\n\n", "a\nb", "a\r\nb\r\n", "\x00\n\xff\n", "\u2028\n", "x\u0085y\u009b2J\x1b[2J\n",
		strings.Repeat("漢", 3000) + "\n", " /stop \n", "a\rb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got []string
		if err := read(t.Context(), bytes.NewReader(in), func(text string) { got = append(got, text) }); err != io.EOF {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(in)) {
			if line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"); strings.TrimSpace(line) != "" {
				want = append(want, line)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q is sent as %q", in, got)
		}
		for _, text := range got {
			for _, json := range []bool{false, true} {
				var out bytes.Buffer
				p := &plain{cfg: Config{Out: &out, JSON: json}, own: map[string]int{}}
				lethetest.Must(t, p.show(chat.Parse([]byte(text))))
				if strings.ContainsFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) ||
					strings.Count(out.String(), "\n") != 1+strings.Count(out.String(), "\n  ") {
					t.Fatalf("%q is shown as %q", text, out.String())
				}
			}
		}
	})
}
