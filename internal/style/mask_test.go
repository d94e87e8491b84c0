package style

import (
	"strings"
	"testing"
)

// Whatever a tool returns: what is not markup, and not hidden, stays where it is, as each line does.
func FuzzMask(f *testing.F) {
	for _, s := range []string{
		"", "<p hidden>a<b>b</b></p>c", "<html><style>.x{display:none}</style><p class=x>a\n<p>b", "<!-- a", "<p title='>'>b", "<p\n<p>",
		"<body><script>a<p>b</script", "a < b > c", "<img hidden>a<li hidden>b<li>c", strings.Repeat("<p hidden>", 2000),
		"3:2-4, 5:1-]\nabcde\nf\ng\nh", "4:9-2, 3:4294967295-4294967295, 99999999999999999999, 3:0-1, 4:-1--2]\na\nb",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := MaskTold("[x: lines 3-5 of 9, 3 KB; hash 3-5:3fa9" + Tells + text)
		got = Mask(got[len(got)-len(text):])
		if len(got) != len(text) {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		for i := range text {
			if isLost := got[i] != text[i] && got[i] > Unseen && got[i] != ' '; isLost || text[i] == '\n' && got[i] != '\n' {
				t.Fatalf("%q at %d is %q", text, i, got)
			}
		}
		if !strings.ContainsAny(text, "<\n") && got != text {
			t.Fatalf("%q is %q", text, got)
		}
	})
}
