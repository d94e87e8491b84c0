package console

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Table is rows of cells, with columns that are aligned when they are written.
type Table struct{ lines []string }

// NewTable begins a table with its header, if it has one.
func NewTable(header ...string) *Table {
	table := new(Table)
	if len(header) > 0 {
		table.lines = append(table.lines, strings.Join(header, "\t"))
	}
	return table
}

// Row adds a row. A cell is shown in one line, and "-" where it is empty.
func (t *Table) Row(cells ...any) {
	const escape = "\xff" // between two, a tabwriter takes a tab as it is
	texts := make([]string, len(cells))
	for i, value := range cells {
		texts[i] = escape + cell(value) + escape
	}
	t.lines = append(t.lines, strings.Join(texts, "\t"))
}

// Write writes the table.
func (t *Table) Write(out io.Writer) {
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
		text = Clock(value)
	case []string:
		text = strings.Join(value, ",")
	default:
		text = fmt.Sprint(value)
	}
	return cmp.Or(OneLine(text), "-")
}

// Nonzero returns the value, or "-" for its zero.
func Nonzero[T comparable](value T) any {
	if value == *new(T) {
		return "-"
	}
	return value
}
