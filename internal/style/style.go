// Package style tells which elements of a page its styles hide from who reads it.
package style

import (
	"cmp"
	"maps"
	"strings"

	"lethe/internal/pattern"
)

// Style holds declarations, by their properties in small letters.
type Style map[string]string

var (
	// unseen matches the declaration of an element that is not shown.
	unseen = pattern.Lazy(`(?i)^(?:display:\s*none|visibility:\s*(?:hidden|collapse)|` +
		`(?:font-size|max-height|max-width):\s*0(?:\.0*)?\s*(?:[a-z]+|%)?\s*(?:!|$)|` +
		`(?:left|right|top|bottom|text-indent):\s*-\d{3,})`)
	// transparent matches the value of opacity of an element that nobody sees, unless it fades in.
	transparent = pattern.Lazy(`^\s*(?:0|0?\.0+)%?\s*(?:!|$)`)
	// besideRules matches comments, and rules for prints, small screens and the like.
	besideRules = pattern.Lazy(`(?s)/\*.*?\*/|@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})`)
	rule        = pattern.Lazy(`([^{}]+)\{([^{}]*)\}`)
	shortColour = pattern.Lazy(`^#(\w)(\w)(\w)$`)
)

// Of reads the style attribute of an element.
func Of(text string) Style {
	s := Style{}
	s.declare(text)
	return s
}

func (s Style) declare(text string) {
	for _, one := range strings.Split(text, ";") {
		if name, value, found := strings.Cut(one, ":"); found {
			s[strings.ToLower(strings.TrimSpace(name))] = value
		}
	}
}

// Hides reports whether nobody sees an element of the style.
func (s Style) Hides() bool {
	for name, value := range s {
		if unseen().MatchString(name + ":" + value) {
			return true
		}
	}
	ground := colour(cmp.Or(s["background-color"], s["background"]))
	fades := s["transition"]+s["transform"]+s["animation"] != ""
	return !fades && transparent().MatchString(s["opacity"]) || ground != "" && ground == colour(s["color"])
}

// colour returns one of the ways to write a colour.
func colour(value string) string {
	value, _, _ = strings.Cut(strings.ToLower(value), "!")
	value = strings.NewReplacer("white", "#fff", "black", "#000").Replace(strings.TrimSpace(value))
	return shortColour().ReplaceAllString(value, "#$1$1$2$2$3$3")
}

// Sheet holds the styles of a page's style elements, by selectors: those of a tag, a class or an id are understood.
type Sheet map[string]Style

// Read adds the rules of a style element.
func (all Sheet) Read(text string) {
	for _, found := range rule().FindAllStringSubmatch(besideRules().ReplaceAllString(text, ""), -1) {
		for _, selector := range strings.Split(found[1], ",") {
			selector = strings.TrimSpace(selector)
			if all[selector] == nil {
				all[selector] = Style{}
			}
			all[selector].declare(found[2])
		}
	}
}

// Of returns the style of an element with these attributes.
func (all Sheet) Of(tag, classes, id, inline string) Style {
	names := []string{""}
	for _, class := range strings.Fields(classes) {
		names = append(names, "."+class)
	}
	whole := Style{}
	for _, name := range append(names, "#"+id) {
		maps.Copy(whole, all[name])
		maps.Copy(whole, all[tag+name])
	}
	maps.Copy(whole, Of(inline))
	return whole
}
