package api

import (
	"fmt"
	"slices"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
)

func (s server) rooms(call[none, none]) (l List[report.Room], err error) {
	l.Items, err = s.Rooms()
	return l, err
}

// NewRoom is a room to make.
type NewRoom struct {
	Name   string   `json:"name" jsonschema:"up to 64 of a-z, 0-9, - and _, a letter or digit first: the name of its file"`
	Agents []string `json:"agents,omitempty" jsonschema:"the identities that hear it"`
}

func (s server) makeRoom(c call[none, NewRoom]) (NewRoom, error) {
	var hear []home.Identity
	for _, name := range c.body.Agents {
		id, err := s.Find(name)
		if err != nil {
			return c.body, err
		}
		hear = append(hear, id)
	}
	return c.body, s.MakeRoom(c.body.Name, hear...)
}

type ofLines struct {
	After  int64 `name:"after" default:"-1" min:"-1" about:"Lines from this byte on, as to of a line; by default the newest."`
	Before int64 `name:"before" default:"-1" min:"-1" about:"The lines up to this byte, as from of a line."`
	Limit  int   `name:"limit" default:"100" min:"1" max:"1000" about:"How many at most, of at most 1 MiB together."`
}

func (s server) lines(c call[ofLines, none]) (l List[report.Said], err error) {
	p := c.params
	if p.After >= 0 && p.Before >= 0 {
		return l, report.Invalid("after and before exclude each other")
	}
	room := c.PathValue("room")
	if !slices.Contains(chat.All(s.Dir), room) {
		return l, fmt.Errorf("find room %q: %w", room, home.ErrNotFound)
	}
	read, at := chat.Before, p.Before
	if p.After >= 0 {
		read, at = chat.After, p.After
	}
	lines, err := read(chat.Path(s.Dir, room), at, p.Limit)
	l.Items = []report.Said{}
	for _, line := range lines {
		l.Items = append(l.Items, report.SaidOf(line))
	}
	return l, err
}

// Line is something to say.
type Line struct {
	Text string `json:"text" jsonschema:"what to say; a newline in it stays in the line"`
	User string `json:"user,omitempty" jsonschema:"who says it; by default the user of the server"`
}

func (s server) say(c call[once, Line]) (backend.Said, error) {
	return s.Say(c.params.Key, c.PathValue("room"), c.body.User, c.body.Text)
}
