package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/term"

	"lethe/agent/home"
	"lethe/bridge/terminal"
	"lethe/internal/screen"
	"lethe/internal/secret"
)

// console is where a command reads and writes, and in which form.
type console struct {
	in       io.Reader
	lines    *bufio.Reader // of in
	out, err io.Writer
	outlets  []*outlet // of a command that stays

	json    bool
	verbose bool
	again   string // global flags that a command in a hint has to repeat
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// print shows a value: to programs as JSON, to people as a text.
func (c *console) print(value any, format string, args ...any) error {
	return c.show(value, func(out io.Writer) { fmt.Fprintf(out, format, args...) })
}

// show shows a value: to programs as JSON, to people as tell writes it. It is written at once.
func (c *console) show(value any, tell func(out io.Writer)) error {
	if c.json {
		return c.printJSON(value)
	}
	var text strings.Builder
	tell(&text)
	_, err := io.WriteString(c.out, text.String())
	return err
}

// printJSON writes a value for programs.
func (c *console) printJSON(value any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// announce prints one line of a program that stays. It ignores errors: nobody may read the line any more.
func (c *console) announce(value map[string]string, format string, args ...any) {
	if c.json {
		_ = printLine(c.out, value)
		return
	}
	fmt.Fprintf(c.out, format+"\n", args...)
}

// event announces an event of an identity, such as "ready" or "stopped".
func (c *console) event(what string, id home.Identity) {
	value := map[string]string{"event": what, "self": id.Self, "name": id.Name}
	c.announce(value, "%s %s %s", what, id.Self, id.Name)
}

// note tells something on standard error that is no failure.
func (c *console) note(format string, args ...any) { c.aside("note", format, args...) }

// warn tells something on standard error that may need somebody to act.
func (c *console) warn(format string, args ...any) { c.aside("warning", format, args...) }

func (c *console) aside(kind, format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	if c.json {
		_ = printLine(c.err, map[string]string{kind: text})
		return
	}
	fmt.Fprintf(c.err, "%s: %s\n", kind, text)
}

// progress returns a function that draws a bar on a terminal, at most ten times a second.
func (c *console) progress() func(done, of int64, format string, args ...any) {
	var shown time.Time
	visible := isTerminal(c.err) && !c.json
	return func(done, of int64, format string, args ...any) {
		due := done == of || time.Since(shown) > time.Second/10
		if !due || !visible {
			return
		}
		shown = time.Now()
		fmt.Fprintf(c.err, "\r%s %s ", terminal.Bar(int(done), int(of), 30), fmt.Sprintf(format, args...))
		if done == of {
			fmt.Fprintln(c.err)
		}
	}
}

func (c *console) interactive() bool { return isTerminal(c.in) && isTerminal(c.out) }

// readTyped asks on out, and returns the line that somebody types. One that is hidden is not shown on a terminal.
func (c *console) readTyped(out io.Writer, question string, hidden bool) (line string, err error) {
	fmt.Fprint(out, question)
	signal.Reset(os.Interrupt) // Ctrl+C ends it at once: nothing is under way
	file, _ := c.in.(*os.File)
	hidden = hidden && isTerminal(c.in)
	if hidden {
		var text []byte
		text, err = term.ReadPassword(int(file.Fd()))
		line = string(text)
	} else {
		line, err = c.lines.ReadString('\n')
	}
	if hidden || err != nil { // the line of the question has no end yet
		fmt.Fprintln(out)
	}
	if errors.Is(err, io.EOF) { // Ctrl+D
		err = context.Canceled
	}
	return strings.TrimSpace(line), err
}

// unhurried makes the streams of a program that stays outlets.
func (c *console) unhurried() {
	out, err := newOutlet(c.out), newOutlet(c.err)
	c.out, c.err, c.outlets = out, err, []*outlet{out, err}
}

// logTo writes log lines for people to out.
func (c *console) logTo(out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.verbose {
		options.Level = slog.LevelDebug
	}
	if c.json {
		return slog.New(slog.NewJSONHandler(redacting{out}, options))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, options))
}

// lethe is a command line for a hint, in the same home.
func (c *console) lethe(format string, args ...any) string {
	return strings.TrimSpace("lethe "+fmt.Sprintf(format, args...)) + c.again
}

// printLine writes a value for programs as one line.
func printLine(out io.Writer, value any) error {
	_, err := out.Write(screen.JSON(value))
	return err
}

// redacting writes whole lines, without secrets.
type redacting struct{ to io.Writer }

func (r redacting) Write(line []byte) (int, error) {
	_, err := r.to.Write(secret.Bytes(line))
	return len(line), err
}
