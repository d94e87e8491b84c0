package page

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"lethe/agent/events"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/life"
)

// Talk is a part of the talk in a room, with the acts of the identity meanwhile.
type Talk struct {
	Lines []line
	Rest  []happening // in its mind, since the newest line
	Older int64       // lines that end at this byte are not shown; 0: there are no older lines
	Later int64       // lines that begin at this byte are not shown; 0: there are no later lines
	End   int64       // where the next line will stand
	live  bool        // it goes to the end of the room
}

type line struct {
	chat.Line
	Own    bool // signed by the identity
	NewDay bool // of a day on which the line before it is not
	Long   int  // bytes that are left out
	Files  []attached
	Did    []happening
	Mind   []happening    // what faded or came up before it
	Asks   *chat.Question // what the line asks, if it does
	To     *chat.Question // what it answers, if that is known
}

const (
	linesShown = 60
	lineShown  = 32 << 10 // bytes of one line
	pageShown  = 64 << 10 // bytes of all lines, where there are several
	latelySeen = 200      // lines of LIFE
	didShown   = 20       // calls with one line
	mostSought = 5        // questions of earlier lines that are looked for: an id that is made up has all of a room read
)

// read reads the part of the room that a request asks for: around a line, before or from a byte on, or else the newest.
func (t *Talk) read(path string, r *http.Request) (lines []chat.Line, err error) {
	at := map[string]int64{}
	alone := r.FormValue("part") != "" // it goes where some lines are shown
	for _, name := range []string{"line", "before", "from", "after"} {
		if at[name], err = backend.Place(r, name); err != nil {
			return nil, err
		}
	}
	switch {
	case at["after"] >= 0: // what a script lacks
		t.End = at["after"]
		return chat.After(path, t.End, linesShown)
	case at["line"] >= 0:
		lines, err = chat.Before(path, at["line"], linesShown/3)
		lines = newest(lines)
		if err == nil {
			var rest []chat.Line
			rest, err = chat.After(path, at["line"], linesShown-len(lines))
			lines = append(lines, first(rest)...)
		}
	case at["from"] >= 0:
		lines, err = chat.After(path, at["from"], linesShown)
		lines = first(lines)
	default:
		lines, err = chat.Before(path, at["before"], linesShown)
		lines = newest(lines)
	}
	if err != nil || len(lines) == 0 {
		t.live = true
		return nil, err
	}
	t.Older, t.Later = lines[0].From, lines[len(lines)-1].To
	behind, err := chat.After(path, t.Later, 1)
	t.live = len(behind) == 0
	there := alone && at["from"] < 0 // the later lines stand on the page already
	if t.live || there {
		t.Later = 0
	}
	if alone && at["before"] < 0 {
		t.Older = 0
	}
	return lines, err
}

// newest are the last of several lines, not many more than pageShown.
func newest(lines []chat.Line) []chat.Line {
	slices.Reverse(lines)
	lines = first(lines)
	slices.Reverse(lines)
	return lines
}

// first are the first of several lines, not many more than pageShown.
func first(lines []chat.Line) []chat.Line {
	sum := 0
	for i, l := range lines {
		if sum += min(len(l.Text), lineShown); sum > pageShown && i > 0 {
			return lines[:i]
		}
	}
	return lines
}

// add takes lines over, of each at most so many bytes.
func (t *Talk) add(page *frame, path string, lines []chat.Line, most int) {
	last, asked, sought := "", map[string]*chat.Question{}, 0
	for _, heard := range lines {
		shown := line{Line: heard, Own: heard.By(page.ID.Name)}
		if day := heard.At.In(page.Clock()).Format(time.DateOnly); !heard.At.IsZero() {
			shown.NewDay, last = day != last, day
		}
		if cut := short(most, heard.Text); len(cut) < len(heard.Text) {
			shown.Text, shown.Long = cut, len(heard.Text)-len(cut)
		}
		if q, ok := chat.ParseQuestion(heard.Text); ok && heard.Agent {
			shown.Asks, asked[q.ID] = &q, &q
		}
		if id, words := chat.Cited(shown.Text); id != "" && !heard.Agent {
			if _, known := asked[id]; !known && sought < mostSought {
				asked[id] = page.asked(path, heard.From, id)
				sought++
			}
			shown.To, shown.Text = asked[id], words
			if shown.To != nil {
				choice, _, _ := shown.To.Answer(words)
				shown.Text = answerOf(choice, words)
			}
		}
		shown.Text, shown.Files = page.files(shown.Text)
		t.Lines, t.End = append(t.Lines, shown), heard.To
	}
}

// asked finds the question of an id before a byte of a room, or nil. People mostly answer what stands just above.
func (f *frame) asked(path string, before int64, id string) *chat.Question {
	lines, _ := chat.Find(path, before, 1, func(raw []byte) bool { return bytes.Contains(raw, []byte("] ? "+id+":")) })
	if len(lines) > 0 && lines[0].Agent {
		if q, ok := chat.ParseQuestion(lines[0].Text); ok {
			return &q
		}
	}
	return nil
}

// tell puts what the identity did, and what faded or came up, with the lines that were said then. unsaid is the event
// before a message that does not stand in the room yet, or "".
func (t *Talk) tell(room string, list []happening) (unsaid string) {
	var did, recalled []happening
	here, before := true, "0"
	for _, happened := range list {
		at := -1
		switch happened.Type {
		case events.TurnStart:
			did, here = nil, false
		case events.UserMessage, events.Answered:
			if !happened.InRoom(room) {
				break
			}
			here = true
			at = slices.IndexFunc(t.Lines, func(l line) bool { return l.Hash == happened.Line && !l.Own })
			t.attach(at, nil, recalled)
			recalled = nil
		case events.ToolRequest, events.ThinkingDone:
			did = append(did, happened)
		case events.Forgot, events.Reminded, events.Opened:
			if here || happened.Turn == 0 {
				recalled = append(recalled, happened)
			}
		case events.MessageDone:
			if !happened.InRoom(room) {
				break
			}
			at, unsaid = slices.IndexFunc(t.Lines, func(l line) bool { return l.says(happened) }), ""
			if at < 0 {
				unsaid = before
			}
			t.attach(at, did, recalled)
			did, recalled = nil, nil
		}
		before = happened.ID
	}
	if t.live {
		t.Rest = recalled
	}
	return unsaid
}

func (t *Talk) attach(at int, did, recalled []happening) {
	if at >= 0 {
		t.Lines[at].Did = did[max(0, len(did)-didShown):]
		t.Lines[at].Mind = recalled
	}
}

// says reports whether a line is the message of an event, as their beginnings tell.
func (l line) says(h happening) bool {
	if !l.Own || l.At.Before(h.At.Truncate(time.Second)) {
		return false
	}
	return strings.TrimSpace(short(200, h.Text)) == strings.TrimSpace(short(200, l.Text))
}

// seek finds where in LIFE a moment is.
func (f *frame) seek(moment time.Time) (int64, error) {
	log, err := life.View(f.ID.LIFE())
	if err != nil {
		return 0, f.ID.Unread(err)
	}
	defer log.Close()
	return log.Seek(moment)
}

// lately tells the newest events before a moment, and the one behind which the turn under way begins, or the last one.
func (f *frame) lately(before time.Time) (list []happening, turn string, err error) {
	to := int64(-1)
	if !before.IsZero() {
		if to, err = f.seek(before); err != nil || to == 0 {
			return nil, "", err
		}
	}
	seen, err := f.window(to, latelySeen)
	if err != nil {
		return nil, "", err
	}
	got, err := f.happened(seen)
	end := idAt(seen.end)
	turn, last := end, idAt(seen.Older)
	for _, event := range got {
		switch event.Type {
		case events.TurnStart:
			turn = last
		case events.TurnEnd:
			turn = end
		}
		last = event.ID
	}
	return join(got), turn, err
}
