// Package console is the terminal or the pipe of a command: it asks people and answers them in words, and programs in
// JSON.
package console

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/term"

	"lethe/bridge/terminal"
	"lethe/cmd/lethe/exit"
	"lethe/internal/screen"
	"lethe/internal/secret/shape"
)

// Object is an object of JSON.
type Object = map[string]any

// Console has the streams of a command, and the form of its output.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	lines    *bufio.Reader // of In
	outlets  []*outlet     // of a program that stays

	JSON    bool   // for a program
	Verbose bool   // with the log lines that only a search for an error needs
	Again   string // global flags that a command in a hint has to repeat, with a space before each
}

// New makes a console for people.
func New(in io.Reader, out, err io.Writer) Console {
	return Console{In: in, lines: bufio.NewReader(in), Out: out, Err: err}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Interactive reports whether a person can type, and sees the output.
func (c *Console) Interactive() bool { return IsTerminal(c.In) && IsTerminal(c.Out) }

// DrawsScreen reports whether the terminal can do more than print lines.
func (c *Console) DrawsScreen() bool { return c.Interactive() && os.Getenv("TERM") != "dumb" }

// Print shows a value: to programs as JSON, to people as a text.
func (c *Console) Print(value any, format string, args ...any) error {
	return c.Show(value, func(out io.Writer) { fmt.Fprintf(out, format, args...) })
}

// Show shows a value: to programs as JSON, to people as tell writes it. People see all of it at once.
func (c *Console) Show(value any, tell func(out io.Writer)) error {
	if c.JSON {
		return c.PrintJSON(value)
	}
	var text strings.Builder
	tell(&text)
	_, err := io.WriteString(c.Out, text.String())
	return err
}

// Page shows a long text: on a terminal by $PAGER, or less, and else as it is.
func (c *Console) Page(text string) error {
	pager := exec.Command("sh", "-c", cmp.Or(os.Getenv("PAGER"), "less"))
	pager.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX")) // as git: what fits stays on the screen
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), c.Out, c.Err
	if c.DrawsScreen() {
		err := pager.Run()
		if notFound, failed := errors.AsType[*exec.ExitError](err); !failed || notFound.ExitCode() != 127 {
			return err
		}
	}
	_, err := io.WriteString(c.Out, text)
	return err
}

// PrintJSON writes a value for programs, over several lines.
func (c *Console) PrintJSON(value any) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// PrintLine writes a value for programs as one line.
func PrintLine(out io.Writer, value any) error {
	_, err := out.Write(screen.JSON(value))
	return err
}

// Announce prints one line of a program that stays. It ignores errors: the reader may be gone.
func (c *Console) Announce(value map[string]string, format string, args ...any) {
	if c.JSON {
		_ = PrintLine(c.Out, value)
		return
	}
	fmt.Fprintf(c.Out, format+"\n", args...)
}

// Note tells something on standard error that is no failure.
func (c *Console) Note(format string, args ...any) { c.aside("note", format, args...) }

// Warn tells something on standard error that may need somebody to act.
func (c *Console) Warn(format string, args ...any) { c.aside("warning", format, args...) }

func (c *Console) aside(kind, format string, args ...any) {
	text := OneLine(fmt.Sprintf(format, args...))
	if c.JSON {
		_ = PrintLine(c.Err, map[string]string{kind: text})
		return
	}
	fmt.Fprintf(c.Err, "%s: %s\n", kind, text)
}

// Fail prints an error in one line, and its hint, if that is not empty; to programs as one object.
func (c *Console) Fail(message, hint string, code int) {
	if first, second, joined := strings.Cut(message, "\n"); joined && first == second {
		message = first
	}
	message = OneLine(message)
	if c.JSON {
		_ = PrintLine(c.Err, struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
			Code  int    `json:"code"`
		}{message, hint, code})
		return
	}
	fmt.Fprintln(c.Err, "lethe: "+message)
	if hint != "" {
		fmt.Fprintln(c.Err, "hint: "+hint)
	}
}

// Progress returns a function that draws a bar on a terminal, at most ten times a second.
func (c *Console) Progress() func(done, of int64, format string, args ...any) {
	var shown time.Time
	visible := IsTerminal(c.Err) && !c.JSON
	return func(done, of int64, format string, args ...any) {
		due := done == of || time.Since(shown) > time.Second/10
		if !due || !visible {
			return
		}
		shown = time.Now()
		fmt.Fprintf(c.Err, "\r%s %s ", terminal.Bar(int(done), int(of), 30), fmt.Sprintf(format, args...))
		if done == of {
			fmt.Fprintln(c.Err)
		}
	}
}

// ReadTyped asks on out, and returns the line that somebody types. A hidden line is not shown on a terminal. At the end
// of the input it returns context.Canceled.
func (c *Console) ReadTyped(out io.Writer, question string, hidden bool) (line string, err error) {
	fmt.Fprint(out, question)
	signal.Reset(os.Interrupt) // Ctrl+C ends the program at once: nothing is under way
	file, _ := c.In.(*os.File)
	hidden = hidden && IsTerminal(c.In)
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

// Confirm tells the loss and asks for a yes, unless yes is set. It fails where nobody confirms.
func (c *Console) Confirm(yes bool, loss, question string) error {
	return c.Agree(yes, loss+question+" for good?", strings.ToLower(question)+": not confirmed, nothing was removed")
}

// Agree asks for a yes, unless yes is set. It fails with otherwise where nobody agrees.
func (c *Console) Agree(yes bool, question, otherwise string) error {
	if yes {
		return nil
	}
	if c.JSON {
		return exit.Usagef("--json asks nobody; add --yes")
	}
	answer, _ := c.ReadTyped(c.Out, question+" Type yes: ", false)
	if answer == "yes" {
		return nil
	}
	err := errors.New(otherwise)
	if IsTerminal(c.In) {
		return err
	}
	return exit.Hint(err, "--yes does not ask")
}

// Unhurried makes the streams of a program that stays outlets: a write to them never waits for a reader.
func (c *Console) Unhurried() {
	out, err := newOutlet(c.Out), newOutlet(c.Err)
	c.Out, c.Err, c.outlets = out, err, []*outlet{out, err}
}

// Flush waits until outlets have passed on their output, 300 ms each at most.
func (c *Console) Flush() {
	for _, outlet := range c.outlets {
		outlet.flush()
	}
}

// LogTo returns a logger that writes to out, without secrets.
func (c *Console) LogTo(out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		options.Level = slog.LevelDebug
	}
	if c.JSON {
		return slog.New(slog.NewJSONHandler(redacting{out}, options))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, options))
}

// redacting writes whole lines, without secrets.
type redacting struct{ to io.Writer }

func (r redacting) Write(line []byte) (int, error) {
	_, err := r.to.Write(shape.Bytes(line))
	return len(line), err
}

// Lethe returns a command line for a hint, in the same home.
func (c *Console) Lethe(format string, args ...any) string {
	return strings.TrimSpace("lethe "+fmt.Sprintf(format, args...)) + c.Again
}
