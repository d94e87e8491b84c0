package api

import (
	"net/http"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/report"
)

type allRooms struct {
	page
	Archived bool `name:"archived" about:"With true, those that are archived, too."`
}

func (s server) rooms(_ *http.Request, p allRooms) (l List[backend.Room], err error) {
	all, err := s.NotedRooms(p.Archived)
	return part(p.page, all, err, func(r backend.Room) string { return r.Name })
}

// NewRoom is a room to make.
type NewRoom struct {
	Name   string   `json:"name" jsonschema:"up to 64 of a-z, 0-9, - and _, a letter or digit first: the name of its file"`
	Title  string   `json:"title,omitempty" jsonschema:"what people call it"`
	Agents []string `json:"agents,omitempty" jsonschema:"the identities that hear it"`
}

func (s server) makeRoom(_ *http.Request, _ none, n NewRoom) (room backend.Room, err error) {
	var hear []agent.Identity
	for _, name := range n.Agents {
		id, err := s.Find(name)
		if err != nil {
			return room, err
		}
		hear = append(hear, id)
	}
	room, made, err := s.MakeRoom(n.Name, n.Title, hear)
	if err == nil && !made && len(hear) == 0 {
		err = backend.Refuse(http.StatusConflict, "say something in it, or change it with PATCH", "room %s is there already", n.Name)
	}
	return room, err
}

type inRoom struct {
	Room string `name:"room" in:"path" about:"The name of a room."`
}

func (s server) noteRoom(_ *http.Request, p inRoom, n backend.Note) (backend.Room, error) {
	return s.NoteRoom(p.Room, n)
}

type ofLines struct {
	inRoom
	After  int64 `name:"after" default:"-1" min:"-1" about:"The lines that begin at this byte or behind it: to of a line goes on behind it. By default the newest lines are listed."`
	Before int64 `name:"before" default:"-1" min:"-1" about:"The lines that end at this byte or before it: from of a line goes on before it."`
	Limit  int   `name:"limit" default:"100" min:"1" max:"1000" about:"How many at most; and at most 1 MiB of the file, or one line."`
}

func (s server) lines(_ *http.Request, p ofLines) (l List[report.Said], err error) {
	if p.After >= 0 && p.Before >= 0 {
		return l, report.Invalid("after and before exclude each other")
	}
	if _, err := s.Room(p.Room); err != nil {
		return l, err
	}
	read, at := chat.Before, p.Before
	if p.After >= 0 {
		read, at = chat.After, p.After
	}
	lines, err := read(chat.Path(s.Dir, p.Room), at, p.Limit)
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

type saying struct {
	inRoom
	once
}

func (s server) say(_ *http.Request, p saying, l Line) (backend.Said, error) {
	return s.Say(p.Key, p.Room, l.User, l.Text)
}
