package page

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/mind"
)

// now shows the talk in a room, and the turn under way.
var now = view{
	Name: "now", Title: "Now", data: nowOf,
	forms: map[string]form{
		"say": say, "answer": answer, "stop": stop, "hear": hear, "model": model, "about": about,
	},
}

type nowData struct {
	Room  string
	This  report.Room   // zero before the room is made
	Rooms []report.Room // that the identity hears
	Away  []report.Room // of these, which people have put away
	Talk
	Foot
	Mind    *glance
	Offline bool // the identity thinks with the offline model
}

// glance is the mind in a line.
type glance struct {
	report.Context
	Groups []*group
	Model  string
}

// Foot stands below the lines, and changes while one reads.
type Foot struct {
	Running   bool
	Heard     bool // the identity hears the room
	Status    status.Status
	Questions []report.Question
	Key       string // of the line that the form says: once, even where the form is sent again
}

// Busy reports whether there is a turn to stop.
func (d Foot) Busy() bool {
	works := d.Status.State == status.Thinking || d.Status.State == status.Acting
	return d.Running && works
}

func nowOf(page *frame, r *http.Request) (content, error) {
	data := &nowData{Room: r.FormValue("room")}
	if err := data.choose(page); err != nil {
		return nil, err
	}
	part := r.FormValue("part") // which alone is shown
	if part == "rooms" {
		return data, nil
	}
	if part != "lines" && part != "rest" {
		if err := data.mind(page); err != nil || part != "" {
			return data, err
		}
	}
	path := chat.Path(page.Dir, data.Room)
	lines, err := data.read(path, r)
	if err != nil {
		return nil, err
	}
	if r.FormValue("whole") != "" && len(lines) > 0 {
		data.add(page, path, lines[:1], 2<<20)
		return data, nil
	}
	data.add(page, path, lines, lineShown)
	until := time.Time{}
	if n := len(lines); !data.live && n > 0 {
		until = lines[n-1].At.Add(2 * time.Second) // lines have whole seconds, and an answer is recorded before
	}
	lately, turn, err := page.lately(until) // behind the lines: what is said is recorded before it is posted
	if unsaid := data.tell(data.Room, lately); data.live && part == "" {
		page.Live = cmp.Or(unsaid, turn)
	}
	return data, err
}

// choose finds the room, and those to choose from.
func (d *nowData) choose(page *frame) error {
	all, err := page.Rooms()
	if err != nil {
		return err
	}
	for _, room := range all {
		switch heard := slices.Contains(room.Heard, page.ID.Name); {
		case !heard:
		case room.Archived:
			d.Away = append(d.Away, room)
		default:
			d.Rooms = append(d.Rooms, room)
		}
	}
	for _, room := range slices.Concat(d.Rooms, d.Away) {
		d.Room = cmp.Or(d.Room, room.Name)
	}
	if d.Room = cmp.Or(d.Room, "dev"); !chat.ValidRoom(d.Room) {
		return report.Invalid("%q is not the name of a room", d.Room)
	}
	if i := slices.IndexFunc(all, func(room report.Room) bool { return room.Name == d.Room }); i >= 0 {
		d.This = all[i]
	}
	d.Heard = slices.Contains(d.This.Heard, page.ID.Name)
	return nil
}

// mind reads how the identity is, and what is in its mind.
func (d *nowData) mind(page *frame) error {
	context, err := page.Context(page.ID)
	if err != nil {
		return err
	}
	d.foot(page.ID, context.State)
	params := context.State.Stable.Params
	d.Mind = &glance{context, groups(context.State, context.Parts), params.Model}
	if d.Offline = params.Endpoint == "offline"; d.Offline {
		d.Mind.Model = "offline model"
	}
	return nil
}

// foot reads the foot. What is recorded counts more than the status, which is written at its own pace, and may be older
// than an event that a client has heard of.
func (d *Foot) foot(id home.Identity, state *mind.State) {
	d.Status, d.Running = report.Live(id)
	d.Key = fmt.Sprintf("%d-%s", time.Now().Unix(), rand.Text())
	d.Questions = report.QuestionsOf(id, state)
	now, calls := &d.Status, state.Owed().Calls
	switch {
	case !d.Busy() && now.State != status.Idle:
	case len(calls) > 0:
		now.State, now.Tool = status.Acting, calls[0].Call.Tool
	case len(state.Approved) > 0 && state.Approved[0].Began:
		now.State, now.Tool = status.Acting, state.Approved[0].Tool
	case !state.Owes:
		now.State = status.Idle
	case now.Tool != "check": // of an answer, which is not recorded
		now.State = status.Thinking
	}
}

// say says a line, with what is attached to it.
func say(page *frame, w http.ResponseWriter, r *http.Request) error {
	files, err := backend.Files(w, r)
	if err != nil {
		return err
	}
	defer r.MultipartForm.RemoveAll()
	key, room, parts := r.FormValue("key"), r.FormValue("room"), []string{}
	text := strings.TrimLeft(r.FormValue("text"), "\r\n") // a line below an empty one may be a command
	if strings.TrimSpace(text) != "" {
		parts = append(parts, text)
	}
	for _, h := range files {
		if h.Filename == "" && h.Size == 0 { // as a browser sends it without a file
			continue
		}
		kept, err := page.Keep(h, page.User, backend.KeyTime(key))
		if err != nil {
			return err
		}
		parts = append(parts, kept.Line)
	}
	if len(parts) == 0 {
		return report.Invalid("there is nothing to say: the text is blank")
	}
	if _, err := page.Say(key, room, "", strings.Join(parts, "\n")); err != nil {
		return err
	}
	return page.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

func answer(page *frame, w http.ResponseWriter, r *http.Request) error {
	open, err := page.Questions(page.ID)
	if err != nil {
		return err
	}
	said, err := page.Reply(open, r.FormValue("key"), r.FormValue("question"), "", r.FormValue("answer"))
	if err != nil {
		return err
	}
	return page.done(w, r, "?room="+url.QueryEscape(said.Room)+"#end")
}

// stop ends the turn under way, as /stop does in a room.
func stop(f *frame, w http.ResponseWriter, r *http.Request) error { return command(f, w, r, "/stop") }

func model(f *frame, w http.ResponseWriter, r *http.Request) error {
	return command(f, w, r, "/model "+strings.TrimSpace(r.FormValue("model")))
}

// command says a command in a room; the identity's answer is a line there.
func command(page *frame, w http.ResponseWriter, r *http.Request, text string) error {
	room := r.FormValue("room")
	if _, err := page.Say(r.FormValue("key"), room, "", text); err != nil {
		return err
	}
	return page.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

// hear lets the identity hear a room, which is made unless it is there.
func hear(page *frame, w http.ResponseWriter, r *http.Request) error {
	room := strings.TrimSpace(r.FormValue("room"))
	if err := page.MakeRoom(room, page.ID); err != nil {
		return err
	}
	return page.done(w, r, "?room="+url.QueryEscape(room))
}

// about changes what people say about a room.
func about(page *frame, w http.ResponseWriter, r *http.Request) error {
	room := r.FormValue("room")
	if !slices.Contains(chat.All(page.Dir), room) {
		return fmt.Errorf("find room %.80q: %w", room, home.ErrNotFound)
	}
	if err := chat.Describe(page.Dir, room, r.FormValue("title"), r.FormValue("archived") != ""); err != nil {
		return err
	}
	return page.done(w, r, "?room="+url.QueryEscape(room)+"#rooms")
}
