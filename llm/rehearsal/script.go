package rehearsal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A Step is done instead of the model's answer, for the requests it matches. For
// each request the first step that matches and has uses left is taken. A step
// that sets nothing but a fault applies it to the model's own answer.
type Step struct {
	// What it matches; all that is set must hold, and nothing set matches all.
	Match    func(*Request) bool `json:"-"`
	Contains string              // in the content of the last message
	Task     string              // the last message is this task: "segment", "summarise", or "none" for no task
	Skip     int                 // so many matching requests are left alone first
	Times    int                 // uses: 0 and 1 are once, negative is for ever

	// What it does. Status sends an error (or Body) instead of a stream.
	Answer  *Answer
	Status  int
	Headers map[string]string // with Status
	Body    string            // with Status; "": DeepSeek's words for that status
	Fault   Fault

	// When it does it.
	Hold      <-chan struct{} `json:"-"` // nothing is sent before it is closed (or the client leaves)
	Wait      time.Duration   // before the headers
	KeepAlive time.Duration   // comments for so long, between headers and first chunk
	Pace      time.Duration   // between chunks, instead of Options.Pace
}

// Answer is what a step says. Calls without ids get some.
type Answer struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    string // finish_reason; "": stop or tool_calls
}

// Fault is a way in which a provider misbehaves.
type Fault string

// Faults. Half means half of the chunks, at least one.
const (
	Hang         Fault = "hang"          // not even headers until the client leaves
	Stall        Fault = "stall"         // half, then silence until the client leaves
	Truncate     Fault = "truncate"      // half, then a clean end: no finish_reason, no [DONE]
	Reset        Fault = "reset"         // half, then the connection breaks
	NoDone       Fault = "no-done"       // all but [DONE]
	NoFinish     Fault = "no-finish"     // all but the finish_reason
	NoNewline    Fault = "no-newline"    // the last line does not end
	NoSpace      Fault = "no-space"      // data:{…
	HTML         Fault = "html"          // 200 and a web page
	JSONError    Fault = "json-error"    // 200 and an error object
	ErrorEvent   Fault = "error-event"   // half, then an error object as event, then the end
	Blank        Fault = "blank"         // content of white space only
	Empty        Fault = "empty"         // no content, no calls, finish_reason stop
	Length       Fault = "length"        // half of the tokens, then finish_reason length
	RepeatIDs    Fault = "repeat-ids"    // id, type and name again on each fragment of a call
	Interleave   Fault = "interleave"    // fragments of parallel calls alternate
	NoIDs        Fault = "no-ids"        // calls without ids
	BadArguments Fault = "bad-arguments" // arguments that are not JSON
)

var faults = map[Fault]bool{
	"": true, Hang: true, Stall: true, Truncate: true, Reset: true, NoDone: true, NoFinish: true,
	NoNewline: true, NoSpace: true, HTML: true, JSONError: true, ErrorEvent: true, Blank: true,
	Empty: true, Length: true, RepeatIDs: true, Interleave: true, NoIDs: true, BadArguments: true,
}

func (st *Step) matches(r *Request) bool {
	if st.Match != nil && !st.Match(r) {
		return false
	}
	if !strings.Contains(r.Last().Text(), st.Contains) {
		return false
	}
	if st.Task == "" {
		return true
	}
	name := "none"
	if t, ok := taskOf(r.Messages); ok {
		name = t.name
	}
	return name == st.Task
}

// take returns the step for a request, if there is one, and counts the use.
func (s *Server) take(r *Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.steps {
		st := &s.steps[i]
		if !st.matches(r) {
			continue
		}
		if st.Skip > 0 {
			st.Skip--
			continue
		}
		taken := *st
		switch {
		case st.Times > 1:
			st.Times--
		case st.Times >= 0:
			s.steps = slices.Delete(s.steps, i, i+1)
		}
		return taken
	}
	return Step{}
}

// A fileStep is a Step as docs/rehearse.md describes it.
type fileStep struct {
	Step
	Answer    *fileAnswer
	Wait      duration
	KeepAlive duration `json:"keep_alive"`
	Pace      duration
}

type fileAnswer struct {
	Answer
	Calls []fileCall
}

type fileCall struct {
	ID, Name  string
	Arguments json.RawMessage // a text is sent as it is, an object as its JSON
}

type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v < 0 {
		err = fmt.Errorf("duration %s is negative", text)
	}
	*d = duration(v)
	return err
}

// LoadScript reads steps from a JSON file, whose format is in docs/rehearse.md.
func LoadScript(path string) ([]Step, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f struct{ Steps []fileStep }
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("parse script %s: %w", path, err)
	}
	var steps []Step
	for i, fs := range f.Steps {
		st, err := fs.step()
		if err != nil {
			return nil, fmt.Errorf("parse script %s: step %d: %w", path, i, err)
		}
		steps = append(steps, st)
	}
	return steps, nil
}

func (f fileStep) step() (Step, error) {
	st := f.Step
	switch {
	case !faults[st.Fault]:
		return Step{}, fmt.Errorf("unknown fault %q", st.Fault)
	case st.Task != "" && st.Task != "none" && st.Task != "segment" && st.Task != "summarise":
		return Step{}, fmt.Errorf("unknown task %q", st.Task)
	case st.Status != 0 && (st.Status < 100 || st.Status > 599):
		return Step{}, fmt.Errorf("status %d is out of range", st.Status)
	}
	st.Wait, st.KeepAlive, st.Pace = time.Duration(f.Wait), time.Duration(f.KeepAlive), time.Duration(f.Pace)
	if f.Answer == nil {
		return st, nil
	}
	st.Answer = &f.Answer.Answer
	for _, c := range f.Answer.Calls {
		call := Call{c.ID, c.Name, "{}"}
		if !absent(c.Arguments) && json.Unmarshal(c.Arguments, &call.Arguments) != nil {
			call.Arguments = string(c.Arguments)
		}
		st.Answer.Calls = append(st.Answer.Calls, call)
	}
	return st, nil
}
