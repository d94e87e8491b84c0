package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// typed asks on out, and returns the line that somebody types. One that is hidden is not shown on a terminal. The end of
// ctx ends the wait.
func (p *program) typed(ctx context.Context, out io.Writer, question string, hidden bool) (string, error) {
	fmt.Fprint(out, question)
	if p.lines == nil {
		p.lines = bufio.NewReader(p.in)
	}
	read := func() (string, error) { return p.lines.ReadString('\n') }
	if f, ok := p.in.(*os.File); ok && isTerminal(f) {
		before, err := term.GetState(int(f.Fd()))
		if err != nil {
			return "", err
		}
		defer term.Restore(int(f.Fd()), before) // also where the wait ends before the line
		if hidden {
			read = func() (string, error) {
				text, err := term.ReadPassword(int(f.Fd()))
				return string(text), err
			}
		}
	}
	var line string
	var err error
	done := make(chan struct{})
	go func() { // ends with the line, or with the process
		defer close(done)
		line, err = read()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		line, err = "", ctx.Err()
	}
	if hidden || err != nil { // the line of the question has no end yet
		fmt.Fprintln(out)
	}
	return strings.TrimRight(line, "\r\n"), err
}

// confirmed says what is about to happen, and reports whether somebody wants it.
func (p *program) confirmed(ctx context.Context, what, question string, args ...any) bool {
	question = fmt.Sprintf("%s%s for good? Type yes: ", what, fmt.Sprintf(question, args...))
	answer, _ := p.typed(ctx, p.out, question, false)
	return strings.TrimSpace(answer) == "yes"
}
