package api

import (
	"cmp"
	"slices"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/chat"
)

func (s server) rooms(c call[none, none]) (l List[report.Room], err error) {
	l.Items, err = s.Rooms()
	l.Items = slices.DeleteFunc(l.Items, func(r report.Room) bool { return !s.opens(c.Request, r.Name) })
	if guard.Person(c.Request) != "" { // lives of others may hear it
		for i := range l.Items {
			l.Items[i].Heard, l.Items[i].Wakes = []string{}, nil
		}
	}
	return l, err
}

// NewRoom is a room to make.
type NewRoom struct {
	Name   string   `json:"name" jsonschema:"up to 64 of a-z, 0-9, - and _, a letter or digit first: the name of its file"`
	Agents []string `json:"agents,omitempty" jsonschema:"the identities that hear it"`
}

func (s server) makeRoom(asked call[none, NewRoom]) (NewRoom, error) {
	var hear []home.Identity
	for _, name := range asked.body.Agents {
		id, err := s.Find(name)
		if err != nil {
			return asked.body, err
		}
		hear = append(hear, id)
	}
	return asked.body, s.MakeRoom(asked.body.Name, hear...)
}

type ofLines struct {
	After  int64 `name:"after" default:"-1" min:"-1" about:"Lines from this byte on, as to of a line; by default the newest."`
	Before int64 `name:"before" default:"-1" min:"-1" about:"The lines up to this byte, as from of a line."`
	Limit  int   `name:"limit" default:"100" min:"1" max:"1000" about:"How many at most, of at most 1 MiB together."`
}

func (s server) lines(asked call[ofLines, none]) (list List[report.Said], err error) {
	params := asked.params
	if params.After >= 0 && params.Before >= 0 {
		return list, report.Invalid("after and before exclude each other")
	}
	room := asked.PathValue("room")
	if err := s.find(asked.Request, room); err != nil {
		return list, err
	}
	read, at := chat.Before, params.Before
	if params.After >= 0 {
		read, at = chat.After, params.After
	}
	lines, err := read(chat.Path(s.Dir, room), at, params.Limit)
	list.Items = []report.Said{}
	for _, line := range lines {
		list.Items = append(list.Items, report.SaidOf(line))
	}
	return list, err
}

// Line is something to say.
type Line struct {
	Text string `json:"text" jsonschema:"what to say; a newline in it stays in the line"`
	User string `json:"user,omitempty" jsonschema:"who says it; by default the user of the server"`
}

func (s server) say(c call[once, Line]) (said backend.Said, err error) {
	room, user, key := c.PathValue("room"), c.body.User, c.params.Key
	if person := guard.Person(c.Request); person != "" {
		if err := s.find(c.Request, room); err != nil {
			return said, err
		}
		if user = cmp.Or(user, person); user != person {
			return said, report.Invalid("the token is %s's, and says nothing for %q", person, user)
		}
		if key != "" { // which others may have, too
			key = person + "/" + key
		}
	}
	return s.Say(key, room, user, c.body.Text)
}
