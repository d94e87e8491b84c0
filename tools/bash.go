package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

// maxCommand bounds a command, in bytes: the kernel takes no argument of 128 KiB.
const maxCommand = 100 << 10

// bash is the BASH tool of one identity.
type bash struct {
	c     Config
	files *files
	most  int64 // maxSpool, less in tests
}

func newBash(c Config, f *files) (*bash, error) {
	for _, d := range []string{"home", "tmp"} {
		if err := durable.MkdirAll(filepath.Join(c.AgentDir, privateDir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make directory of commands: %w", err)
		}
	}
	sandbox.HideEnvironment()
	return &bash{c: c, files: f, most: maxSpool}, nil
}

// privateDir, in the directory of the identity, is its commands' own.
const privateDir = "sandbox"

func (b *bash) tool() Tool {
	t := newTool("BASH", b.run)
	roots := ""
	for _, r := range b.files.roots {
		if !within(b.files.work, r) {
			roots += ", " + r
		}
	}
	mode := "bash_sandbox"
	if b.c.Bash == BashTrusted {
		mode = "bash_trusted"
	}
	t.Description = strings.NewReplacer(
		"{{timeout}}", fmt.Sprint(int64(b.c.BashTimeout.Seconds())),
		"{{output}}", sizeText(b.c.MaxOutput),
		"{{roots}}", roots,
	).Replace(t.Description + "\n\n" + describe(mode))
	return t
}

type bashArgs struct {
	Command string  `json:"command"`
	Timeout integer `json:"timeout,omitempty" about:"seconds, at most 600"`
}

func (b *bash) run(ctx context.Context, call string, a bashArgs) (Result, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return Result{}, errors.New("command is empty: give what bash -c should run")
	case strings.ContainsRune(a.Command, 0):
		return Result{}, errors.New("command contains a zero byte, which no shell can take: write it in another way, like $'\\x00' inside printf")
	case len(a.Command) > maxCommand:
		return Result{}, fmt.Errorf("command of %d bytes is too long, at most %d: WRITE_FILE it as a script and run that", len(a.Command), maxCommand)
	}
	timeout := b.c.BashTimeout
	if a.Timeout > 0 {
		timeout = time.Duration(min(a.Timeout, integer(maxBashTimeout.Seconds()))) * time.Second
	}
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, cancelTimer := context.WithTimeoutCause(stop, timeout, errTimeout)
	defer cancelTimer()
	name := spoolName(call)
	out := &spool{bound: b.c.MaxOutput, most: b.most, tooMuch: func() { cancel(errTooMuch) },
		keep: func() (*os.File, error) { return b.files.openSpool(name) }}
	started := time.Now()
	end, err := sandbox.Run(stop, sandbox.Command{
		Line: a.Command, Dir: b.files.work, Private: filepath.Join(b.c.AgentDir, privateDir), Confine: b.c.Bash != BashTrusted,
		Write: b.files.roots, Hide: append([]string{b.c.Home, b.c.AgentDir}, b.c.Secrets...),
	}, out)
	last, good := exitLine(end, err, context.Cause(stop), timeout, time.Since(started))
	body := out.result(name)
	if len(body) > 0 && !bytes.HasSuffix(body, []byte{'\n'}) {
		body = append(body, '\n')
	}
	return Result{Body: append(body, last...), Err: !good}, nil
}

var errTimeout = errors.New("timeout")

// exitLine is the last line of a result, and whether the command did well.
func exitLine(end sandbox.Outcome, err, why error, timeout, took time.Duration) (string, bool) {
	killed := "it and everything it started was killed"
	if errors.Is(err, sandbox.ErrStuck) {
		killed = "it was killed, but " + err.Error()
	}
	switch {
	case end.Failed != "":
		return fmt.Sprintf("[not started: %s]", end.Failed), false
	case errors.Is(why, errTooMuch):
		return fmt.Sprintf("[too much output: it wrote more than %s, and %s. Filter its output, or send it to a file you do not need to see whole]", sizeText(maxSpool), killed), false
	case errors.Is(why, errTimeout):
		return fmt.Sprintf("[timeout after %d s: %s. Give a longer timeout (at most %d), or do less at once]",
			int64(timeout.Seconds()), killed, int64(maxBashTimeout.Seconds())), false
	case why != nil:
		return fmt.Sprintf("[interrupted%s: %s]", duration(took), killed), false
	case err != nil:
		return fmt.Sprintf("[failed: %v]", err), false
	case end.Signal != 0:
		return fmt.Sprintf("[killed by signal %d (%v)%s]", end.Signal, syscall.Signal(end.Signal), duration(took)), false
	}
	return fmt.Sprintf("[exit %d%s]", end.Exit, duration(took)), end.Exit == 0
}

// duration is left out below a second, so that repeating a quick command gives
// the same bytes: repetition is how a loop is noticed.
func duration(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return fmt.Sprintf(", %.1f s", d.Seconds())
}
