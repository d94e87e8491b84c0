// Package worker runs functions that read files of strangers. Each runs in a process of its own: this program, run
// again, which reaches no file and no network and has bounds of time and memory.
//
//	func init() { worker.Register("pdf", func(in io.Reader, out io.Writer) error { … }) }
//
//	text, err := worker.Run(ctx, "pdf", file)
//
// The main function of a program that uses it begins with sandbox.Main.
package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"lethe/internal/sandbox"
)

// The bounds of a function.
const (
	maxTime   = 20 * time.Second
	maxMemory = 256 << 20 // bytes
	maxOutput = 64 << 20  // bytes
	maxError  = 4 << 10   // bytes of its error message
)

const failed = 3 // exit code of a function that returned an error

var functions = map[string]func(in io.Reader, out io.Writer) error{}

// Register names a function. Call it in init only.
func Register(name string, do func(in io.Reader, out io.Writer) error) { functions[name] = do }

func init() { sandbox.Worker = work }

// work calls the function with this name and returns the exit code of its process.
func work(name string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "it broke the program that reads it: %.200v", p)
			code = failed
		}
	}()
	if err := functions[name](os.Stdin, os.Stdout); err != nil {
		fmt.Fprint(os.Stderr, err)
		return failed
	}
	return 0
}

var (
	errTime   = fmt.Errorf("reading it took longer than %v", maxTime)
	errMemory = fmt.Errorf("reading it needs more than %d MB of memory", maxMemory>>20)
	errOutput = fmt.Errorf("it holds more than %d MB of text", maxOutput>>20)
)

// Run runs a function with an input and returns its output. The error is the function's own, or names the bound that
// it reached: 20 s, 256 MB of memory, 64 MB of output. On a system that cannot confine commands, only the bounds hold.
func Run(ctx context.Context, name string, input []byte) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(maxTime, func() { cancel(errTime) })
	defer timer.Stop()
	confine := sandbox.Available() == nil
	out := &sandbox.Head{Most: maxOutput, Full: func() { cancel(errOutput) }}
	said := &sandbox.Head{Most: maxError}
	end, err := sandbox.Run(ctx, sandbox.Command{
		Args: []string{program, sandbox.WorkerArg, name}, Dir: "/", Read: []string{program},
		Input: bytes.NewReader(input), Errors: said,
		Env:     []string{fmt.Sprint("GOMEMLIMIT=", maxMemory*3/4), "GOTRACEBACK=none"},
		Confine: confine, Offline: confine, Memory: maxMemory,
	}, out)
	switch why := context.Cause(ctx); {
	case why != nil:
		return nil, why
	case err != nil:
		return nil, err
	case end.Failed != "":
		return nil, errors.New(end.Failed)
	case end.Exit == failed:
		return nil, errors.New(string(said.Kept))
	case isOutOfMemory(string(said.Kept)):
		return nil, errMemory
	case end.Exit != 0:
		return nil, fmt.Errorf("reading it failed with exit code %d", end.Exit)
	}
	return out.Kept, nil
}

// isOutOfMemory reports whether a process that died said that it got no memory. The collector of Go 1.26 says so by a
// segmentation violation of its own (mgcmark_greenteagc.go); one in a function would be a panic, which work recovers.
func isOutOfMemory(said string) bool {
	return strings.Contains(said, "memory") || strings.HasPrefix(said, "SIGSEGV")
}
