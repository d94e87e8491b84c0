package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"lethe/internal/sandbox"
)

// maxCommand bounds a command, in bytes: the kernel takes no argument of 128 KiB.
const maxCommand = 100 << 10

// privateDir, in the directory of the identity, is its commands' own.
const privateDir = "sandbox"

func (s *Set) bashTool() Tool {
	t := runTool("BASH", s.run)
	fill := strings.NewReplacer(
		"{{timeout}}", fmt.Sprint(int64(s.BashTimeout.Seconds())),
		"{{output}}", sizeText(s.MaxOutput),
		"{{roots}}", s.extraRoots(", "),
		"{{works}}", map[bool]string{false: "works", true: "is cut off"}[s.Offline],
		"{{offline}}", map[bool]string{true: ", and the network is cut off"}[s.Offline],
	)
	where := s.Bash
	if len(s.Shell) > 0 {
		where = "elsewhere"
	}
	t.Description = fill.Replace(t.Description + "\n\n" + describe("bash_"+where))
	t.Schema = json.RawMessage(fill.Replace(string(t.Schema)))
	return t
}

type bashArgs struct {
	Command    string  `json:"command"`
	Timeout    integer `json:"timeout,omitempty" about:"seconds, default {{timeout}}"`
	Background integer `json:"background,omitempty" about:"1: a job at once"`
}

func (s *Set) run(ctx context.Context, c Call, a bashArgs) (Result, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return Result{}, errors.New("command is empty: give what bash -c should run")
	case strings.ContainsRune(a.Command, 0):
		return Result{}, errors.New("command contains a zero byte, which no shell can take: write it in another " +
			"way, like $'\\x00' inside printf")
	case len(a.Command) > maxCommand:
		return Result{}, fmt.Errorf("command of %d bytes is too long, at most %d: WRITE_FILE it as a script and "+
			"run that", len(a.Command), maxCommand)
	}
	timeout, wait := s.BashTimeout, s.BashWait
	if a.Timeout > 0 {
		timeout = time.Duration(min(a.Timeout, integer(maxBashTimeout.Seconds()))) * time.Second
	}
	if a.Background != 0 {
		if err := s.canStart(c.Job); err != nil {
			return Result{}, err
		}
		wait = 0
	}
	r := s.start(ctx, c, a.Command, timeout)
	if c.Job > 0 && wait < timeout {
		select {
		case <-r.ended:
		case <-time.After(wait):
			if s.handOver(r, c.Job) {
				return r.goesOn(c), nil
			}
		}
	}
	<-r.ended
	return Result{Body: r.body(r.last), Err: !r.good}, nil
}

// start runs a command until its timeout, or until ctx ends.
func (s *Set) start(ctx context.Context, call Call, line string, timeout time.Duration) *command {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop, cancelTimer := context.WithTimeoutCause(run, timeout, errTimeout)
	r := &command{
		line: line, timeout: timeout, began: time.Now(), cancel: cancel, ended: make(chan struct{}),
		untie: context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }),
	}
	r.out = s.spool(spoolName(call.ID), s.MaxOutput, func() { cancel(errTooMuch) })
	r.out.live = call.Output
	go func() { // ends with the command, which ends at its timeout, at stop, or when ctx does that it is tied to
		defer cancel(nil)
		defer cancelTimer()
		end, err := sandbox.Run(stop, s.command(line, privateDir), r.out)
		r.untie()
		s.end(r, end, err, context.Cause(stop))
	}()
	return r
}

var (
	errTimeout = errors.New("timeout")
	errNoJob   = errors.New("it could not go on as a job")
)

// stopped is the cause of a job's end: "by ada", "with the daemon".
type stopped string

func (by stopped) Error() string { return "stopped " + string(by) }

func (stopped) Is(target error) bool { return target == context.Canceled } // somebody waits: see sandbox.Run

// exitLine is the last line of a result, and whether the command did well.
func exitLine(end sandbox.Outcome, err, why error, timeout, took time.Duration) (string, bool) {
	killed := "it and everything it started was killed"
	if errors.Is(err, sandbox.ErrStuck) {
		killed = "it was killed, but " + err.Error()
	}
	var by stopped
	asked := errors.As(why, &by)
	switch {
	case errors.Is(why, errNoJob):
		return fmt.Sprintf("[%s%s: %v]", killed, duration(took), why), false
	case asked:
		return fmt.Sprintf("[%v%s: %s]", by, duration(took), killed), false
	case end.Failed != "":
		return fmt.Sprintf("[not started: %s]", end.Failed), false
	case errors.Is(why, errTooMuch):
		return fmt.Sprintf("[too much output: it wrote more than %s, and %s. Filter its output, or send it to a "+
			"file you do not need to see whole]", sizeText(maxSpool), killed), false
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
// the same bytes: by them a loop is noticed.
func duration(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return fmt.Sprintf(", %.1f s", d.Seconds())
}
