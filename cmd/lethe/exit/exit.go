// Package exit gives an error of the command line its exit code and a hint, which is a line of advice.
package exit

import (
	"errors"
	"fmt"
)

// Exit codes of lethe, as docs/commands.md explains them.
const (
	Done      = 0
	Failed    = 1
	Usage     = 2
	NotFound  = 3
	Running   = 4
	NoKey     = 5
	Corrupt   = 6
	Newer     = 7
	Elsewhere = 8
	Bound     = 9
	Undone    = 10
	Interrupt = 130
)

// codedError is an error with its exit code.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// With gives an error an exit code.
func With(code int, err error) error { return codedError{err, code} }

// Usagef makes an error for a command that was called wrongly.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Code returns the exit code that With gave an error, if it did so.
func Code(err error) (code int, given bool) {
	var coded codedError
	given = errors.As(err, &coded)
	return coded.code, given
}

// hintError is an error with a line of advice.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }
func (e hintError) Hint() string  { return e.hint }

// Hint gives an error a hint. It returns nil for nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hintError{err, fmt.Sprintf(format, args...)}
}

// HintOf returns the hint that Hint gave an error, or its own, and whether it has one. A hint may be empty.
func HintOf(err error) (hint string, given bool) {
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) {
		return "", false
	}
	return hinted.Hint(), true
}
