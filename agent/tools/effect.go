package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"lethe/internal/secret/shape"
)

// Effect is the deed of a call: a Post, a Child, a Question, a Compaction, a Run or a *Change. The agent records that it
// begins. A Run does itself; the agent does the others.
type Effect interface{ effect() }

// Post says a text in a room, exactly once, with files: see Set.Attach.
type Post struct{ Room, Text, Files string }

// Compaction begins in the background.
type Compaction struct{}

// Run works beside the agent's goroutine. It must return soon after ctx ends, and may panic.
type Run func(ctx context.Context, c Call) Result

func (Post) effect()       {}
func (Child) effect()      {}
func (Question) effect()   {}
func (Compaction) effect() {}
func (Run) effect()        {}

// Intent reads what a call is to do. An error is its result: nothing is done.
func (s *Set) Intent(name string, args json.RawMessage) (Effect, error) {
	tool := s.find(name)
	switch {
	case tool == nil:
		names := s.Names()
		return nil, fmt.Errorf("unknown tool %s: did you mean %s? The tools "+
			"are %s", quote(name), names[nearest(name, names)], strings.Join(names, ", "))
	case len(args) > MaxArgs:
		return nil, fmt.Errorf("arguments of %s are %d bytes, at most %d are accepted. Nothing was done: split the work "+
			"over several calls", name, len(args), MaxArgs)
	}
	return tool.Intent(args)
}

// onlyLook are the tools whose arguments reach neither a file nor a program.
var onlyLook = []string{"READ_FILE", "LIST", "GLOB", "GREP", "RECALL", "UNCOMPACT"}

// RefuseMarks refuses a Run whose arguments hold the mark of a struck secret: it would write the mark over the secret,
// or run a program with it.
func RefuseMarks(name string, effect Effect, args json.RawMessage) error {
	_, runs := effect.(Run)
	if !runs || slices.Contains(onlyLook, name) || !shape.Marked(string(args)) {
		return nil
	}
	return fmt.Errorf("not done: the arguments of %s hold a mark like [secret 3f9a: …], which stands for a secret that was "+
		"kept from you, and is not the secret. Leave the place as it is, or have a command read the secret where it "+
		"stands, in a file or the environment", name)
}

// Do runs a call. It never panics, and returns within two seconds of the end
// of ctx: if the tool itself does not, it is left behind and the result says
// that its effect is unknown.
func (run Run) Do(ctx context.Context, c Call) Result {
	if ctx.Err() != nil {
		return failf("interrupted: %s was not started", c.Name)
	}
	done := make(chan Result, 1)
	go func() { done <- run.guarded(ctx, c) }() // ends with the tool
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r
	case <-time.After(stopGrace):
		return failf("interrupted: %s did not stop in time, effect unknown. Check what it did before you repeat it.", c.Name)
	}
}

func (run Run) guarded(ctx context.Context, c Call) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = failf("%s failed inside: panic: %v\nEffect unknown. Other arguments or another tool may work; this "+
				"is a defect of the program worth reporting.\n\n%s",
				c.Name, p, clip(string(debug.Stack()), 2000))
		}
	}()
	return run(ctx, c)
}
