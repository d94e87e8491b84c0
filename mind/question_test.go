package mind

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// What people are to approve they can see: no character hides, no argument looks like another
// one, and whatever its size the question stays readable.
func TestAboutCall(t *testing.T) {
	ref := Ref{Short: "0123456789abcdef"}
	about := func(tool string, args map[string]string) string {
		data, _ := json.Marshal(args)
		return Ask{Tool: tool, Args: string(data)}.aboutCall(ref)
	}
	for command, want := range map[string]string{
		"rm a\u00a0b": `command: rm a\u00a0b`, "rm \u202ea\u200b\r": `command: rm \u202ea\u200b\u000d`, "a\x1b[8mb": `command: a\u001b[8mb`,
		"ls\nroom: x\n1) no": "command: ls\n  room: x\n  1) no", "é 🙂\tx": "command: é 🙂\tx",
	} {
		if got := about("BASH", map[string]string{"command": command}); got != "May I call BASH?\n"+want {
			t.Errorf("%q is shown as %q", command, got)
		}
	}
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint("x", i)] = strings.Repeat("ü\n", 1000)
	}
	if got := about("SAY", many); utf8.RuneCountInString(got) > mostShown+100 || !strings.HasSuffix(got, "… (all of it: lethe cat 0123456789abcdef)") {
		t.Errorf("%d characters are asked", utf8.RuneCountInString(got))
	}
}
