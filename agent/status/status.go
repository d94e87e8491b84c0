// Package status shows a running identity to screens: a small JSON
// file and the reply as it streams. Nothing here is durable or believed by the
// daemon; both files can be deleted at any time.
package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lethe/agent/budget"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/secret/shape"
	"lethe/mind/audience"
)

// States of an identity.
const (
	Starting = "starting"
	Idle     = "idle"     // waiting for a line
	Thinking = "thinking" // a model call is under way
	Acting   = "acting"   // a tool is running
	Paused   = "paused"   // the model refused for a reason a person must mend
	Stopped  = "stopped"
	Retrying = "retrying" // it failed, and is opened again from its log before long
)

// Status is the content of agents/<self>/status.json.
type Status struct {
	Name  string `json:"name"`
	Self  string `json:"self"`
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"`
	// The identity hears Rooms; Answering wait for the turn under way.
	Rooms     []string `json:"rooms"`
	Answering []string `json:"answering,omitempty"`
	// Heard is, per room, the byte offset through which the identity has heard
	// it and acted on its commands. Whoever waits for an answer relies on three
	// things: Heard moves in the same write as the Answering that follows from
	// it; an answer is posted before the status without its room in Answering;
	// and so, with Heard at or past the end of a line, its room not in Answering
	// and no turn under way, the line is answered, if it ever will be.
	Heard    map[string]int64 `json:"heard,omitempty"`
	Tool     string           `json:"tool,omitempty"` // the tool that runs, while Acting
	Turn     int              `json:"turn"`
	Model    string           `json:"model"`
	Endpoint string           `json:"endpoint"`
	Offline  bool             `json:"offline,omitempty"`
	Error    string           `json:"error,omitempty"` // why it is Paused or failed
	Since    time.Time        `json:"since,omitzero"`  // when State began
	// Workspace is the directory that the tools work in, or did at last.
	Workspace string `json:"workspace,omitempty"`

	Compacting    bool `json:"compacting,omitempty"` // older context is being summarised beside the turns
	ContextTokens int  `json:"context_tokens"`       // of the next request with its answer, estimated
	ContextAnswer int  `json:"context_answer"`       // of those, what is kept free for the answer
	ContextLimit  int  `json:"context_limit"`

	InputTokens  int64   `json:"input_tokens"` // over the whole life
	CachedTokens int64   `json:"cached_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`

	Beside
}

// Beside lists work beside the talk, and matters that need somebody.
type Beside struct {
	Audience audience.Readers `json:"audience,omitempty"` // who may read what it says; missing: everybody
	Trouble  []string         `json:"trouble,omitempty"`  // a line for each room that cannot be used and trigger that does not run
	Warnings []string         `json:"warnings,omitempty"` // what weakens the promises where it runs
	// SilentSince is since when no piece of the model's answer has come, once that
	// is 20 seconds ago.
	SilentSince time.Time     `json:"silent_since,omitzero"`
	Triggers    []Trigger     `json:"triggers,omitempty"`
	Budget      []budget.Line `json:"budget,omitempty"`    // as of the last call of the model
	Children    int           `json:"children,omitempty"`  // that still work
	Questions   []Question    `json:"questions,omitempty"` // that are open, oldest first; also while it is stopped
	Jobs        []Job         `json:"jobs,omitempty"`      // commands that go on beside the talk
}

// Job is a running job.
type Job struct {
	ID      int       `json:"id"`
	Command string    `json:"command"`
	Began   time.Time `json:"began"`
}

// Question is an open question of an identity.
type Question struct {
	chat.Question
	Room  string    `json:"room"`
	Asked time.Time `json:"asked"`
}

// Trigger wakes the identity without a person.
type Trigger struct {
	Name  string    `json:"name"`
	Next  time.Time `json:"next,omitzero"` // zero: not by the clock, or not before it has answered
	Error string    `json:"error,omitempty"`
}

// Write puts s into dir as status.json, atomically but without syncing. On a full disk it
// writes over the file that is there, whose room it has.
func Write(dir string, s Status) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	data = append(shape.Bytes(data), '\n')
	path := filepath.Join(dir, "status.json")
	if err = durable.Replace(path, data, 0o600); errors.Is(err, syscall.ENOSPC) {
		err = durable.Overwrite(path, data, 0o600)
	}
	return err
}

// All yields the readable statuses of the identities of a home.
func All(home string) iter.Seq[Status] {
	return func(yield func(Status) bool) {
		dirs, _ := filepath.Glob(filepath.Join(home, "agents", "*")) // the pattern is well-formed, unless home is odd
		for _, dir := range dirs {
			s, err := Read(dir)
			if !Alive(s.PID) {
				s.State = Stopped
			}
			if err == nil && !yield(s) {
				return
			}
		}
	}
}

// Read reads dir's status.json. Whether its process still lives is not said.
func Read(dir string) (Status, error) {
	var s Status
	data, _, err := durable.ReadRegular(filepath.Join(dir, "status.json"), 1<<20)
	if err != nil {
		return s, err
	}
	err = json.Unmarshal(data, &s)
	return s, err
}

// BusyIn says whether the identity works on something that room waits for. A turn
// that answers nobody in particular counts for every room that it hears. Whether
// its process still lives is not said: see Alive.
func (s Status) BusyIn(room string) bool {
	isBusy := s.State == Thinking || s.State == Acting
	answers := len(s.Answering) == 0 || slices.Contains(s.Answering, room)
	return isBusy && answers && slices.Contains(s.Rooms, room)
}

// Alive asks the kernel whether a process runs; one of another user does too. A
// dead process that nobody has waited for still answers signals, so where /proc
// tells of it, it is asked as well.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// pid (command) state …, and the command may hold anything.
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// Brief says in a few words each what the identity does beside the talk, and what it waits for.
func (s Beside) Brief(now time.Time) (parts []string) {
	count := func(n int, one, more string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	if !s.Audience.Open() {
		parts = append(parts, "for "+s.Audience.String())
	}
	count(len(s.Questions), "question", "questions")
	count(len(s.Jobs), "job", "jobs")
	count(s.Children, "child", "children")
	var next Trigger
	for _, t := range s.Triggers {
		isFirst := next.Next.IsZero() || t.Next.Before(next.Next)
		if isFirst && !t.Next.IsZero() {
			next = t
		}
	}
	if !next.Next.IsZero() {
		at := next.Next.In(now.Location())
		form := "15:04"
		switch {
		case at.Sub(now) > 6*24*time.Hour:
			form = "2 Jan"
		case at.Sub(now) > 20*time.Hour:
			form = "Mon 15:04"
		}
		parts = append(parts, "next "+next.Name+" "+at.Format(form))
	}
	for _, m := range s.Budget {
		if m.Of == budget.Day {
			parts = append(parts, fmt.Sprintf("$%.2f left today", max(m.Limit-m.Spent-m.Held, 0).Dollars()))
		}
	}
	return parts
}
