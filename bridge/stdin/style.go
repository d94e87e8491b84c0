package stdin

import "charm.land/lipgloss/v2"

// The styles of the screen. Colours are the terminal's own 16, so that they follow
// the person's theme; NO_COLOR drops them, and nothing on the screen is told by
// colour alone.
var (
	unstyled  = lipgloss.NewStyle()
	bold      = lipgloss.NewStyle().Bold(true)
	dim       = lipgloss.NewStyle().Faint(true)
	good      = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warn      = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad       = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent    = lipgloss.NewStyle().Foreground(lipgloss.Blue)
	code      = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	link      = code.Underline(true)
	agentName = accent.Bold(true)
	ownName   = good.Bold(true)
	userName  = warn.Bold(true)
)
