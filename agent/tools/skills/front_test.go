package skills

import (
	"fmt"
	"strings"
	"testing"
)

func TestFront(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Plain: with a colon, it's fine # and a comment": "Plain: with a colon, it's fine",
		`"Quoted \"text\" # here"`:                       `Quoted "text" # here`,
		"'It''s quoted'":                                 "It's quoted",
		">\n  Folded\n  over lines.\n":                   "Folded over lines.",
		">-\n  Folded\n  over lines.":                    "Folded over lines.",
		"|\n  Kept\n  as lines.":                         "Kept as lines.",
		"begins here\n  and goes on":                     "begins here and goes on",
		"\n  below":                                      "below",
	} {
		text := "---\n# comment\nname: a-b\nmetadata:\n  author: x\n  v: \"1\"\n\ndescription: " + value + "\nlicense: MIT\n---\nBody.\n"
		for _, text := range []string{text, "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")} {
			head, err := front(text)
			if err != nil || head["description"] != want || head["name"] != "a-b" || head["license"] != "MIT" {
				t.Errorf("front of %q: %q, %v", value, head, err)
			}
		}
	}
	if head, err := front("---\nname: x\n---"); err != nil || head["name"] != "x" {
		t.Errorf("front without a body: %q %v", head, err)
	}
}

// What is no front matter is refused with what is wrong; nothing takes long, however it nests or grows.
func TestFrontRefuses(t *testing.T) {
	t.Parallel()
	bomb := strings.Builder{}
	bomb.WriteString("---\na: &a [x,x,x,x,x,x,x,x,x]\n")
	for n := range 9 {
		fmt.Fprintf(&bomb, "%c: &%c [*%c,*%c]\n", 'b'+n, 'b'+n, 'a'+n, 'a'+n)
	}
	for text, want := range map[string]string{
		"# No front matter":                  "does not begin with",
		"":                                   "does not begin with",
		"---\nname: x\n":                     "does not begin",
		"---\n" + strings.Repeat("x", 1<<20): "does not begin",
		"---\n" + strings.Repeat("a: b\n", 5000) + "---\n": "does not begin",
		"---\nname: x\nname: y\n---\n":                     "line 3",
		"---\n  name: x\n---\n":                            "line 2",
		"---\nname\n---\n":                                 "line 2",
		"---\nname: \"x\n---\n":                            "invalid syntax",
		"---\nname: {a: b}\n---\n":                         "that begins with {",
		bomb.String() + "---\n":                            "that begins with &",
	} {
		if _, err := front(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("front of %.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzFront(f *testing.F) {
	f.Add("---\nname: x\ndescription: >\n  a\n---\nBody")
	f.Fuzz(func(t *testing.T, text string) {
		if head, err := front(text); err == nil && head == nil {
			t.Error("neither a head nor an error")
		}
	})
}
