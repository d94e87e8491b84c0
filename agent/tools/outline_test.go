package tools

import (
	"fmt"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// An outline lists declarations and headings, and nothing else.
func TestOutline(t *testing.T) {
	id := newIdentity(t, nil)
	for _, c := range []struct{ name, text, want string }{
		{"a.go", "package a\n\nimport (\n\t\"fmt\"\n)\n\n// of type\n//\tmany\nfunc (s *S) one(\n\ta int,\n) error {\n\tif a > 0 {\n\t\tdefer func() {\n\t\t}()\n\t}\n}\n\n" +
			"var x = 1\n\ntype S struct {\n\ta int\n}\n\n", "3 import (|9 func (s *S) one(|20 type S struct {"},
		{"a.py", "import os\n\nclass A:\n    \"\"\"The class of it.\"\"\"\n\n    def f(self):\n        for x in y:\n            pass\n\n    async def g(self):\n        pass\n\n\n" +
			"def h():\n    return 1\n\nif True:\n    h()\n", "3 class A:|6     def f(self):|10     async def g(self):|14 def h():"},
		{"a.c", "#include <a.h>\n\nstatic int\nmain(void)\n{\n\tif (a)\n\t\tb();\n}\nint b(int);\n", "4 main(void)"},
		{"A.java", "class A {\n    private final int a = 1;\n\n    public List<A> f(int x) throws B {\n        if (x) {\n            g();\n        }\n    }\n}\n", "1 class A {|4     public List<A> f(int x) throws B {"},
		{"a.ts", "export const x = {\n  a: 1,\n};\nexport default class B {\n  f(x: number): void {\n    while (x) {\n    }\n  }\n}\n", "1 export const x = {|4 export default class B {|5   f(x: number): void {"},
		{"a.rs", "pub(crate) fn f() {\n    let x = 1;\n}\nimpl A for B {\n    fn g(&self) {}\n}\n", "1 pub(crate) fn f() {|4 impl A for B {|5     fn g(&self) {}"},
		{"a.yaml", "services:\n  web:\n    image: x\nother: 1\n", "1 services:"},
		{"a.md", "# One\n\ntext:\n    code\n\n## Two\n```sh\n# no heading\n```\n\n### Three\n## Four\n#none\n# Five", "1 # One|6 ## Two|11 ### Three|12 ## Four|14 # Five"},
		{"crlf.py", "def a():\r\n\tpass\r\n", "1 def a():"},
	} {
		id.file(c.name, c.text)
		head, got, _ := strings.Cut(id.ok("READ_FILE", "path", c.name, "outline", 1), "\n")
		lethetest.Words(t, head, "[outline of "+c.name+": lines 1-")
		if want := strings.ReplaceAll(c.want, "|", "\n") + "\n"; got != want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, want)
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
