package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

// checkDir, in the directory of the identity, has the HOME and TMPDIR of checks. BASH
// reaches neither in its sandbox, so no command of the model changes what a check does there.
const checkDir = "gate"

// CheckOutput stands before the end of a check's output.
const CheckOutput = ". The end of its output:\n"

// checkOutput is how many bytes a check may tell: the last of its output.
const checkOutput = 2000

// Check runs a command that somebody configured, where and as BASH runs one (but
// confined where BASH is off), with text as its standard input. It returns why the
// check does not pass, with the end of its output, or "". ran is false when that says
// nothing of the text: the check could not be run, or ctx has ended.
func (s *Set) Check(ctx context.Context, line, text string, timeout time.Duration) (why string, ran bool) {
	out, err := &lastBytes{}, s.conf.makePrivate(checkDir)
	if err == nil {
		err = durable.WriteFile(filepath.Join(s.conf.AgentDir, checkDir, "tmp", "answer"), []byte(text), 0o600)
	}
	if err != nil {
		return "could not be run: " + err.Error(), false
	}
	limit, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	end, err := sandbox.Run(limit, s.conf.command("exec <\"$TMPDIR/answer\"\n"+line, checkDir), out)
	switch {
	case ctx.Err() != nil:
		return "was stopped", false
	case end.Failed != "":
		return "could not be run: " + end.Failed, false
	case err != nil && !errors.Is(err, sandbox.ErrStuck):
		return "could not be run: " + err.Error(), false
	case limit.Err() != nil:
		why = fmt.Sprintf("took longer than %v", timeout)
	case end.Signal != 0:
		why = fmt.Sprintf("was killed by signal %d", end.Signal)
	case end.Exit != 0:
		why = fmt.Sprintf("ended with exit code %d", end.Exit)
	default:
		return "", true
	}
	if told := strings.TrimSpace(strings.ToValidUTF8(string(*out), "")); told != "" {
		why += CheckOutput + told
	}
	return why, true
}

// lastBytes keeps the end of what is written to it.
type lastBytes []byte

func (l *lastBytes) Write(b []byte) (int, error) {
	*l = append(*l, b[max(0, len(b)-checkOutput):]...)
	*l = (*l)[max(0, len(*l)-checkOutput):]
	return len(b), nil
}
