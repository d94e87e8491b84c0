package mind

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name, base, mine, theirs string
		want                     string
		refused                  bool
	}{
		{"nobody", "a b", "a b", "a b", "a b", false},
		{"mine", "a b c", "a x c", "a b c", "a x c", false},
		{"theirs", "a b c", "a b c", "b c d", "b c d", false},
		{"both, the same", "a b c", "a x c", "a x c", "a x c", false},
		{"both, otherwise", "a b c", "a x c", "a y c", "a y c", true},
		{"both, from nothing", "", "x", "y", "x y", false},
		{"both at the end", "a", "a x", "a y", "a x y", false},
		{"corrected, and added to", "a b", "a x", "a b y", "a x y", false},
		{"added to, and corrected", "a b", "a b y", "a x", "a x y", false},
		{"emptied", "a b", "", "a b", "", false},
		{"emptied, and changed", "a b", "", "a c", "a c", true},
		{"emptied, and added to", "a b", "", "a b c", "c", false},
		{"taken away, and added to", "a b", "a", "a b c", "a c", false},
		{"gone, and added to", "a b", "a b x", "", "x", false},
	} {
		lines := func(s string) string { return strings.ReplaceAll(s, " ", "\n") }
		for _, end := range []string{"", "\n"} {
			want := lines(tt.want)
			if want != "" {
				want += "\n"
			}
			got, refused := Merge(lines(tt.base), lines(tt.mine), lines(tt.theirs)+end)
			if got != want || refused != tt.refused {
				t.Errorf("%s: %q, refused %v; want %q, %v", tt.name, got, refused, want, tt.refused)
			}
			if again, _ := Merge(lines(tt.base), lines(tt.mine), got); again != got { // after a crash, say
				t.Errorf("%s: merged again, %q becomes %q", tt.name, got, again)
			}
		}
	}
}

// Whatever the three are, no line that they added is lost.
func TestMergeLosesNothing(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "d "}), 0, 6).Draw(t, "lines"), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		base, mine, theirs := text.Draw(t, "base"), text.Draw(t, "mine"), text.Draw(t, "theirs")
		got, refused := Merge(base, mine, theirs)
		added := func(to string) []string {
			return slices.DeleteFunc(textLines(to), func(l string) bool { return lost(l, base) == "" })
		}
		kept := added(theirs)
		if !refused {
			kept = append(kept, added(mine)...)
		}
		for _, l := range kept {
			if lost(l, got) != "" {
				t.Fatalf("line %q is lost: %q", l, got)
			}
		}
	})
}
