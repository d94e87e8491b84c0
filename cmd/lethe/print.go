package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/bridge/terminal"
	"lethe/internal/must"
	"lethe/internal/screen"
)

// object is one of JSON.
type object = map[string]any

// print shows a value: to programs as JSON, to people as a text.
func (p *program) print(v any, format string, args ...any) error {
	return p.show(v, nil, func() error {
		_, err := fmt.Fprintf(p.out, format, args...)
		return err
	})
}

// show shows a value, unless there is an error: to programs as JSON, to people as tell does.
func (p *program) show(v any, err error, tell func() error) error {
	switch {
	case err != nil:
		return err
	case p.json:
		return p.printJSON(v)
	}
	return tell()
}

//go:embed words.txt
var words string

// words shows a value, unless there is an error: to programs as JSON, to people as a template of words.txt.
func (p *program) words(name string, v any, err error, more ...any) error {
	return p.show(v, err, func() error {
		_, err := io.WriteString(p.out, p.text(name, v, more...))
		return err
	})
}

// text is what a template of words.txt says of a value, and of more. Its lines with tabs are tables.
func (p *program) text(name string, v any, more ...any) string {
	all := template.New("").Funcs(template.FuncMap{
		"more": func(n int) any { return more[n] }, "lethe": p.lethe, "clock": clock, "at": p.at, "ago": ago,
		"since": func(at time.Time) string { return tools.Span(time.Since(at)) }, "gist": blobs.Gist,
		"cell": cell, "line": line, "safe": safe, "bound": p.settings.boundTo, "short": p.look.Store.Short,
		"dollars": llm.Dollars, "mb": func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) },
		"kib":       func(n int64) int64 { return (n + 1023) >> 10 },
		"thousands": func(n int) int { return n / 1000 }, "count": func(i int) int { return i + 1 },
		"inside": func(dir string) string { return strings.TrimPrefix(dir, p.home.Dir+"/") }, "part": part,
	})
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.StripEscape)
	must.Do(template.Must(all.Parse(words)).ExecuteTemplate(out, name, v))
	out.Flush()
	return text.String()
}

// part is a row on a part of the next request: its tokens, and a bar of their share.
func part(name string, tokens, limit int, what string) string {
	row := fmt.Sprintf("  %-7s %7d  %s %s", name, tokens, terminal.Bar(tokens, limit, 20), what)
	return strings.TrimRight(row, " ")
}

// printJSON writes a value for programs.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
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
	return line(cmp.Or(text, "-"))
}

// line is what others wrote, in one line; its tabs make no columns.
func line(text string) string { return safe("", oneLine(text)) }

// safe is what others wrote, with a prefix for each line.
func safe(prefix, text string) string {
	text = strings.ReplaceAll(strings.TrimSuffix(screen.Sanitize(text), "\n"), "\n", "\n"+prefix)
	return fmt.Sprintf("\xff%s%s\xff", prefix, text) // between which a tabwriter takes text as it is
}

// at is a moment of a schedule.
func (p *program) at(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(p.settings.Zone()).Format("Mon 2006-01-02 15:04:05")
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
	_, err := w.Write(screen.JSON(v))
	return err
}
