// Package hook runs the hooks of a home: people's own programs, which are told what an identity is about to do, and may
// refuse it or change it.
//
//	hooks := hook.Set{Dir: filepath.Join(home, "hooks")}
//	if hooks.Has(hook.Call) {
//		answer := hooks.Run(ctx, hook.Input{Event: hook.Call, ToolName: "BASH", ToolInput: args})
//	}
//
// What holds:
//
//   - A hook gets JSON and answers with JSON, or with exit code 2, as hooks of Claude Code and crush do.
//   - A hook that fails, hangs or prints too much decides nothing and leaves a warning, once.
//   - While a hook that this process has seen in order is not, calls are refused, and what that hook would judge. Modes
//     that a command has changed are restored.
//   - When Run has returned, nothing that the hooks started is alive, as package sandbox has it.
//
// A Gate checks a final answer before it counts.
//
// Hooks run unconfined, as the user, with none of this process's keys. The main function of a program that runs them
// begins with sandbox.Main.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/internal/sandbox"
)

// Events at which hooks run. Each is the name of a directory in Set.Dir.
const (
	Turn   = "turn"   // a turn begins: hooks may add context
	Call   = "call"   // before a tool is called: they may refuse, have people asked, or replace the arguments
	Result = "result" // behind a call: they may replace what it returned, or add context
	Reply  = "reply"  // before a final answer counts: they may send it back
)

// claude has the names of the events in Claude Code.
var claude = map[string]string{Turn: "UserPromptSubmit", Call: "PreToolUse", Result: "PostToolUse", Reply: "Stop"}

const (
	maxTime   = 5 * time.Second // of a hook
	maxOutput = 64 << 10        // bytes that a hook prints to its output, and to its errors
	refusal   = 2               // the exit code that refuses
)

// Set holds the hooks below a directory: "hooks" of a home.
type Set struct {
	Dir  string
	told sync.Map // what Run has warned of: hooks that have not worked since, and what is ignored

	looked time.Time // by Has
	there  []string  // in Dir then
}

// Input tells hooks what happens. They read it as one line of JSON, with hook_event_name.
type Input struct {
	Event      string          `json:"event"`
	SessionID  string          `json:"session_id"` // hash of the identity
	Identity   string          `json:"identity"`   // name of the identity
	CWD        string          `json:"cwd"`        // where tools work; hooks do not run there
	Prompt     string          `json:"prompt,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolInput  json.RawMessage `json:"tool_input,omitempty"` // a JSON object, with names as the tool reads them
	ToolOutput string          `json:"tool_response,omitempty"`
	Reply      string          `json:"last_assistant_message,omitempty"`
	Again      bool            `json:"stop_hook_active,omitempty"` // a hook has sent back a reply of this turn already
}

// Answer joins the wishes of the hooks of an event. Wishes that do not fit the event are not obeyed.
type Answer struct {
	Deny     bool            // of Call and Reply
	Ask      bool            // of Call, if it is not denied: people are to allow it
	Reason   string          // for Deny or Ask; begins with the name of the hook
	Input    json.RawMessage // of Call: the arguments to use instead, an object; nil keeps them
	Context  string          // of Turn and Result: to be told to the model as well, as data
	Output   string          // of Result: what to tell in place of the result; "" keeps it
	Warnings []string        // which hooks had no effect, and why: a line each, once
}

// Run runs the hooks of an event one after the other, in order of their names, each for at most 5 seconds. A hook is
// told what those before it have replaced. The first that refuses is the last to run. Of a hook that fails again and
// again, the first failure alone is a warning. When ctx has ended, the answer is not whole and must not be obeyed.
func (s *Set) Run(ctx context.Context, in Input) (a Answer) {
	if names := s.turnedOff(in.Event, &a); len(names) > 0 {
		a.Deny, a.Reason = true, fmt.Sprintf("hook %s is missing, or is not as it was: chmod 700 it, put it back, or start "+
			"Lethe anew without it", strings.Join(names, ", "))
		a.Output = a.Reason
		return a
	}
	names, ignored := s.find(in.Event)
	for _, why := range ignored {
		s.warn(&a, why, why)
	}
	for _, name := range names {
		if a.Deny || ctx.Err() != nil {
			break
		}
		r, err := s.consult(ctx, name, in)
		if err == nil {
			a.add(name, r, &in)
			s.told.Delete(name)
		} else if ctx.Err() == nil {
			s.warn(&a, name, fmt.Sprintf("hook %s had no effect: %v", name, err))
		}
	}
	return a
}

// warn warns of a thing, unless that has been done.
func (s *Set) warn(a *Answer, of, warning string) {
	if _, told := s.told.LoadOrStore(of, true); !told {
		a.Warnings = append(a.Warnings, warning)
	}
}

// reply is the answer of one hook, in the words of crush.
type reply struct {
	Decision string                     `json:"decision"`
	Reason   string                     `json:"reason"`
	Input    map[string]json.RawMessage `json:"updated_input"`
	Context  string                     `json:"context"`
	Output   string                     `json:"output"`
	Nested   json.RawMessage            `json:"hookSpecificOutput"`
}

// nested is the same in those words of Claude Code that it nests.
type nested struct {
	Decision string                     `json:"permissionDecision"`
	Reason   string                     `json:"permissionDecisionReason"`
	Input    map[string]json.RawMessage `json:"updatedInput"`
	Context  string                     `json:"additionalContext"`
	Output   string                     `json:"updatedToolOutput"`
	Nested   json.RawMessage            `json:"-"`
}

// consult runs a hook and reads what it says.
func (s *Set) consult(ctx context.Context, name string, in Input) (r reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out, errs := &sandbox.Head{Most: maxOutput + 1}, &sandbox.Head{Most: maxOutput}
	end, err := sandbox.Run(ctx, sandbox.Command{
		Args: []string{filepath.Join(s.Dir, name)}, Dir: s.Dir, Input: in.encode(), Errors: errs,
	}, out)
	switch text := textOf(out); {
	case err != nil:
	case end.Exit == refusal:
		r = reply{Decision: "deny", Reason: textOf(errs)}
	case ctx.Err() != nil:
		err = fmt.Errorf("it took longer than %v", maxTime)
	case end != sandbox.Outcome{}:
		err = fmt.Errorf("it ended with exit code %d: %.300s%s", end.Exit, textOf(errs), end.Failed)
	case len(out.Kept) > maxOutput:
		err = fmt.Errorf("it printed more than %d KB", maxOutput>>10)
	case strings.HasPrefix(text, "{"):
		r, err = parseReply(text)
	case in.Event == Turn:
		r.Context = text
	}
	return r, err
}

// parseReply reads what a hook says as a JSON object.
func parseReply(text string) (r reply, err error) {
	err = json.Unmarshal([]byte(text), &r)
	if err == nil && r.Nested != nil {
		err = json.Unmarshal(r.Nested, (*nested)(&r))
	}
	return r, err
}

// encode returns the input of a hook. Each character of the arguments stands for itself where JSON allows it, whatever
// escapes the model wrote: a hook that searches the line for a word finds it.
func (in Input) encode() io.Reader {
	line := struct {
		Name string `json:"hook_event_name"`
		Input
		ToolInput any `json:"tool_input,omitempty"`
	}{Name: claude[in.Event], Input: in}
	exact := json.NewDecoder(bytes.NewReader(in.ToolInput))
	exact.UseNumber()
	_ = exact.Decode(&line.ToolInput) // an object, if there is any
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(line) // to memory, and of values that JSON has
	return &text
}

// add obeys what a hook says, and puts what it replaces into the input of the next. A decision of no known name refuses.
func (a *Answer) add(name string, r reply, in *Input) {
	if !slices.Contains([]string{"", "allow", "approve"}, r.Decision) {
		reason := fmt.Sprintf("hook %s: %s", name, cmp.Or(r.Reason, "it gives no reason"))
		if in.Event == Turn || in.Event == Result { // too late: the model is told
			r.Context = reason + "\n" + r.Context
		} else {
			a.Ask = r.Decision == "ask"
			a.Deny, a.Reason = !a.Ask, reason
		}
	}
	a.Context = strings.TrimSpace(a.Context + "\n" + r.Context)
	if r.Input != nil {
		a.Input, _ = json.Marshal(r.Input) // of the JSON that was read
		in.ToolInput = a.Input
	}
	a.Output = cmp.Or(r.Output, a.Output)
	in.ToolOutput = cmp.Or(r.Output, in.ToolOutput)
}

// Returned is the result of a call as the model reads it. Hooks may have replaced the arguments, and added something.
func (a Answer) Returned(out []byte, replaced, added string) []byte {
	if a.Output != "" {
		out = []byte("[a hook replaced this result]\n" + a.Output)
	}
	if replaced != "" {
		out = fmt.Appendf(nil, "[a hook replaced the arguments by %s]\n%s", replaced, out)
	}
	if more := strings.TrimSpace(added + "\n" + a.Context); more != "" {
		out = fmt.Appendf(out, "\n[hooks say: %s]", more)
	}
	return out
}

func textOf(output *sandbox.Head) string {
	return strings.TrimSpace(strings.ToValidUTF8(string(output.Kept), ""))
}
