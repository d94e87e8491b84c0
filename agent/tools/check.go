package tools

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

// checkDir, in the directory of the identity, has the HOME and TMPDIR of checks. BASH
// reaches neither in its sandbox, so no command of the model changes what a check does there.
const checkDir = "gate"

// CheckOutput stands before a check's output.
const CheckOutput = ". Its output:\n"

// What commands that BASH does not run may take and tell.
const (
	runTime    = time.Minute // of a trigger
	runBytes   = 4000
	checkBytes = 2000

	recordingTime  = 10 * time.Minute
	recordingBytes = 32 << 10
)

// Check runs a command that somebody configured, where and as BASH runs one (but
// confined where BASH is off), with text as its standard input. It returns why the
// check does not pass, with its output, or "". ran is false when that says
// nothing of the text: the check could not be run, or ctx has ended. Unless files is nil, it writes no others.
func (s *Set) Check(ctx context.Context, line, text string, files []string, timeout time.Duration) (why string, ran bool) {
	if files != nil {
		bound := *s
		bound.Files = files
		s = &bound
	}
	printed, last, ran, good := s.fed(ctx, "check", line, []byte(text), timeout, checkBytes)
	if good {
		return "", true
	}
	if ran { // what else the line says is for a call of BASH
		last, _, _ = strings.Cut(last, ":")
	}
	why = "ended with " + last
	if printed != "" {
		why += CheckOutput + printed
	}
	return why, ran
}

// WriteDown returns what Config.Transcribe prints of a recording, or how it failed; "" when ctx has ended.
func (s *Set) WriteDown(ctx context.Context, recording []byte) string {
	said, last, _, good := s.fed(ctx, "transcribe", s.Transcribe, recording, recordingTime, recordingBytes)
	if !good {
		said = "not known: media.transcribe ended with " + last + "\n" + said
	}
	if ctx.Err() != nil {
		return ""
	}
	return cmp.Or(said, "nothing")
}

// fed runs a command with an input, as aside does, where BASH cannot reach.
func (s *Set) fed(
	ctx context.Context, name, line string, input []byte, timeout time.Duration, bound int64,
) (printed, last string, ran, good bool) {
	path := filepath.Join(s.AgentDir, checkDir, "tmp", name)
	err := s.makePrivate(checkDir)
	if err == nil {
		err = durable.WriteFile(path, input, 0o600)
	}
	if err != nil {
		return "", "an error: " + err.Error(), false, false
	}
	defer os.Remove(path)
	command := s.command("exec <\"$TMPDIR/"+name+"\"\n"+line, checkDir)
	if command.Through != nil {
		command.Line, command.Fed = line, string(input)
	}
	return s.aside(ctx, name, command, timeout, bound)
}

// RunTrigger runs the command of a trigger as BASH would, for at most a minute, beside the calls. It
// returns the output, with a last line unless the exit code was 0; or, without output, the reason why
// the command did not come to an end. name names the file that keeps a long output.
func (s *Set) RunTrigger(ctx context.Context, name, command string) (printed, failure string) {
	if s.Bash == BashOff {
		return "", "BASH is off"
	}
	printed, last, _, good := s.aside(ctx, name, s.command(command, privateDir), runTime, runBytes)
	switch {
	case good, printed == "" && strings.HasPrefix(last, "exit "): // as test and grep say no
		return printed, ""
	case printed == "":
		return "", last
	}
	return printed + "\n[" + last + "]", ""
}

// aside runs a command that no call waits for. It returns its output and its last
// line as a result of BASH has them, whether it was run to an end or its timeout, and whether it did well.
func (s *Set) aside(
	ctx context.Context, name string, command sandbox.Command, timeout time.Duration, bound int64,
) (printed, last string, ran, good bool) {
	limit, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	out := s.spool(spoolName(name), bound, cancel)
	end, err := sandbox.Run(limit, command, out)
	out.close("")
	last, good = exitLine(end, err, context.Cause(limit), timeout, 0)
	cameToAnEnd := err == nil || errors.Is(err, sandbox.ErrStuck)
	began := ctx.Err() == nil && end.Failed == ""
	ran = began && cameToAnEnd
	return strings.TrimSpace(strings.ToValidUTF8(string(out.result()), "")), strings.Trim(last, "[]"), ran, good
}
