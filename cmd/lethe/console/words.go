package console

import (
	"fmt"
	"strings"
	"time"

	"lethe/agent/tools"
	"lethe/internal/screen"
)

// OneLine makes a text safe to show in one line: "; " stands for breaks.
func OneLine(text string) string {
	isBreak := func(char rune) bool { return char == '\n' || char == '\r' }
	return screen.Sanitize(strings.Join(strings.FieldsFunc(text, isBreak), "; "))
}

// Indented makes a text of strangers safe to show, with an indent before each line.
func Indented(indent, text string) string {
	text = strings.TrimSuffix(screen.Sanitize(text), "\n")
	return indent + strings.ReplaceAll(text, "\n", "\n"+indent)
}

// Quoted writes a word for a shell.
func Quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]{}!#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Clock writes a time by the clock of this machine; "" for the zero time.
func Clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04")
}

// Since writes the time that has passed since at.
func Since(at time.Time) string { return tools.Span(time.Since(at)) }

// Ago writes the time that has passed since at; "never" for the zero time.
func Ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return tools.Span(max(0, time.Since(at))) + " ago"
}

// Megabytes writes a number of bytes.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
