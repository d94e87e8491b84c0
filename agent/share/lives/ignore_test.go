package lives

import (
	"path"
	"strings"
	"testing"
)

// Which files git 2.39 ignores (git check-ignore --no-index), and so do we. A directory that is ignored has nothing in it.
func TestIgnoresAsGit(t *testing.T) {
	for _, c := range []struct{ rules, ignored, kept string }{
		{"*.log\n!keep.log", "a.log d/a.log", "keep.log d/keep.log"},
		{"build/", "build/x src/build/x", "build"},
		{"/build", "build/x build", "src/build/x"},
		{"doc/*.txt", "doc/a.txt", "doc/b/a.txt x/doc/a.txt"},
		{"foo/**/bar", "foo/bar foo/a/b/bar", "a/foo/bar"},
		{"**/tmp", "tmp a/b/tmp/x", "a/tmp2"},
		{"a[0-9].txt\nb[!0-9].txt", "a1.txt bx.txt", "ax.txt b1.txt"},
		{"file?.c", "file1.c d/filex.c", "file.c file12.c"},
		{"a.b\na+b\nc(1)\nname$\na^b\na|b", "a.b a+b c(1) name$ a^b a|b", "axb aab c1 name a b"},
		{"secret.{env,key}", "secret.{env,key}", "secret.env secret.key"},
		{"vendor\n!vendor/keep.go", "vendor/keep.go vendor/x.go", "x.go"},
		{"*\n!*/\n!*.go", "d/a.c a.c", "a.go d/a.go"},
		{"foo/*\nabc/**", "foo/a/b abc/x abc/d/x", "foo abc"},
		{"\\#x\n\\!y\n# z\n\n  ", "#x !y", "z"},
		{"trail  \r\nx", "trail x", "trailing"},
		{"[", "", "[ a"},
	} {
		rules := map[string][]rule{".": rulesOf(c.rules)}
		for _, want := range []bool{true, false} {
			names := c.kept
			if want {
				names = c.ignored
			}
			for _, name := range strings.Fields(names) {
				if got := ignoredWithin(rules, name); got != want {
					t.Errorf("%q ignores %s: %v", c.rules, name, got)
				}
			}
		}
	}

	nested := map[string][]rule{".": rulesOf("*.log\n/d/x"), "d": rulesOf("!keep.log\n/y")}
	for name, want := range map[string]bool{"d/a.log": true, "d/keep.log": false, "keep.log": true, "d/y": true, "y": false,
		"d/e/keep.log": false, "d/x": true} {
		if got := ignoredWithin(nested, name); got != want {
			t.Errorf("%s is ignored: %v", name, got)
		}
	}
}

// ignoredWithin asks for each directory above a file first, as a scan does.
func ignoredWithin(rules map[string][]rule, name string) bool {
	for i, c := range name {
		if c == '/' && ignored(rules, name[:i], true) {
			return true
		}
	}
	return ignored(rules, path.Clean(name), false)
}
