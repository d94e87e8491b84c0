package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/bridge/stdin"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// printJSON writes a value for programs.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// print writes a value for programs, or else a text.
func (p *program) print(v any, format string, args ...any) error {
	if p.json {
		return p.printJSON(v)
	}
	_, err := fmt.Fprintf(p.out, format, args...)
	return err
}

// progress shows on a terminal how far something is, ten times a second.
func (p *program) progress() func(done, of int64, format string, args ...any) {
	var shown time.Time
	return func(done, of int64, format string, args ...any) {
		if now := time.Now(); isTerminal(p.err) && !p.json && (now.Sub(shown) > time.Second/10 || done == of) {
			shown = now
			fmt.Fprintf(p.err, "\r%s %s %s", stdin.Bar(int(done), int(of), 30), fmt.Sprintf(format, args...), map[bool]string{true: "\n"}[done == of])
		}
	}
}

// announce is print of what goes on while a program stays: one line, whose reader may be gone.
func (p *program) announce(v map[string]string, format string, args ...any) {
	if p.json {
		printLine(p.out, v)
		return
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// printLine writes a value for programs as one line.
func printLine(w io.Writer, v any) {
	_ = encode(w, v) // the reader may be gone
}

// encode is printLine for who has to know whether the line was written.
func encode(w io.Writer, v any) error {
	_, err := w.Write(chat.JSON(v))
	return err
}

// eventJSON is one line of lethe life --raw --json. A key of fields can have several
// values.
type eventJSON struct {
	Name   string           `json:"name,omitempty"` // the identity's, where several share the output
	At     time.Time        `json:"at"`
	Event  string           `json:"event"`
	Args   []string         `json:"args,omitempty"`
	Fields map[string][]any `json:"fields,omitempty"`
	Refs   []blobs.Ref      `json:"refs,omitempty"`
}

func eventOf(e life.Event) eventJSON {
	out := eventJSON{At: e.At, Event: e.Kind, Args: e.Args, Fields: map[string][]any{}, Refs: e.Refs}
	numbers := event.Numbers(e.Kind)
	for _, f := range e.Fields {
		var value any = f.Value
		n := json.Number(f.Value)
		// A damaged number stays a text; NaN is a number for Go alone.
		if _, err := n.Float64(); err == nil && slices.Contains(numbers, f.Key) && json.Valid([]byte(n)) {
			value = n
		}
		out.Fields[f.Key] = append(out.Fields[f.Key], value)
	}
	return out
}
