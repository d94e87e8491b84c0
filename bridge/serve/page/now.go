package page

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/report"
)

// now is what is said, and what is under way.
var now = view{name: "now", title: "Now", data: nowOf, forms: map[string]form{"say": say, "answer": answer, "stop": stop}}

type nowData struct {
	Room  string
	Rooms []report.Room // that the identity hears
	Lines []line
	Older int64 // lines that end at this byte are not shown; 0 for none
	End   int64 // where the next line will stand
	Foot
}

// Foot is what stands below the lines, and changes while one reads.
type Foot struct {
	Running   bool
	Status    status.Status
	Questions []report.Question
	Key       string // of the line that the form says: once, even where the form is sent again
}

// Busy says whether there is a turn to stop.
func (d Foot) Busy() bool {
	return d.Running && (d.Status.State == status.Thinking || d.Status.State == status.Acting)
}

// line is one of a room.
type line struct {
	chat.Line
	Own    bool // signed by the identity
	NewDay bool // of a day on which the line before it is not
	Long   int  // bytes that are left out
}

const (
	linesShown = 60
	lineShown  = 32 << 10 // bytes of one line
	pageShown  = 64 << 10 // bytes of all lines, where there are several
)

func nowOf(f *frame, r *http.Request) (any, error) {
	all, err := f.Rooms()
	if err != nil {
		return nil, err
	}
	d := &nowData{Room: r.FormValue("room")}
	for _, room := range all {
		if slices.Contains(room.Heard, f.ID.Name) {
			d.Rooms = append(d.Rooms, room)
		}
	}
	if d.Room == "" && len(d.Rooms) > 0 {
		d.Room = d.Rooms[0].Name
	}
	if d.Room = cmp.Or(d.Room, "dev"); !chat.ValidRoom(d.Room) {
		return nil, report.Invalid("%q is not the name of a room", d.Room)
	}
	if err := f.foot(&d.Foot); err != nil {
		return nil, err
	}
	path := chat.Path(f.Dir, d.Room)
	if at, err := strconv.ParseInt(r.FormValue("line"), 10, 64); err == nil {
		lines, err := chat.After(path, at, 1)
		d.show(f, lines, 2<<20)
		return d, err
	}
	before, after := int64(-1), int64(-1)
	for name, to := range map[string]*int64{"before": &before, "after": &after} {
		if v := r.FormValue(name); v != "" {
			if *to, err = strconv.ParseInt(v, 10, 64); err != nil {
				return nil, report.Invalid("%s has to be a byte of the room, not %.40q", name, v)
			}
		}
	}
	if after >= 0 {
		lines, err := chat.After(path, after, linesShown)
		d.End = after
		d.show(f, lines, lineShown)
		return d, err
	}
	lines, err := chat.Before(path, before, linesShown)
	if err != nil {
		return nil, err
	}
	sum := 0
	for i, l := range slices.Backward(lines) {
		if sum += min(len(l.Text), lineShown); sum > pageShown && i < len(lines)-1 {
			lines = lines[i+1:]
			break
		}
	}
	if len(lines) > 0 {
		d.Older = lines[0].From
	}
	d.show(f, lines, lineShown)
	return d, nil
}

// show takes lines over, of each at most so many bytes.
func (d *nowData) show(f *frame, lines []chat.Line, most int) {
	last := ""
	for _, l := range lines {
		s := line{Line: l, Own: l.Agent && l.Name == f.ID.Name}
		if day := l.At.In(f.zone()).Format(time.DateOnly); !l.At.IsZero() {
			s.NewDay, last = day != last, day
		}
		if cut := short(most, l.Text); len(cut) < len(l.Text) {
			s.Text, s.Long = cut, len(l.Text)-len(cut)
		}
		d.Lines, d.End = append(d.Lines, s), l.To
	}
}

func (f *frame) foot(d *Foot) (err error) {
	d.Status, d.Running = report.Live(f.ID)
	d.Key = newKey()
	d.Questions, err = f.Questions(f.ID)
	return err
}

const (
	maxFiles = 8
	maxFile  = 10 << 20
)

// say says a line, with what is attached to it.
func say(f *frame, w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxFiles*maxFile+maxForm)
	if err := r.ParseMultipartForm(maxForm); err != nil {
		return err
	}
	defer r.MultipartForm.RemoveAll()
	files := slices.DeleteFunc(r.MultipartForm.File["file"], func(h *multipart.FileHeader) bool { return h.Filename == "" && h.Size == 0 })
	if len(files) > maxFiles {
		return report.Invalid("%d files are attached; at most %d", len(files), maxFiles)
	}
	key, parts := r.FormValue("key"), []string{}
	if text := r.FormValue("text"); strings.TrimSpace(text) != "" {
		parts = append(parts, text)
	}
	for _, h := range files {
		said, err := f.store(h, keyTime(key))
		if err != nil {
			return err
		}
		parts = append(parts, said)
	}
	if len(parts) == 0 {
		return report.Invalid("there is nothing to say: the text is blank")
	}
	room := r.FormValue("room")
	if _, err := f.Say(key, room, "", strings.Join(parts, "\n")); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

// store stores what was attached, and returns what the line says of it.
func (f *frame) store(h *multipart.FileHeader, at time.Time) (string, error) {
	if h.Size > maxFile {
		return "", report.Invalid("%.100q has %d bytes; at most %d", h.Filename, h.Size, maxFile)
	}
	file, err := h.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	_, tag, err := bridge.File{Kind: "file", Name: h.Filename, Mime: h.Header.Get("Content-Type")}.Put(f.Store, at, f.User, data)
	return tag, err
}

// newKey names a form, with the moment that it was made, so that what is attached to it is
// the same blob where it is sent again.
func newKey() string { return fmt.Sprintf("%d-%s", time.Now().Unix(), rand.Text()) }

func keyTime(key string) time.Time {
	sec, _, _ := strings.Cut(key, "-")
	at, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || at < 0 || at > 1<<35 {
		return time.Now()
	}
	return time.Unix(at, 0)
}

// answer answers a question.
func answer(f *frame, w http.ResponseWriter, r *http.Request) error {
	open, err := f.Questions(f.ID)
	if err != nil {
		return err
	}
	room, text, err := f.Answer(open, r.FormValue("question"), f.User, r.FormValue("answer"))
	if err != nil {
		return err
	}
	if _, err := f.Say(r.FormValue("key"), room, "", text); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}

// stop ends the turn under way, as /stop does in a room.
func stop(f *frame, w http.ResponseWriter, r *http.Request) error {
	room := r.FormValue("room")
	if _, err := f.Say(r.FormValue("key"), room, "", "/stop"); err != nil {
		return err
	}
	return f.done(w, r, "?room="+url.QueryEscape(room)+"#end")
}
