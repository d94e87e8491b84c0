package stdin

import (
	"strings"

	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"charm.land/lipgloss/v2"
)

// palette is every style of the screen. Colours are from the terminal's own 16
// and the 256 cube, so that they follow the user's theme; the renderer reduces
// or drops them for poorer terminals and for NO_COLOR, and nothing on the
// screen is told by colour alone.
type palette struct {
	agent, user, own, dim, faint, bold lipgloss.Style
	good, warn, bad, accent            lipgloss.Style
	markdown                           ansi.StyleConfig
}

func newPalette(dark bool) palette {
	pick := lipgloss.LightDark(dark)
	colour := func(light, darkc string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(darkc)))
	}
	p := palette{
		agent:  colour("62", "111").Bold(true),
		user:   colour("130", "180").Bold(true),
		own:    colour("29", "114").Bold(true),
		dim:    colour("243", "246"),
		faint:  colour("250", "240"),
		bold:   lipgloss.NewStyle().Bold(true),
		good:   colour("29", "114"),
		warn:   colour("130", "221"),
		bad:    colour("160", "210"),
		accent: colour("62", "111"),
	}
	p.markdown = markdownStyle(dark)
	return p
}

// markdownStyle is glamour's own style without its page: a message is set in
// the column it is given, in the terminal's text colour.
func markdownStyle(dark bool) ansi.StyleConfig {
	c := styles.LightStyleConfig
	if dark {
		c = styles.DarkStyleConfig
	}
	none := uint(0)
	c.Document.BlockPrefix, c.Document.BlockSuffix = "", ""
	c.Document.Color = nil
	c.Document.Margin = &none
	c.H1.BackgroundColor, c.H1.Color = nil, c.Heading.Color
	c.H1.Prefix, c.H1.Suffix = "", ""
	c.H2.Prefix, c.H3.Prefix, c.H4.Prefix, c.H5.Prefix, c.H6.Prefix = "", "", "", "", ""
	c.Code.BackgroundColor = nil
	c.Code.Prefix, c.Code.Suffix = "", ""
	c.HorizontalRule.Format = "\n" + strings.Repeat("─", 8) + "\n"
	return c
}
