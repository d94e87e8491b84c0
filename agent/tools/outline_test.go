package tools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// An outline lists declarations and headings with what belongs to each, and nothing else.
func TestOutline(t *testing.T) {
	id := newIdentity(t, nil)
	for _, c := range []struct{ name, text, want string }{
		{"a.go", "package a\n\nimport (\n\t\"fmt\"\n)\n\n// of\n//\tmany\nfunc (s *S) one(\n\ta int,\n) error {\n\tif a > 0 {\n\t\treturn nil\n\t}\n}\n\n" +
			"var x = 1\n\ntype S struct {\n\ta int\n}\n\n", "3-5 import (|9-15 func (s *S) one(|19-21 type S struct {"},
		{"a.py", "import os\n\nclass A:\n    \"\"\"It.\"\"\"\n\n    def f(self):\n        for x in y:\n            pass\n\n    async def g(self):\n        pass\n\n\n" +
			"def h():\n    def inner():\n        pass\n    return inner\n\nif True:\n    h()\n", "3-11 class A:|6-8     def f(self):|10-11     async def g(self):|14-17 def h():"},
		{"a.c", "#include <a.h>\n\nstatic int\nmain(void)\n{\n\tif (a)\n\t\tb();\n}\n", "4-8 main(void)"},
		{"a.rb", "module A\n  class B\n    def c\n      1\n    end\n  end\nend\n", "1-7 module A|2-6   class B|3-5     def c"},
		{"a.yaml", "services:\n  web:\n    image: x\nother: 1\n", "1-3 services:"},
		{"a.md", "# One\n\ntext\n    code\n\n## Two\n```sh\n# no heading\n```\n\n### Three\n## Four\n#none\n# Five", "1-13 # One|6-11 ## Two|11-11 ### Three|12-13 ## Four|14-14 # Five"},
		{"crlf.py", "def a():\r\n\tpass\r\n\r\ndef b():\r\n\tpass\r\n", "1-2 def a():|4-5 def b():"},
	} {
		id.file(c.name, c.text)
		head, got, _ := strings.Cut(id.ok("READ_FILE", "path", c.name, "outline", 1), "\n")
		lethetest.Words(t, head, "[outline of "+c.name+": lines 1-")
		lines := strings.Split(c.text, "\n")
		for i, one := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			var first, last int
			lethetest.Must(t, scan(one, &first, &last))
			place, rest, _ := strings.Cut(one, " ")
			if want := strings.Split(c.want, "|"); i >= len(want) || fmt.Sprintf("%d-%d %s", first, last, rest) != want[i] {
				t.Errorf("%s: %s, want %s", c.name, one, c.want)
			}
			if all := strings.Join(lines[first-1:last], "\n"); place != span(int64(first), int64(last), all) {
				t.Errorf("%s: %s is not of %q", c.name, place, all)
			}
		}
		if strings.Count(got, "\n") != strings.Count(c.want, "|")+1 {
			t.Errorf("%s:\n%s, want %s", c.name, got, c.want)
		}
	}
	id.file("none", "a\nb\n")
	id.fails([]string{"no headings or declarations"}, "READ_FILE", "path", "none", "outline", 1)
	id.file("bin", "a\x00b\n")
	id.fails([]string{"binary"}, "READ_FILE", "path", "bin", "outline", 1)
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "func f%d() {\n\treturn\n}\n", i)
	}
	id.file("many.go", many.String())
	lethetest.Words(t, id.ok("READ_FILE", "path", "many.go", "outline", 1), "; next page: offset ")
	lethetest.Words(t, id.ok("READ_FILE", "path", "many.go", "outline", 1, "offset", 3000), " func f2999() {")
}

func scan(text string, first, last *int) error {
	_, err := fmt.Sscanf(text, "%d-%d:", first, last)
	return err
}

// No text takes an outline long, and each line of it is of lines that are there.
func TestOutlineOfStrangeTexts(t *testing.T) {
	lethetest.Unraced(t)
	for name, text := range map[string]string{
		"closers": "a\n" + strings.Repeat("}\n", 1<<20), "deep": deep(4000), "blank": strings.Repeat("\n", 1<<20), "one": "a", "empty": "",
		"pairs": strings.Repeat("a\n}\n", 1<<19), "indented": strings.Repeat(" a\n", 1<<20), "classes": strings.Repeat("class a\n b\n", 1<<18),
	} {
		for _, isMarkdown := range []bool{false, true} {
			lines := strings.SplitAfter(text, "\n")
			began := time.Now()
			for _, at := range sections(lines, isMarkdown) {
				if at[0] < 0 || at[1] <= at[0] || at[1] > len(lines) {
					t.Fatalf("%s: %v", name, at)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		}
	}
}

func deep(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "%sclass a\n", strings.Repeat(" ", i))
	}
	return all.String()
}

// EDIT_FILE replaces lines by the hash that READ_FILE showed for them, or for more, while they are the same.
func TestEditLines(t *testing.T) {
	id := newIdentity(t, nil)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	id.file("f", text.String())
	holds := func(want string) {
		t.Helper()
		if got := lethetest.Read(t, id.Workspace+"/f"); got != want {
			t.Errorf("the file holds %q, want %q", got, want)
		}
	}
	hash := func(offset, limit int) string {
		t.Helper()
		_, rest, _ := strings.Cut(id.ok("READ_FILE", "path", "f", "offset", offset, "limit", limit), "; hash ")
		return rest[:strings.IndexAny(rest, ";]")]
	}
	if got := id.ok("READ_FILE", "path", "f"); !strings.HasPrefix(got, "[f: lines 1-100 of 100, ") {
		t.Errorf("a whole file has a hash: %s", got)
	}
	page := hash(10, 20)
	got := id.ok("EDIT_FILE", "path", "f", "lines", "12-14", "hash", page, "new", "twelve\nmore")
	lethetest.Words(t, got, "edited f at line 12; now 10-28:")
	_, now, _ := strings.Cut(got, "; now ")
	if read := hash(10, 19); read != now {
		t.Errorf("the hash is %s, and was told as %s", read, now)
	}
	lethetest.Words(t, id.ok("EDIT_FILE", "path", "f", "lines", "13", "hash", now, "new", ""), "edited f at line 13; now 10-27:")
	want := strings.Replace(text.String(), "line 12\nline 13\nline 14\n", "twelve\n", 1)
	holds(want)
	for _, args := range [][]any{ // the first one is of an earlier text
		{"lines", "12-14", "hash", page}, {"lines", "12", "hash", now}, {"lines", "9-10", "hash", hash(10, 5)}, {"lines", "10-15", "hash", hash(10, 5)},
		{"lines", "12-11", "hash", hash(10, 5)}, {"lines", "", "hash", hash(10, 5)}, {"lines", "x", "hash", hash(10, 5)}, {"lines", "12", "hash", "12-12:"},
		{"lines", "0-1", "hash", "0-1:" + page[6:]}, {"lines", "1-999", "hash", "1-999:" + page[6:]}, {"lines", "12"},
		{"lines", "12", "hash", hash(12, 1), "old", "twelve"},
	} {
		id.fails(nil, "EDIT_FILE", append([]any{"path", "f", "new", "x"}, args...)...)
	}
	holds(want)
	id.file("f", "a\r\nb\r\nc")
	id.ok("EDIT_FILE", "path", "f", "lines", "1", "hash", hash(1, 2), "new", "x\ny")
	holds("x\r\ny\r\nb\r\nc")
	id.ok("EDIT_FILE", "path", "f", "lines", "4", "hash", hash(4, 1), "new", "end")
	holds("x\r\ny\r\nb\r\nend\n")
}
