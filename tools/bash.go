package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	mode := "bash_sandbox"
	if b.c.Bash == BashTrusted {
		mode = "bash_trusted"
	}
	roots := ""
	for _, r := range b.files.roots {
		if !within(b.files.work, r) {
			roots += ", " + r
		}
	}
	text := strings.NewReplacer(
		"{{timeout}}", fmt.Sprint(int64(b.c.BashTimeout.Seconds())),
		"{{output}}", sizeText(b.c.MaxOutput),
		"{{roots}}", roots,
	).Replace(describe("bash") + "\n\n" + describe(mode))
	return Tool{Name: "BASH", Description: text, Run: b.run, Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","description":"what bash -c runs"},"timeout":{"type":"integer","description":"seconds until it is killed; at most 600"}},"required":["command"],"additionalProperties":false}`)}
}

func (b *bash) run(ctx context.Context, c Call) Result {
	command, timeout, err := b.parse(c.Args)
	if err != nil {
		return failure(err)
	}
	name := spoolName(c.ID)
	out := &spool{bound: b.c.MaxOutput, most: b.most, keep: func() (*os.File, error) { return b.files.openSpool(name) }}
	started := time.Now()
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, cancelTimer := context.WithTimeoutCause(stop, timeout, errTimeout)
	defer cancelTimer()
	end, err := sandbox.Run(stop, sandbox.Command{
		Line: command, Dir: b.files.work, Private: filepath.Join(b.c.AgentDir, privateDir), Confine: b.c.Bash == BashSandbox,
		Write: b.files.roots, Hide: append([]string{b.c.Home, b.c.AgentDir}, b.c.Secrets...),
	}, cancelOnError{out, cancel})
	why := context.Cause(stop)
	r := Result{Body: out.result(name)}
	if len(r.Body) > 0 && !bytes.HasSuffix(r.Body, []byte{'\n'}) {
		r.Body = append(r.Body, '\n')
	}
	last, good := exitLine(end, err, why, timeout, time.Since(started))
	r.Body = append(r.Body, last...)
	r.Err = !good
	return r
}

var errTimeout = errors.New("timeout")

// cancelOnError ends the command when its output cannot be taken any more.
type cancelOnError struct {
	w      io.Writer
	cancel context.CancelCauseFunc
}

func (c cancelOnError) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil {
		c.cancel(err)
	}
	return n, err
}

func (b *bash) parse(args []byte) (command string, timeout time.Duration, err error) {
	a := struct {
		Command string `json:"command"`
		Timeout int64  `json:"timeout,omitempty"`
	}{Timeout: int64(max(1, b.c.BashTimeout.Seconds()))}
	if err := Decode(args, &a); err != nil {
		return "", 0, err
	}
	switch most := int64(maxBashTimeout.Seconds()); {
	case strings.TrimSpace(a.Command) == "":
		err = errors.New("command is empty: give what bash -c should run")
	case strings.ContainsRune(a.Command, 0):
		err = errors.New("command contains a zero byte, which no shell can take: write it in another way, like $'\\x00' inside printf")
	case len(a.Command) > maxCommand:
		err = fmt.Errorf("command of %d bytes is too long, at most %d: WRITE_FILE it as a script and run that", len(a.Command), maxCommand)
	case a.Timeout < 1:
		err = errors.New("timeout must be at least 1 second")
	default:
		a.Timeout = min(a.Timeout, most)
	}
	return a.Command, time.Duration(a.Timeout) * time.Second, err
}

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
