package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"lethe/agent/llm/rehearsal"
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
	Body    string            // with Status; "": an error object like DeepSeek's
	Fault   Fault
	Hold    <-chan struct{} `json:"-"` // nothing is sent before it is closed (or the client leaves)
}

// Fault is a way for a provider to misbehave.
type Fault string

// Faults. Half means half of the chunks, at least one.
const (
	Hang       Fault = "hang"       // not even headers until the client leaves
	Quiet      Fault = "quiet"      // headers, and comments that keep the connection alive until the client leaves
	Stall      Fault = "stall"      // half, then silence until the client leaves
	Truncate   Fault = "truncate"   // half, then a clean end: no finish_reason, no [DONE]
	NoDone     Fault = "no-done"    // all but [DONE]
	Understate Fault = "understate" // a whole answer, with a tenth of its usage
)

var faults = []Fault{"", Hang, Quiet, Stall, Truncate, NoDone, Understate}

func (st *Step) matches(request *Request) bool {
	name := cmp.Or(rehearsal.TaskOf(request.Messages), "none")
	isTask := st.Task == "" || st.Task == name
	if !isTask || !strings.Contains(request.Last().Text(), st.Contains) {
		return false
	}
	return st.Match == nil || st.Match(request)
}

// take returns the step for a request, if there is one, and counts the use.
func (s *Server) take(request *Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.steps {
		st := &s.steps[i]
		if !st.matches(request) {
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

// LoadScript reads steps from a JSON file, an object with steps.
func LoadScript(path string) ([]Step, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f struct{ Steps []Step }
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("parse script %s: %w", path, err)
	}
	for i, st := range f.Steps {
		goodStatus := 100 <= st.Status && st.Status <= 599
		badStatus := st.Status != 0 && !goodStatus
		badTask := !slices.Contains([]string{"", "none", "segment", "summarise"}, st.Task)
		unknown := badTask || !slices.Contains(faults, st.Fault)
		if badStatus || unknown {
			const form = "parse script %s: step %d: no such task %q, fault %q or status %d"
			return nil, fmt.Errorf(form, path, i, st.Task, st.Fault, st.Status)
		}
	}
	return f.Steps, nil
}
