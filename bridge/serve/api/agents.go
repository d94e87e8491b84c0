package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/budget"
	"lethe/llm"
	"lethe/report"
)

type of struct {
	Self string `name:"self" in:"path" about:"The name of an identity, its hash, or the beginning of the hash."`
}

type ofPage struct {
	of
	page
}

func (s server) agents(_ *http.Request, p page) (l List[report.Agent], err error) {
	all, err := s.Agents()
	return part(p, all, err, func(a report.Agent) string { return a.Name })
}

func (s server) agent(_ *http.Request, id agent.Identity, _ of) (report.Agent, error) {
	return s.Agent(id), nil
}

// Context is the next request of an identity.
type Context struct {
	agent.Parts
	Messages []llm.Message `json:"messages"`
}

func (s server) context(_ *http.Request, id agent.Identity, _ of) (c Context, err error) {
	state, parts, err := s.Context(id)
	if err != nil {
		return c, err
	}
	return Context{parts, agent.Wire(state.Messages(""))}, nil
}

func (s server) questions(_ *http.Request, p page) (l List[report.Question], err error) {
	open, err := s.unanswered()
	return part(p, open, err, func(q report.Question) string { return q.Hash })
}

// unanswered are the questions of all identities that can be read.
func (s server) unanswered() ([]report.Question, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	open, err := s.Questions(all...)
	if err != nil {
		s.Log.Warn("questions of some identities cannot be read", "err", err)
	}
	return open, nil
}

func (s server) questionsOf(_ *http.Request, id agent.Identity, p ofPage) (l List[report.Question], err error) {
	open, err := s.Questions(id)
	return part(p.page, open, err, func(q report.Question) string { return q.Hash })
}

// Answer is one to a question.
type Answer struct {
	Text string `json:"text" jsonschema:"an option, its number, or, where there are no options, any text"`
	User string `json:"user,omitempty" jsonschema:"who answers; by default the user of the server"`
}

// once is the key of a request that may be repeated.
type once struct {
	Key string `name:"Idempotency-Key" in:"header" about:"Whatever you choose, up to 255 bytes: a request that repeats one with the same key says nothing again."`
}

type answered struct {
	once
	Question string `name:"question" in:"path" about:"The id of an open question, like q3fa9c1."`
}

func (s server) answer(_ *http.Request, p answered, a Answer) (said backend.Said, err error) {
	open, err := s.unanswered()
	if err != nil {
		return said, err
	}
	return s.Reply(open, p.Key, p.Question, a.User, a.Text)
}

func (s server) budget(_ *http.Request, id agent.Identity, _ of) (b report.Budget, err error) {
	all, err := s.Budgets()
	return all.Of(id.Self), err
}

type ofOnce struct {
	of
	once
}

// Command is where a command to an identity is said.
type Command struct {
	Room string `json:"room,omitempty" jsonschema:"a room that the identity hears; by default the one that it answers, or the first"`
	User string `json:"user,omitempty" jsonschema:"who says it; by default the user of the server"`
}

// Raise is by how much a limit is raised.
type Raise struct {
	USD  float64 `json:"usd" jsonschema:"dollars; more than 0"`
	Span string  `json:"span,omitempty" jsonschema:"which limit: today, month or life; by default today"`
	Command
}

func (s server) raise(_ *http.Request, id agent.Identity, p ofOnce, b Raise) (said backend.Said, err error) {
	by := "+" + strconv.FormatFloat(b.USD, 'f', -1, 64) + " " + cmp.Or(b.Span, "today")
	if _, _, err := budget.ParseRaise(by); err != nil {
		return said, report.Invalid("usd is %g and span is %q: %w", b.USD, b.Span, err)
	}
	return s.command(id, p, b.Command, "/budget "+by)
}

func (s server) stop(_ *http.Request, id agent.Identity, p ofOnce, c Command) (backend.Said, error) {
	return s.command(id, p, c, "/stop")
}

// command says a command where an identity hears it.
func (s server) command(id agent.Identity, p ofOnce, c Command, line string) (said backend.Said, err error) {
	if said, ok := s.SaidBefore(p.Key); ok && c.Room == "" { // it may answer another room by now
		c.Room = said.Room
	}
	a := s.Agent(id)
	if len(a.Rooms) == 0 {
		return said, backend.Refuse(http.StatusConflict, "make one with its name in agents: POST /api/rooms", "%s hears no room", id.Name)
	}
	if c.Room == "" {
		c.Room = a.Rooms[0]
		if live, running := report.Live(id); running && len(live.Answering) > 0 {
			c.Room = live.Answering[0]
		}
	}
	if !slices.Contains(a.Rooms, c.Room) {
		return said, report.Invalid("%s does not hear room %q", id.Name, c.Room)
	}
	return s.Say(p.Key, c.Room, c.User, line)
}

// Asked is what was asked of an identity, by a file in its directory.
type Asked struct {
	Asked string `json:"asked"`
	Runs  bool   `json:"runs"` // false: it does so when it runs
}

func (s server) triggers(_ *http.Request, id agent.Identity, p ofPage) (l List[report.Trigger], err error) {
	all, err := s.Triggers(id)
	return part(p.page, all, err, func(t report.Trigger) string { return t.Name })
}

type ofTrigger struct {
	of
	Trigger string `name:"trigger" in:"path" about:"The name of the trigger."`
}

func (s server) fire(_ *http.Request, id agent.Identity, p ofTrigger, _ none) (a Asked, err error) {
	all, err := s.Triggers(id)
	if err != nil {
		return a, err
	}
	_, running := agent.Running(id)
	return Asked{"fire " + p.Trigger, running}, report.Fire(id, p.Trigger, all)
}

func (s server) jobs(_ *http.Request, id agent.Identity, p ofPage) (l List[report.Job], err error) {
	return part(p.page, report.Jobs(id), nil, func(j report.Job) string { return strconv.Itoa(j.ID) })
}

type ofJob struct {
	of
	Job int `name:"job" in:"path" min:"1" about:"The number of the job."`
}

func (s server) stopJob(r *http.Request, id agent.Identity, p ofJob, _ none) (j report.Job, err error) {
	j, err = report.StopJob(r.Context(), id, p.Job)
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return j, backend.Refuse(http.StatusConflict, "", "%w", err)
	}
	return j, err
}

type search struct {
	of
	report.Search
}

func (s server) recall(r *http.Request, id agent.Identity, p search) (report.Found, error) {
	f, err := s.Recall(r.Context(), id, p.Search, s.Log)
	if errors.Is(err, report.ErrNoMatch) {
		err = nil
	}
	return f, err
}
