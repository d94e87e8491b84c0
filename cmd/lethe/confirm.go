package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// confirm asks whether somebody wants what is about to happen, unless yes says so. The error says that nobody does.
func confirm(app *app, yes bool, loss, question string) error {
	if yes {
		return nil
	}
	if app.json {
		return usagef("--json asks nobody; add --yes")
	}
	answer, _ := app.readTyped(app.out, loss+question+" for good? Type yes: ", false)
	if answer != "yes" {
		return fmt.Errorf("%s: not confirmed, nothing was removed", strings.ToLower(question))
	}
	return nil
}

// readTyped asks on out, and returns the line that somebody types. One that is hidden is not shown on a terminal.
func (app *app) readTyped(out io.Writer, question string, hidden bool) (line string, err error) {
	fmt.Fprint(out, question)
	signal.Reset(os.Interrupt) // Ctrl+C ends it at once: nothing is under way
	file, _ := app.in.(*os.File)
	hidden = hidden && isTerminal(app.in)
	if hidden {
		var text []byte
		text, err = term.ReadPassword(int(file.Fd()))
		line = string(text)
	} else {
		line, err = app.lines.ReadString('\n')
	}
	if hidden || err != nil { // the line of the question has no end yet
		fmt.Fprintln(out)
	}
	if errors.Is(err, io.EOF) { // Ctrl+D
		err = context.Canceled
	}
	return strings.TrimSpace(line), err
}
