package api

import (
	"cmp"
	"errors"
	"net/http"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/events"
	"lethe/report"
)

func (s server) life(_ *http.Request, id agent.Identity, p ofPage) (l List[events.Event], err error) {
	l.Items = []events.Event{}
	stream, err := s.open(id, p.After)
	if err != nil {
		return l, err
	}
	defer stream.Close()
	bytes := 0
	for e, err := range stream.All() {
		if err != nil {
			return l, err
		}
		l.Items, l.Next, bytes = append(l.Items, e), e.ID, bytes+len(e.Text)+len(e.Args)
		if len(l.Items) == p.Limit || bytes >= 1<<20 {
			return l, nil
		}
	}
	l.Next = ""
	return l, nil
}

type followed struct {
	of
	After string `name:"after" about:"The id to go on behind; 0 is the beginning. By default it is Last-Event-ID, or what happens from now on."`
	Last  string `name:"Last-Event-ID" in:"header" about:"What browsers send when they come back."`
}

func (s server) follow(w http.ResponseWriter, r *http.Request, p followed) error {
	id, err := s.Identity(r)
	if err != nil {
		return err
	}
	after := cmp.Or(p.Last, p.After)
	if after == "" {
		if after, err = events.End(id.LIFE()); err != nil {
			return id.Unread(err)
		}
	}
	stream, err := s.open(id, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if r.Method == http.MethodHead {
		return nil // it would wait for ever
	}
	sse, err := s.Stream(w, r)
	if err != nil {
		return err
	}
	defer sse.Close()
	if err := sse.From(after); err != nil {
		return nil // the client has left
	}
	err = stream.Follow(sse.Context(), s.Watcher, func(e events.Event) error { return sse.Send(e.ID, e.Type, e) })
	if err != nil && sse.Context().Err() == nil {
		s.Log.Error("a stream of events has ended", "identity", id.Name, "err", err)
	}
	return nil
}

// open begins the events of an identity behind one of them.
func (s server) open(id agent.Identity, after string) (*events.Stream, error) {
	stream, err := events.Open(s.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	switch {
	case errors.Is(err, events.ErrAfter):
		err = report.Invalid("after is %q; it is the id of an event, or 0", after)
	case errors.Is(err, events.ErrGone):
		err = backend.Refuse(http.StatusGone, "begin anew, without Last-Event-ID", "the log of %s does not have the place %s any more", id.Name, after)
	case err != nil:
		err = id.Unread(err)
	}
	return stream, err
}
