package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

func (s server) agents(c call[none, none]) (l List[report.Agent], err error) {
	l.Items, err = s.Agents()
	l.Items = slices.DeleteFunc(l.Items, func(a report.Agent) bool { return !s.tells(c.Request, a.Self) })
	return l, err
}

func (s server) agent(c call[none, none]) (report.Agent, error) {
	return s.Agent(c.id), nil
}

func (s server) context(c call[none, none]) (report.Context, error) { return s.Context(c.id) }

type ofLife struct {
	After string `name:"after" about:"Where to go on: next of the part before, or the id of an event."`
	Limit int    `name:"limit" about:"How many at most." default:"100" min:"1" max:"1000"`
}

func (s server) life(asked call[ofLife, none]) (list List[events.Event], err error) {
	list.Items = []events.Event{}
	stream, err := s.Events(asked.id, asked.params.After)
	if err != nil {
		return list, err
	}
	defer stream.Close()
	bytes := 0
	for event, err := range stream.All() {
		if err != nil {
			return list, err
		}
		list.Items, list.Next = append(list.Items, event), event.ID
		bytes += len(event.Text) + len(event.Args)
		if len(list.Items) == asked.params.Limit || bytes >= 1<<20 {
			return list, nil
		}
	}
	list.Next = ""
	return list, nil
}

type followed struct {
	After string `name:"after" about:"The id to go on behind; 0 is the beginning. By default Last-Event-ID, or now."`
	Last  string `name:"Last-Event-ID" in:"header" about:"What browsers send when they come back."`
}

func (s server) follow(w http.ResponseWriter, asked call[followed, none]) (err error) {
	after := cmp.Or(asked.params.Last, asked.params.After)
	if after == "" {
		if after, err = events.End(asked.id.LIFE()); err != nil {
			return asked.id.Unread(err)
		}
	}
	stream, err := s.Events(asked.id, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if asked.Method == http.MethodHead {
		return nil // it would wait for ever
	}
	sse, err := s.Stream(w, asked.Request)
	if err != nil {
		return err
	}
	defer sse.Close()
	if err := sse.From(after); err != nil {
		return nil // the client has left
	}
	err = stream.Follow(sse.Context(), s.Watcher, func(e events.Event) error { return sse.Send(e.ID, e.Type, e) })
	if err != nil && sse.Context().Err() == nil {
		s.Log.Error("a stream of events has ended", "identity", asked.id.Name, "err", err)
	}
	return nil
}

func (s server) questions(call[none, none]) (list List[report.Question], err error) {
	all, err := s.List()
	if err != nil {
		return list, err
	}
	list.Items, err = s.Questions(all...)
	if err != nil {
		s.Log.Warn("questions of some identities cannot be read", "err", err)
	}
	return list, nil
}

// Answer is one to a question.
type Answer struct {
	Text string `json:"text" jsonschema:"an option, its number, or, where there are no options, any text"`
	User string `json:"user,omitempty" jsonschema:"who answers; by default the user of the server"`
}

func (s server) answer(asked call[once, Answer]) (said backend.Said, err error) {
	open, err := s.questions(call[none, none]{})
	if err != nil {
		return said, err
	}
	return s.Reply(open.Items, asked.params.Key, asked.PathValue("question"), asked.body.User, asked.body.Text)
}

func (s server) budget(c call[none, none]) (report.Budget, error) {
	all, err := s.Budgets()
	return all.Of(c.id.Self), err
}

func (s server) budgets(call[none, none]) (report.Budgets, error) { return s.Budgets() }

// Asked names a wish that was left for an identity, as a file in its directory.
type Asked struct {
	Asked string `json:"asked"`
	Runs  bool   `json:"runs"` // false: it does so when it runs
}

func (s server) triggers(c call[none, none]) (l List[report.Trigger], err error) {
	l.Items, err = s.Triggers(c.id)
	return l, err
}

func (s server) fire(asked call[none, none]) (a Asked, err error) {
	all, err := s.Triggers(asked.id)
	if err != nil {
		return a, err
	}
	name := asked.PathValue("trigger")
	_, running := home.Running(asked.id)
	return Asked{"fire " + name, running}, report.Fire(asked.id, name, all)
}

func (s server) jobs(c call[none, none]) (List[report.Job], error) {
	return List[report.Job]{Items: report.Jobs(c.id)}, nil
}

func (s server) stopJob(asked call[none, none]) (job report.Job, err error) {
	n, err := strconv.Atoi(asked.PathValue("job"))
	if err != nil {
		return job, report.Invalid("job is %q; it is a number", asked.PathValue("job"))
	}
	job, err = report.StopJob(asked.Context(), asked.id, n)
	if err != nil && !errors.Is(err, home.ErrNotFound) {
		return job, backend.Refuse(http.StatusConflict, "", "%w", err)
	}
	return job, err
}

func (s server) recall(c call[report.Search, none]) (report.Found, error) {
	f, err := s.Recall(c.Context(), c.id, c.params, s.Log)
	if errors.Is(err, report.ErrNoMatch) {
		err = nil
	}
	return f, err
}
