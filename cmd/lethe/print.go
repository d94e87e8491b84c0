package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"lethe/bridge/terminal"
	"lethe/chat"
)

// print shows a value: to programs as JSON, to people as a text.
func (p *program) print(v any, format string, args ...any) error {
	return p.show(v, nil, func() { fmt.Fprintf(p.out, format, args...) })
}

// show shows a value, unless there is an error: to programs as JSON, to people as tell does.
func (p *program) show(v any, err error, tell func()) error {
	switch {
	case err != nil:
		return err
	case p.json:
		return p.printJSON(v)
	}
	tell()
	return nil
}

// printJSON writes a value for programs.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// list shows items, unless there is an error: to programs as JSON, to people as a table, or what to say where there are
// none.
func list[T any](p *program, items []T, err error, none, head string, row func(T) []any) error {
	return p.show(items, err, func() {
		if len(items) == 0 {
			fmt.Fprintln(p.out, none)
			return
		}
		table(p, head, items, row)
	})
}

// table prints a head, whose words are in columns behind a tab, and a row for each item.
func table[T any](p *program, head string, items []T, row func(T) []any) {
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if head != "" {
		fmt.Fprintln(t, head)
	}
	for _, item := range items {
		var cells []string
		for _, c := range row(item) {
			cells = append(cells, cell(c))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
}

// cell is a value in a table: safe, in one line, and never empty.
func cell(v any) string {
	text := ""
	switch v := v.(type) {
	case time.Time:
		text = clock(v)
	case []string:
		text = strings.Join(v, ",")
	default:
		text = fmt.Sprint(v)
	}
	if text == "" {
		return "-"
	}
	return oneLine(text)
}

// clock is a moment on the clock of this machine.
func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04")
}

// progress shows on a terminal how far something is, ten times a second.
func (p *program) progress() func(done, of int64, format string, args ...any) {
	var shown time.Time
	return func(done, of int64, format string, args ...any) {
		due := done == of || time.Since(shown) > time.Second/10
		if !due || p.json || !isTerminal(p.err) {
			return
		}
		shown = time.Now()
		fmt.Fprintf(p.err, "\r%s %s ", terminal.Bar(int(done), int(of), 30), fmt.Sprintf(format, args...))
		if done == of {
			fmt.Fprintln(p.err)
		}
	}
}

// announce prints one line of what goes on while a program stays. Nobody may read it any more.
func (p *program) announce(v map[string]string, format string, args ...any) {
	if p.json {
		_ = printLine(p.out, v)
		return
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// printLine writes a value for programs as one line.
func printLine(w io.Writer, v any) error {
	_, err := w.Write(chat.JSON(v))
	return err
}
