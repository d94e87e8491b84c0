package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/chat"
)

// Room is a room of the home.
type Room struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"` // of its file: where the next line will stand
	Heard []string  `json:"heard"` // names of the identities that hear it when they run
	Last  *Said     `json:"last,omitempty"`
	At    time.Time `json:"changed"`
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

// SaidOf is a line as clients are told of it.
func SaidOf(l chat.Line) Said {
	return Said{From: l.From, To: l.To, Agent: l.Agent, Name: l.Name, At: l.At, Text: l.Text}
}

// lastBytes is how much of a room is read for its last line.
const lastBytes = 64 << 10

// Rooms lists the rooms of the home, that which changed last first.
func (h Home) Rooms() ([]Room, error) {
	files, err := os.ReadDir(h.Chats())
	if err != nil {
		return nil, err
	}
	hearers := map[string][]string{}
	all, err := h.List()
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		rooms, _ := chat.Rooms(id.Subs())
		for _, room := range rooms {
			hearers[room] = append(hearers[room], id.Name)
		}
	}
	list := []Room{}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), chat.FileName(""))
		fi, err := f.Info()
		if !ok || !chat.ValidRoom(name) || err != nil || !fi.Mode().IsRegular() {
			continue
		}
		room := Room{Name: name, Bytes: fi.Size(), Heard: hearers[name], At: fi.ModTime().UTC()}
		if room.Heard == nil {
			room.Heard = []string{}
		}
		lines, err := h.Lines(name, max(room.Bytes-lastBytes, 0), lastBytes)
		if err != nil {
			return nil, err
		}
		if n := len(lines); n > 0 {
			room.Last = &lines[n-1]
		}
		list = append(list, room)
	}
	slices.SortStableFunc(list, func(a, b Room) int { return b.At.Compare(a.At) })
	return list, nil
}

// Lines reads the whole lines of a room that begin at a byte or behind it, as far as they
// end within most bytes from there; of a line longer than that, none. Blank lines are left out.
func (h Home) Lines(room string, from, most int64) ([]Said, error) {
	list := []Said{}
	f, err := os.Open(filepath.Join(h.Chats(), chat.FileName(room)))
	if os.IsNotExist(err) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	begin := max(from-1, 0) // the byte before tells whether a line begins at from
	data := make([]byte, most+from-begin)
	n, err := f.ReadAt(data, begin)
	if n == 0 && err != nil {
		return list, nil // behind the end
	}
	text, at := string(data[:n]), begin
	if from > 0 {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return list, nil
		}
		text, at = text[i+1:], at+int64(i)+1
	}
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return list, nil
		}
		l := chat.Parse([]byte(text[:i]))
		l.From, l.To = at, at+int64(i)+1
		text, at = text[i+1:], l.To
		if !l.Blank() {
			list = append(list, SaidOf(l))
		}
	}
}
