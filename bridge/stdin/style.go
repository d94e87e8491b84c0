package stdin

import (
	"strings"

	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"charm.land/lipgloss/v2"
)

// The styles of the screen. Colours are the terminal's own 16, so that they follow
// the person's theme; NO_COLOR drops them, and nothing on the screen is told by
// colour alone.
var (
	bold      = lipgloss.NewStyle().Bold(true)
	dim       = lipgloss.NewStyle().Faint(true)
	good      = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warn      = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad       = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent    = lipgloss.NewStyle().Foreground(lipgloss.Blue)
	agentName = accent.Bold(true)
	ownName   = good.Bold(true)
	userName  = warn.Bold(true)
)

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
