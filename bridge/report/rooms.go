package report

import (
	"bytes"
	"os"
	"slices"
	"sort"
	"time"

	"lethe/agent/home"
	"lethe/chat"
)

// Room is a room of the home.
type Room struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"` // for people
	// Archived rooms are put away from lists, and heard as before.
	Archived bool     `json:"archived,omitempty"`
	Bytes    int64    `json:"bytes"` // of its file: where the next line will stand
	Heard    []string `json:"heard"` // names of the identities that hear it when they run
	// Wakes has the lines that wake each of these identities: lines, mentions or, in the room of another's child,
	// results.
	Wakes map[string]string `json:"wakes"`
	Lines int               `json:"lines,omitempty"` // where they were counted
	Last  *Said             `json:"last,omitempty"`
	At    time.Time         `json:"changed"`
}

// wakes names the lines of a room that wake an identity which hears it.
func (h Home) wakes(id home.Identity, room string) string {
	switch {
	case chat.ForWork(room) && !id.IsChild():
		return "results"
	case h.Mentions != nil && h.Mentions(id.Name):
		return "mentions"
	}
	if hired, _ := id.Hired(); hired != nil && hired.With.Wake != "" {
		return hired.With.Wake
	}
	return "lines"
}

// Said is a line of a room.
type Said struct {
	From  int64     `json:"from"` // the bytes of the room that it has
	To    int64     `json:"to"`
	Agent bool      `json:"agent"` // an identity says so, or somebody who signs as one
	Name  string    `json:"name"`
	At    time.Time `json:"at,omitzero"`
	Text  string    `json:"text"`
}

// SaidOf returns a line as clients see it.
func SaidOf(l chat.Line) Said {
	return Said{From: l.From, To: l.To, Agent: l.Agent, Name: l.Name, At: l.At, Text: l.Text}
}

// Rooms lists the rooms of the home, the last changed first.
func (h Home) Rooms() ([]Room, error) {
	hearers, err := h.hearers()
	if err != nil {
		return nil, err
	}
	list := []Room{}
	for _, name := range chat.All(h.Dir) {
		path := chat.Path(h.Dir, name)
		fi, err := os.Stat(path)
		if err != nil || !fi.Mode().IsRegular() { // no file of a room
			continue
		}
		about, _ := chat.ReadAbout(h.Dir, name) // where it cannot be read, the name says enough
		room := Room{Name: name, Title: about.Title, Archived: about.Archived}
		room.Bytes, room.Heard, room.At = fi.Size(), []string{}, fi.ModTime().UTC()
		room.Wakes = map[string]string{}
		for _, id := range hearers[name] {
			room.Heard = append(room.Heard, id.Name)
			room.Wakes[id.Name] = h.wakes(id, name)
		}
		last, err := chat.Before(path, -1, 1)
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			said := SaidOf(last[0])
			room.Last = &said
		}
		list = append(list, room)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].At.After(list[j].At) })
	return list, nil
}

// Line is a line, and the room that it stands in.
type Line struct {
	Said
	In Room
}

// Lines looks for lines of rooms that hold all words of a search, in any case, the newest first. A search for a tool,
// or for a kind other than chat, finds no line.
func (h Home) Lines(search Search) (list []Line, err error) {
	query, err := search.query(time.Now())
	if err != nil {
		return nil, err
	}
	forLines := search.Kind == "" || search.Kind == "chat"
	if !forLines || search.Tool != "" {
		return nil, nil
	}
	rooms, err := h.Rooms()
	if err != nil {
		return nil, err
	}
	words := bytes.Fields(bytes.ToLower([]byte(search.Text)))
	fits := func(raw []byte) bool {
		line := bytes.ToLower(raw[bytes.IndexByte(raw, ':')+1:]) // behind the role of the speaker
		return !slices.ContainsFunc(words, func(word []byte) bool { return !bytes.Contains(line, word) })
	}
	for _, room := range rooms {
		if search.Room != "" && search.Room != room.Name {
			continue
		}
		lines, err := chat.Find(chat.Path(h.Dir, room.Name), -1, search.Limit, fits)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			late := !query.Until.IsZero() && l.At.After(query.Until)
			if !late && !l.At.Before(query.Since) {
				list = append(list, Line{SaidOf(l), room})
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].At.After(list[j].At) })
	return list[:min(len(list), search.Limit)], nil
}

// hearers returns the identities that hear each room.
func (h Home) hearers() (map[string][]home.Identity, error) {
	all, err := h.List()
	hearers := map[string][]home.Identity{}
	for _, id := range all {
		rooms, _ := chat.Rooms(id.Subs())
		for _, room := range rooms {
			hearers[room] = append(hearers[room], id)
		}
	}
	return hearers, err
}
