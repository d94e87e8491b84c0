package page

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/events"
	"lethe/home"
	"lethe/internal/status"
	"lethe/report"
)

// now shows the talk in a room, and the turn under way.
var now = view{
	Name: "now", Title: "Now", data: nowOf,
	forms: map[string]form{"say": say, "answer": answer, "stop": stop, "hear": hear, "model": model},
}

type nowData struct {
	Room  string
	Rooms []report.Room // that the identity hears
	Lines []line
	Older int64 // lines that end at this byte are not shown; 0 for none
	End   int64 // where the next line will stand
	Foot
}

// Foot stands below the lines, and changes while one reads.
type Foot struct {
	Running   bool
	Heard     bool // the identity hears the room
	Status    status.Status
	Questions []report.Question
	Key       string // of the line that the form says: once, even where the form is sent again
}

// Busy says whether there is a turn to stop.
func (d Foot) Busy() bool {
	return d.Running && (d.Status.State == status.Thinking || d.Status.State == status.Acting)
}

type line struct {
	chat.Line
	Own    bool // signed by the identity
	NewDay bool // of a day on which the line before it is not
	Long   int  // bytes that are left out
	Did    []happening
	Asks   *chat.Question // what the line asks, if it does
}

const (
	linesShown = 60
	lineShown  = 32 << 10 // bytes of one line
	pageShown  = 64 << 10 // bytes of all lines, where there are several
	latelySeen = 200      // lines of LIFE
	didShown   = 20       // calls with one line
)

func nowOf(f *frame, r *http.Request) (any, error) {
	d := &nowData{Room: r.FormValue("room")}
	err := cmp.Or(d.choose(f), f.foot(&d.Foot))
	if err != nil {
		return nil, err
	}
	path := chat.Path(f.Dir, d.Room)
	at, err1 := place(r, "line")
	before, err2 := place(r, "before")
	after, err3 := place(r, "after")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	if at >= 0 {
		lines, err := chat.After(path, at, 1)
		d.show(f, lines, 2<<20)
		return d, err
	}
	var lines []chat.Line
	if d.End = max(0, after); after >= 0 {
		lines, err = chat.After(path, after, linesShown)
	} else {
		lines, err = chat.Before(path, before, linesShown)
		if lines = newest(lines); len(lines) > 0 {
			d.Older = lines[0].From
		}
	}
	if err != nil {
		return nil, err
	}
	d.show(f, lines, lineShown)
	lately, turn, err := f.lately() // behind the lines: what is said is recorded before it is posted
	if d.fold(lately); before < 0 && after < 0 {
		f.Live = turn
	}
	return d, err
}

// newest are the last of several lines, not many more than pageShown.
func newest(lines []chat.Line) []chat.Line {
	sum := 0
	for i, l := range slices.Backward(lines) {
		if sum += min(len(l.Text), lineShown); sum > pageShown && i < len(lines)-1 {
			return lines[i+1:]
		}
	}
	return lines
}

// choose finds the room, and those to choose from.
func (d *nowData) choose(f *frame) error {
	all, err := f.Rooms()
	if err != nil {
		return err
	}
	for _, room := range all {
		if !slices.Contains(room.Heard, f.ID.Name) {
			continue
		}
		d.Room = cmp.Or(d.Room, room.Name)
		d.Heard = d.Heard || room.Name == d.Room
		if room.Last != nil && room.Last.Agent {
			if q, ok := chat.ParseQuestion(room.Last.Text); ok {
				room.Last.Text = q.Text
			}
		}
		d.Rooms = append(d.Rooms, room)
	}
	if d.Room = cmp.Or(d.Room, "dev"); !chat.ValidRoom(d.Room) {
		return report.Invalid("%q is not the name of a room", d.Room)
	}
	return nil
}

// lately tells the newest events, and the one behind which the turn under way begins, or the last one.
func (f *frame) lately() (list []happening, turn string, err error) {
	var w lifeData
	got, err := f.window(0, latelySeen, &w)
	turn, before := w.After, strconv.FormatInt(w.Older, 10)
	for _, e := range got {
		switch e.Type {
		case events.TurnStart:
			turn = before
		case events.TurnEnd:
			turn = w.After
		}
		before = e.ID
	}
	return join(got), turn, err
}

// fold puts what the identity did before it said a line with the line.
func (d *nowData) fold(list []happening) {
	var did []happening
	for _, h := range list {
		switch {
		case h.Type == events.TurnStart:
			did = nil
		case h.Type == events.ToolRequest || h.Type == events.ThinkingDone:
			did = append(did, h)
		case h.Type == events.MessageDone && h.InRoom(d.Room):
			said := slices.IndexFunc(d.Lines, func(l line) bool { return l.says(h) })
			if said >= 0 {
				d.Lines[said].Did = did[max(0, len(did)-didShown):]
			}
			did = nil
		}
	}
}

// says reports whether a line is the message of an event, as far as both show it.
func (l line) says(h happening) bool {
	if !l.Own || l.At.Before(h.At.Truncate(time.Second)) {
		return false
	}
	return strings.TrimSpace(short(200, h.Text)) == strings.TrimSpace(short(200, l.Text))
}

// show takes lines over, of each at most so many bytes.
func (d *nowData) show(f *frame, lines []chat.Line, most int) {
	last := ""
	for _, l := range lines {
		s := line{Line: l, Own: l.By(f.ID.Name)}
		if day := l.At.In(f.Clock()).Format(time.DateOnly); !l.At.IsZero() {
			s.NewDay, last = day != last, day
		}
		if cut := short(most, l.Text); len(cut) < len(l.Text) {
			s.Text, s.Long = cut, len(l.Text)-len(cut)
		}
		if q, ok := chat.ParseQuestion(l.Text); ok && l.Agent {
			s.Asks = &q
		}
		d.Lines, d.End = append(d.Lines, s), l.To
	}
}

// foot reads the foot. What is recorded counts more than the status, which is written at its own pace, and may be older
// than an event that a client has heard of.
func (f *frame) foot(d *Foot) error {
	d.Status, d.Running = report.Live(f.ID)
	d.Key = fmt.Sprintf("%d-%s", time.Now().Unix(), rand.Text())
	s, err := home.Fold(f.ID, f.Store)
	if err != nil {
		return err
	}
	now, calls := &d.Status, s.Owed().Calls
	switch {
	case !d.Busy() && now.State != status.Idle:
	case len(calls) > 0:
		now.State, now.Tool = status.Acting, calls[0].Call.Tool
	case len(s.Approved) > 0 && s.Approved[0].Began:
		now.State, now.Tool = status.Acting, s.Approved[0].Tool
	case !s.Owes:
		now.State = status.Idle
	case now.Tool != "check": // of an answer, which is not recorded
		now.State = status.Thinking
	}
	d.Questions, err = f.Questions(f.ID)
	return err
}

// say says a line, with what is attached to it.
func say(f *frame, w http.ResponseWriter, r *http.Request) error {
	files, err := backend.Files(w, r)
	if err != nil {
		return err
	}
	defer r.MultipartForm.RemoveAll()
	key, room, parts := r.FormValue("key"), r.FormValue("room"), []string{}
	if text := r.FormValue("text"); strings.TrimSpace(text) != "" {
		parts = append(parts, text)
	}
	for _, h := range files {
		if h.Filename == "" && h.Size == 0 { // a browser's word for none
			continue
		}
		kept, err := f.Keep(h, f.User, keyTime(key))
		if err != nil {
			return err
		}
		parts = append(parts, kept.Line)
	}
	if len(parts) == 0 {
		return report.Invalid("there is nothing to say: the text is blank")
	}
	if _, err := f.Say(key, room, "", strings.Join(parts, "\n")); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

// keyTime is the moment that a form was made, by its key: so what is attached to it is the same blob
// where it is sent again.
func keyTime(key string) time.Time {
	sec, _, _ := strings.Cut(key, "-")
	at, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || at < 0 || at > 1<<35 {
		return time.Now()
	}
	return time.Unix(at, 0)
}

func answer(f *frame, w http.ResponseWriter, r *http.Request) error {
	open, err := f.Questions(f.ID)
	if err != nil {
		return err
	}
	said, err := f.Reply(open, r.FormValue("key"), r.FormValue("question"), "", r.FormValue("answer"))
	if err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(said.Room)+"#end")
}

// stop ends the turn under way, as /stop does in a room.
func stop(f *frame, w http.ResponseWriter, r *http.Request) error { return command(f, w, r, "/stop") }

func model(f *frame, w http.ResponseWriter, r *http.Request) error {
	return command(f, w, r, "/model "+strings.TrimSpace(r.FormValue("model")))
}

// command says a command in a room; the identity's answer is a line there.
func command(f *frame, w http.ResponseWriter, r *http.Request, text string) error {
	room := r.FormValue("room")
	if _, err := f.Say(r.FormValue("key"), room, "", text); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

// hear lets the identity hear a room, which is made where there is none of that name.
func hear(f *frame, w http.ResponseWriter, r *http.Request) error {
	room := strings.TrimSpace(r.FormValue("room"))
	if err := f.MakeRoom(room, f.ID); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room))
}
