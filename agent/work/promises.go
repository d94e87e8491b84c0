package work

import (
	"slices"
	"strings"
	"unicode"

	"lethe/mind"
)

// Promises returns the pins with words of the identity itself that nothing stands behind, as far as words tell: none of
// some texts, in lower case, has how two of its longer words begin.
func Promises(s *mind.State, texts []string) (bare []string) {
	bare = []string{}
	for _, pin := range s.Pins {
		said, isOwn := strings.CutPrefix(strings.ToLower(pin.Text), "i: ")
		words := strings.FieldsFunc(said, func(r rune) bool { return !unicode.IsLetter(r) })
		stands := func(text string) bool {
			long, both := 0, 0
			for _, word := range words {
				if start := []rune(word); len(start) > 4 {
					long++
					if strings.Contains(text, string(start[:5])) {
						both++
					}
				}
			}
			return both >= min(2, long)
		}
		if isOwn && !slices.ContainsFunc(texts, stands) {
			bare = append(bare, pin.String())
		}
	}
	return bare
}
