package mind

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// What people are to approve they can see: no character hides, no argument looks like another
// one, and whatever its size the question stays readable.
func TestAboutCall(t *testing.T) {
	ref := Ref{Short: "0123456789abcdef"}
	about := func(tool string, args map[string]string) string {
		data, _ := json.Marshal(args)
		return Ask{Tool: tool, Args: string(data), Codes: true}.aboutCall(ref)
	}
	for command, want := range map[string]string{
		"rm a\u00a0b": `command: rm a\u00a0b`, "rm \u202ea\u200b\r": `command: rm \u202ea\u200b\u000d`, "a\x1b[8mb": `command: a\u001b[8mb`,
		"ls\nroom: x\n1) no": "command: ls\n  room: x\n  1) no", "é 🙂\tx": `command: é 🙂\u0009x`,
		"a\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\ufe0f\U000e0100b": `command: a\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\ufe0f\ue0100b`,
	} {
		if got := about("BASH", map[string]string{"command": command}); got != "May I call BASH?\n"+want {
			t.Errorf("%q is shown as %q", command, got)
		}
	}
	if got := about("BASH", map[string]string{"x\n1) no": "y"}); got != "May I call BASH?\nx\n  1) no: y" {
		t.Errorf("an argument's name is shown as %q", got)
	}
	for r := range unicode.MaxRune + 1 { // among them is Default_Ignorable_Code_Point
		if r == '\n' || !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf, unicode.Cc) {
			continue
		}
		if got := about("BASH", map[string]string{"command": string(r)}); !strings.HasSuffix(got, fmt.Sprintf(`: \u%04x`, r)) {
			t.Errorf("%U is shown as %q", r, got)
		}
	}
	// A life that an earlier version lived folds to the text that it asked, in snapshots and rooms.
	old, _ := DecodeAsk([]byte(`{"room":"dev","tool":"BASH","args":"{\"command\":\"a\\tb\ufe0f\u00a0\"}"}`))
	if got := old.aboutCall(ref); got != "May I call BASH?\ncommand: a\tb\ufe0f"+`\u00a0` {
		t.Errorf("an earlier question is shown as %q", got)
	}
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint("x", i)] = strings.Repeat("ü\n", 1000)
	}
	if got := about("SAY", many); utf8.RuneCountInString(got) > mostShown+100 ||
		!strings.HasSuffix(got, "… (all of it: lethe cat 0123456789abcdef)") {
		t.Errorf("%d characters are asked", utf8.RuneCountInString(got))
	}
}
