package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
	"lethe/internal/sandbox"
)

const (
	guidePath  = "self/TRIGGERS.md"
	triggerDir = "triggers"
)

// triggerPlace finds the place of a name below self/ that has to do with triggers.
func (f *files) triggerPlace(name string) (pl place, ok bool) {
	pl = place{dir: f.agentDir, name: name, shown: "self/" + name, own: name}
	dir, file, below := strings.Cut(name, "/")
	base, toml := strings.CutSuffix(file, ".toml")
	switch {
	case strings.EqualFold("self/"+name, guidePath):
		pl.shown, pl.readOnly = guidePath, "it can only be read; write self/triggers/NAME.toml"
	case dir != triggerDir:
		return place{}, false
	case !below || file == "":
		pl.name, pl.shown, pl.own, pl.readOnly = triggerDir, "self/triggers", "", "name a file in it, like "+
			"self/triggers/NAME.toml"
	case !toml || strings.Contains(file, "/"):
		pl.name, pl.readOnly = "triggers", "a trigger is a file self/triggers/NAME.toml"
	default:
		pl.trigger = base
	}
	return pl, true
}

// checkTrigger says why a trigger cannot be written, or what follows from it. One whose
// content is blank is removed; then there is nothing left to do.
func (f *files) checkTrigger(p place, content string) (done, remark string, err error) {
	remark, err = f.checks(p.trigger, content)
	if err != nil {
		return "", "", fmt.Errorf("write %s: refused: %w", p.shown, err)
	}
	if strings.TrimSpace(content) != "" {
		return "", "\n" + remark, nil
	}
	return "removed", "", durable.Remove(filepath.Join(p.dir, p.name))
}

// TriggerOf returns the name in the identity's directory of the trigger that a call is to
// write, and the text that it writes there; "" when it writes none.
func TriggerOf(tool string, args json.RawMessage) (name, text string) {
	var a struct{ Path, Content, New string }
	if tool != "WRITE_FILE" && tool != "EDIT_FILE" || json.Unmarshal(args, &a) != nil {
		return "", ""
	}
	name, self := strings.CutPrefix(strings.TrimSpace(a.Path), "self/")
	if p, ok := (&files{}).triggerPlace(name); !self || !ok || p.trigger == "" {
		return "", ""
	}
	return name, a.Content + a.New
}

// What the command of a trigger may take and print.
const (
	runTime  = time.Minute
	runBytes = 4000
)

// RunTrigger runs the command of a trigger as BASH would, for at most a minute, beside
// the calls. It returns what the command printed, with how it ended unless that was exit 0; or,
// when it printed nothing, why it did not come to an end. name is that of the file that keeps a
// long output.
func (s *Set) RunTrigger(ctx context.Context, name, command string) (printed, failure string) {
	if s.conf.Bash == BashOff {
		return "", "BASH is off"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, errTimeout)
	defer cancel()
	out := newFiles(s.conf).spool(spoolName(name), runBytes, cancel)
	end, err := sandbox.Run(ctx, s.conf.command(command, privateDir), out)
	out.close("")
	printed = strings.TrimSpace(string(out.result()))
	switch last, good := exitLine(end, err, context.Cause(ctx), runTime, 0, maxSpool); {
	case good, printed == "" && strings.HasPrefix(last, "[exit "): // as test and grep say no
		return printed, ""
	case printed == "":
		return "", strings.Trim(last, "[]")
	default:
		return printed + "\n" + last, ""
	}
}
