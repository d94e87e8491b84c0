// Package report shows a home: its identities, rooms, questions, budgets, triggers and
// jobs, as the commands print them, the API sends them and the page shows them. It reads
// the files that identities write, and does not change them.
//
//	h := report.Home{Home: home, Store: store}
//	all, err := h.Agents()
//
// What a person may ask of an identity besides (fire a trigger, stop a job, take an
// answer) is checked here, in one place for all doors.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Home is a home and what its configuration says of it.
type Home struct {
	home.Home
	Store        *blobs.Store
	Limits       budget.Limits
	Zone         *time.Location // nil is the machine's
	People       []string       // who may answer questions and raise budgets
	ContextLimit int            // tokens; 0 is the default
	Known        llm.Known      // of models, before the table
	// Mentions reports whether an identity is woken only by lines that mention it; nil: no identity is.
	Mentions func(name string) bool
}

// InvalidError is a request that makes no sense: Hint returns advice.
type InvalidError struct {
	Err    error
	Advice string
}

func (e *InvalidError) Error() string { return e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }

// Hint returns advice, or "".
func (e *InvalidError) Hint() string { return e.Advice }

// hintedError is an error with what to do about it.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Hint() string { return e.hint }

// Invalid is an InvalidError without advice.
func Invalid(format string, args ...any) error {
	return &InvalidError{Err: fmt.Errorf(format, args...)}
}

// Clock decides when a day begins.
func (h Home) Clock() *time.Location { return cmp.Or(h.Zone, time.Local) }

// Agent is an identity: what it shows while it runs, and what its log says.
type Agent struct {
	status.Status
	Parent    string `json:"parent,omitempty"` // of a child
	Host      string `json:"host,omitempty"`   // of the home that has the life, if that is another one
	Work      *Work  `json:"work,omitempty"`
	Hired     string `json:"hired,omitempty"` // its role, people and costs
	Turns     int    `json:"turns"`
	Entries   int    `json:"entries"`
	LifeBytes int64  `json:"life_bytes"`
	Indent    string `json:"-"` // below its parent
}

// Work is the state of a child's task.
type Work struct {
	Room   string `json:"room"`
	State  string `json:"state"` // working, waiting, done, failed, stopped
	Result string `json:"result,omitempty"`
}

// Agents lists the identities of the home, each child behind its parent.
func (h Home) Agents() ([]Agent, error) {
	all, err := h.List()
	if err != nil {
		return nil, err
	}
	list := []Agent{}
	for _, id := range all {
		list = append(list, h.Agent(id))
	}
	h.bill(list)
	return family(h.withOthers(list)), nil
}

// bill tells the costs of identities that were hired, where the books can be read.
func (h Home) bill(list []Agent) {
	var budgets Budgets
	for i, agent := range list {
		if agent.Hired == "" {
			continue
		}
		if budgets.Day == "" {
			budgets, _ = h.Budgets()
		}
		for _, line := range budgets.Of(agent.Self).Lines {
			list[i].Hired += "; " + line.Left()
		}
	}
}

// withOthers adds the lives that other hosts have, and marks the identities that wait for the store of all hosts.
func (h Home) withOthers(list []Agent) []Agent {
	if h.Shared == nil {
		return list
	}
	for k := range list {
		state := &list[k].State
		waits := *state == status.Idle || *state == status.Retrying
		if waits && h.Shared.Away() {
			*state = "waits for the store"
		}
	}
	for _, elsewhere := range h.Shared.Elsewhere() {
		id := elsewhere.Identity
		at := slices.IndexFunc(list, func(a Agent) bool { return a.Self == id.Self })
		if at < 0 {
			at = len(list)
			list = append(list, Agent{Status: status.Status{Name: id.Name, Self: id.Self, Rooms: []string{}}})
		}
		list[at].State, list[at].Host = "elsewhere", elsewhere.Host
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// family puts children behind their parents, and those whose parent is gone, or themselves, where the others begin.
func family(list []Agent) []Agent {
	known, children := map[string]bool{}, map[string][]Agent{}
	for _, a := range list {
		known[a.Name] = true
	}
	for _, agent := range list {
		parent := agent.Parent
		if parent == agent.Name || !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], agent)
	}
	out := []Agent{}
	var add func(parent, indent string)
	add = func(parent, indent string) {
		for _, a := range children[parent] {
			a.Indent = indent
			out = append(out, a)
			add(a.Name, indent+"  ")
		}
	}
	add("", "")
	return out
}

// Agent reads what is known of an identity; what cannot be read is said in it.
func (h Home) Agent(id home.Identity) Agent {
	live, running := Live(id)
	agent := Agent{Status: live}
	switch {
	case !running:
		agent.Status = status.Status{State: status.Stopped, Beside: status.Beside{Questions: live.Questions}}
		started, _ := id.Started()
		agent.Error = started.Failed
	case live.State == status.Retrying:
		agent.Error = fmt.Sprintf("tries again since %s: %s", live.Since.Format(time.RFC3339), live.Error)
	}
	agent.Name, agent.Self, agent.Rooms = id.Name, id.Self, []string{}
	agent.State = cmp.Or(agent.State, status.Starting)
	if fi, err := os.Stat(id.LIFE()); err == nil {
		agent.LifeBytes = fi.Size()
	}
	if hired, _ := id.Hired(); hired != nil { // one that cannot be read is told by its run
		agent.Hired = hired.String()
	}
	if rooms, err := chat.Rooms(id.Subs()); err == nil && rooms != nil {
		agent.Rooms = rooms
	}
	state, err := home.Fold(id, h.Store)
	if err != nil {
		agent.State, agent.Error = "damaged", err.Error()
		return agent
	}
	u := state.Usage
	agent.InputTokens, agent.CachedTokens, agent.OutputTokens, agent.CostUSD = u.Input, u.Cached, u.Output, u.USD
	agent.Model, agent.Endpoint = state.Stable.Params.Model, state.Stable.Params.Endpoint
	agent.Turns, agent.Entries = state.Turn, state.Next-1
	if elsewhere, ok := errors.AsType[*home.ElsewhereError](id.Elsewhere(state)); ok && !running {
		agent.State = map[bool]string{true: "mirror", false: "moved"}[elsewhere.Mirror]
	}
	if t := state.Task; t != nil {
		agent.Parent, agent.Work = t.Parent, workOf(t, live, running)
	}
	return agent
}

// workOf returns the state of a child's task.
func workOf(task *mind.Task, live status.Status, running bool) *Work {
	work := &Work{task.Room, cmp.Or(task.How, "new"), task.Gist}
	switch {
	case !task.Open():
	case !running:
		work.State = "unfinished"
	case live.State == status.Idle:
		work.State = "waiting"
	default:
		work.State = "working"
	}
	return work
}

// Doing tells in few words what the agent does, without its questions and jobs.
func (a Agent) Doing() string {
	a.Questions, a.Jobs = nil, nil
	return strings.Join(a.Brief(time.Now()), ", ")
}

// Live reads the status of an identity, and whether a process runs it.
func Live(id home.Identity) (status.Status, bool) {
	s, _ := status.Read(id.Dir) // zero, where it has not shown one yet
	_, running := home.Running(id)
	return s, running
}

// Context is the next request of an identity, and what its parts cost as the daemon counts it.
type Context struct {
	prompt.Parts
	Messages []llm.Message `json:"messages"`
	State    *mind.State   `json:"-"`
	Today    budget.USD    `json:"-"` // what the identity has spent on the local day
	Turn     budget.USD    `json:"-"` // what its newest turn has cost until now
}

// Context reads the next request of an identity.
func (h Home) Context(id home.Identity) (parts Context, err error) {
	log, err := home.View(id, h.Store)
	if err != nil {
		return parts, err
	}
	defer log.Close()
	state, lines, err := home.FoldLog(id, log, h.Store)
	if err != nil {
		return parts, err
	}
	spent, err := budget.Fold(state.Carried, lines, state.Usage.USD)
	if err != nil {
		return parts, err
	}
	today := spent.On(budget.DateOf(time.Now(), h.Clock())).Sums().Day
	limit := prompt.Bound(h.Known, state.Stable.Params.Model, h.ContextLimit)
	if live, running := Live(id); running {
		limit = cmp.Or(live.ContextLimit, limit)
	}
	return Context{prompt.PartsOf(id, state, limit), state.Messages(""), state, today, turnOf(log)}, nil
}

// turnOf sums what the calls of the newest turn have cost. It reads a log backwards, no further than that turn.
func turnOf(log *life.Log) (sum budget.USD) {
	turn := -1
	_ = log.Back(0, func(line life.Event, _ int64) bool { // what is damaged ends it
		reply, replied := event.As[event.Reply](line)
		if replied && turn < 0 {
			turn = reply.Turn
		}
		if replied && reply.Turn != turn {
			return false
		}
		sum += budget.Of(reply.USD)
		return true
	})
	return sum
}

// Hearers are the identities that hear a room when they run.
func (h Home) Hearers(room string) []home.Identity {
	all, _ := h.hearers()
	return all[room]
}
