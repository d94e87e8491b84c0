package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"lethe/agent/tools"
	"lethe/internal/screen"
)

// object is one of JSON.
type object = map[string]any

// table is rows of cells, whose columns are aligned when they are written.
type table struct{ lines []string }

// newTable begins a table with its header, if it has one.
func newTable(header ...string) *table {
	table := new(table)
	if len(header) > 0 {
		table.lines = append(table.lines, strings.Join(header, "\t"))
	}
	return table
}

// row adds a row. A cell is shown in one line, and "-" where it is empty.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, value := range cells {
		texts[i] = "\xff" + cell(value) + "\xff" // between which a tabwriter takes a tab as it is
	}
	t.lines = append(t.lines, strings.Join(texts, "\t"))
}

func (t *table) write(out io.Writer) {
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.StripEscape)
	for _, line := range t.lines {
		fmt.Fprintln(aligned, line)
	}
	aligned.Flush()
}

// cell writes a value in one line, safe to show and never empty.
func cell(value any) string {
	text := ""
	switch value := value.(type) {
	case time.Time:
		text = clock(value)
	case []string:
		text = strings.Join(value, ",")
	default:
		text = fmt.Sprint(value)
	}
	return cmp.Or(oneLine(text), "-")
}

// nonzero returns the value, or "-" for its zero.
func nonzero[T comparable](value T) any {
	if value == *new(T) {
		return "-"
	}
	return value
}

// indented makes a text of strangers safe to show, with an indent before each line.
func indented(indent, text string) string {
	text = strings.TrimSuffix(screen.Sanitize(text), "\n")
	return indent + strings.ReplaceAll(text, "\n", "\n"+indent)
}

// clock writes a time by the clock of this machine.
func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04")
}

// at writes a time of a schedule, in the zone of config.toml.
func (app *app) at(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(app.settings.Zone()).Format("Mon 2006-01-02 15:04:05")
}

// since writes the time that has passed since at.
func since(at time.Time) string { return tools.Span(time.Since(at)) }

// ago writes the time that has passed since at; "never" for the zero time.
func ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return tools.Span(max(0, time.Since(at))) + " ago"
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
