// Package demo is the tour of lethe demo: a throwaway identity with a small context forgets, is reminded, is killed and
// goes on. The daemon is the real one, in a process and a home of its own; what is shown is read from its files, and a
// step that does not happen is an error.
//
// Read scenes.go first, then watch.go (the process, its files), tell.go (how it is told) and story.go (what is said).
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	name  = "iris"
	room  = "dev"
	limit = 20_000 // tokens; prompt, tools and 8000 for the conversation need about 13,000
)

// config is the config.toml of the throwaway home. Everything eligible fades, so
// that one compaction shows the whole effect; BASH is off, so that the tour is the
// same where the kernel has no sandbox.
var config = fmt.Sprintf(`user = "you"
[context]
limit = %d
[model]
max_tokens = 1024
[fade]
target = 0.0
[tools]
bash = "off"
`, limit)

// tour is one run of the demo. A scene that cannot go on ends with an error.
type tour struct {
	*teller
	exe      string
	patience time.Duration // how long each thing may take to happen
	dir      string        // holds the home and what the daemons say
	hash     string        // of the identity, shortened
	daemon   *daemon
}

// Run shows the tour on out, with the daemon of the program exe; fast leaves out the
// pauses for reading. When it returns the daemon and its home are gone. An error names the
// scene that did not happen.
func Run(ctx context.Context, exe string, out io.Writer, fast bool) error {
	// All of the tour takes seconds: so much patience is for busy machines.
	t := &tour{exe: exe, patience: 45 * time.Second}
	t.teller = &teller{ctx: ctx, out: out, fast: fast, rested: time.Now()}
	return t.run()
}

func (t *tour) run() (err error) {
	// A reader that went away (lethe demo | head) must not end this process before
	// it has ended the daemon: with somebody to tell, SIGPIPE is an error of Write.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	if t.dir, err = os.MkdirTemp("", "lethe-demo-"); err != nil {
		return fmt.Errorf("make a home for the demo: %w", err)
	}
	defer func() {
		if t.daemon != nil {
			t.daemon.kill()
		}
		err = errors.Join(err, os.RemoveAll(t.dir))
	}()
	t.print(strong.Render("Lethe") + dim.Render(" · one minute, offline: no key, no network, nothing to type") + "\n")
	for i, part := range []struct {
		title string
		play  func() error
	}{
		{"A life begins", t.begin},
		{"Forgetting", t.forget},
		{"Remembering that it forgot", t.remember},
		{"kill -9", t.kill},
		{"Proof", t.prove},
	} {
		t.scene(i+1, part.title)
		var err error
		if t.err == nil {
			err = part.play()
		}
		switch {
		case t.err != nil:
			return fmt.Errorf("tell the demo: %w", t.err)
		case err != nil && t.ctx.Err() != nil:
			return fmt.Errorf("demo: interrupted at %q: %w", part.title, context.Canceled)
		case err != nil:
			return fmt.Errorf("demo: %q did not happen: %w", part.title, err)
		}
	}
	return nil
}
