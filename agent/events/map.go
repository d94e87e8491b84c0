package events

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Bounds of a text in an event, in bytes.
const (
	maxText   = 64 << 10
	maxResult = 4 << 10
)

// mapping makes the events of one line.
type mapping struct {
	*Stream
	line   life.Event
	bodies []mind.Body
	turn   int // that the line belongs to
	out    []Event
}

// open reports whether a turn is under way.
func open(s *mind.State) bool { return s.Owes || len(s.Owed().Calls) > 0 }

// events folds a line into the state, and returns its events.
func (s *Stream) events(line life.Event) []Event {
	m := &mapping{Stream: s, line: line, bodies: s.bodies(line)}
	e, err := event.Parse(line)
	if err != nil {
		m.add(Event{Type: Error, Why: "unknown", Text: line.Kind + ": " + err.Error()}) // of a newer program
		return m.out
	}
	before := *s.state
	was, call := open(&before), s.call(e)
	if epoch, ok := e.(event.Epoch); ok {
		tokens := requestTokens(s.state, len(s.fades) > 0)
		if len(m.bodies) == 1 {
			s.restore(m.bodies[0].Data)
		}
		m.forgot(epoch, tokens)
	}
	_ = s.state.Apply(line, m.bodies...) // where a blob is missing it may make no sense, until the next epoch
	is := open(s.state)
	if was || is {
		m.turn = before.Turn + 1
	}
	if !was && is {
		m.add(Event{Type: TurnStart})
	}
	m.tell(e, call, &before)
	if ended := !is || s.state.Turn > before.Turn; was && ended {
		m.end(e)
	}
	return m.out
}

func (m *mapping) add(e Event) *Event {
	e.At, e.Agent, e.Turn = m.line.At, m.log.Name, m.turn
	m.out = append(m.out, e)
	return &m.out[len(m.out)-1]
}

// text gives an event a text, and the hash of all of it.
func (e *Event) text(text string, most int, hash string) {
	e.Text, e.Hash = strings.ToValidUTF8(text, "\uFFFD"), hash
	if len(e.Text) > most {
		cut := most
		for !utf8.RuneStart(e.Text[cut]) {
			cut--
		}
		e.Text, e.Cut = e.Text[:cut], true
	}
}

// hash is the address of the line's i-th blob.
func (m *mapping) hash(i int) string {
	switch {
	case i >= len(m.bodies):
		return ""
	case m.bodies[i].Hash.IsZero():
		return m.line.Refs[i].Hash
	}
	return m.bodies[i].Hash.String()
}

func (m *mapping) body(i int) []byte {
	if i >= len(m.bodies) {
		return nil
	}
	return m.bodies[i].Data
}

// call is the call that a line is about, as it stands before the line, with its arguments as the model wrote them.
func (s *Stream) call(e event.Event) (c mind.Call) {
	id := ""
	switch e := e.(type) {
	case event.Call:
		id = e.ID
	case event.Result:
		id = e.ID
	}
	n, k, err := mind.ParseID(id)
	if unit := s.state.Unit(); err == nil && unit != nil && unit.N == n && 0 < k && k <= len(unit.Calls) {
		c = *unit.Calls[k-1]
	}
	c.Args = blobs.Unescape(c.Args)
	return c
}

// tell says what a line says. before is the state before it. Lines about the log and what it grants or owes are no news
// to clients; a note tells of what was erased, and forgot of an epoch.
func (m *mapping) tell(e event.Event, call mind.Call, before *mind.State) {
	m.tellCourse(e)
	m.tellWords(e, before)
	m.tellDeed(e, call, before)
	m.tellCost(e)
}

// tellCourse tells that an identity begins, goes on and ends, and the rooms that it hears.
func (m *mapping) tellCourse(e event.Event) {
	switch e := e.(type) {
	case event.Boot:
		m.add(Event{Type: Booted, By: e.Parent, Room: e.Task}).text(e.Name, maxText, m.hash(0))
	case event.Joined:
		m.add(Event{Type: Joined, Entry: mind.EntryID(e.N), Room: e.Room})
	case event.Left:
		m.add(Event{Type: Left, Room: e.Room})
	case event.Resumed:
		m.add(Event{Type: Resumed, Why: e.Why, Text: e.Version})
	case event.Stopped:
		m.add(Event{Type: Stopped, Why: e.Why})
	case event.Moved:
		m.add(Event{Type: Stopped, Why: "moved"})
	case event.Received:
		m.add(Event{Type: Resumed, Why: "received"})
	}
}

// tellWords tells the words of people, the identity and the harness.
func (m *mapping) tellWords(e event.Event, before *mind.State) {
	switch e := e.(type) {
	case event.Inbound:
		m.heard(e, before)
	case event.Command:
		l := chat.Parse([]byte(e.Line))
		if e.Line == "" {
			l.Name, l.Text = e.By, e.Name
		}
		l.Hash = cmp.Or(e.Last, l.Hash)
		m.message(l, Event{Entry: e.ID, Room: e.Room, Heard: Heard{To: e.At.To}})
		m.said(e.ID)
	case event.Reply:
		m.reply(e)
	case event.Note:
		m.note(e, before)
	case event.Hint:
		hint := m.add(Event{Type: Reminded, Entry: mind.EntryID(e.N), Why: e.Why, Hash: m.hash(0)})
		for _, l := range mind.ReadCard(m.body(0)) {
			hint.Refs = append(hint.Refs, l.Ref)
		}
	case event.Asked:
		m.asked(e)
	case event.Fired:
		fired := m.add(Event{Type: Fired, Entry: e.ID, By: e.By, Hash: m.hash(0)})
		fired.in(e.Posts...)
		fired.text(e.Say, maxText, fired.Hash)
	case event.Model:
		m.said(e.ID)
	}
}

// tellDeed tells of calls.
func (m *mapping) tellDeed(e event.Event, call mind.Call, before *mind.State) {
	switch e := e.(type) {
	case event.Call:
		postsNothing := e.Child == "" && len(e.Posts) == 0 // else its texts are files
		if replaced := m.body(0); postsNothing && replaced != nil {
			call.Args = string(replaced)
			m.replaced[e.ID] = call.Args
		}
		m.request(e.ID, e.Tool, call.Args)
		m.said(e.ID)
	case event.Run:
		m.request(e.ID, e.Tool, m.approved(e.ID, before))
		m.said(e.ID)
	case event.Result:
		if !call.Started {
			m.request(e.ID, e.Tool, call.Args)
		}
		end := Event{Entry: e.ID, Outcome: Outcome{Status: e.Status}, Call: Call{Tool: e.Tool, Job: e.Job}}
		m.result(end, cmp.Or(m.replaced[e.ID], call.Args), e.File)
		delete(m.replaced, e.ID)
		if e.Opened != "" {
			m.opened(e)
		}
	}
}

// tellCost tells costs and losses, and reasons that keep an identity waiting.
func (m *mapping) tellCost(e event.Event) {
	switch e := e.(type) {
	case event.Error:
		failed := Event{Type: Error, Entry: e.ID, Why: e.What, Outcome: Outcome{Status: e.Failure}}
		m.add(failed).text(e.Text, maxText, "")
		m.said(e.ID)
	case event.Paused:
		if !e.Ended {
			m.add(Event{Type: Paused, Entry: e.ID, Outcome: Outcome{Until: e.Until}}).text(e.Why, maxText, "")
		}
		m.said(e.ID)
	case event.Spent:
		m.usage(e.Tokens, Event{Why: e.On, Bill: Bill{Calls: e.Calls}})
	case event.Fade:
		m.fade(e)
	case event.Shelved:
		last := len(m.bodies) - 1
		m.add(Event{Type: Noted, Why: "adopted"}).text(m.line.Refs[last].Gist, maxText, m.hash(last))
	}
}

// heard tells each line of an entry.
func (m *mapping) heard(e event.Inbound, before *mind.State) {
	var own []mind.Span
	for _, span := range e.Own {
		own = event.AddSpan(own, span)
	}
	for line := range mind.Others(m.body(0), own) {
		line.Hash = e.Written(line.Hash)
		m.message(line, Event{Entry: mind.EntryID(e.N), Room: e.Room, Heard: Heard{To: e.At.To}, Hash: m.hash(0)})
		i := slices.IndexFunc(before.Questions, func(q mind.Question) bool { return q.ID == e.Answers })
		if i >= 0 {
			question := before.Questions[i]
			m.add(Event{Type: Answered, Entry: question.Call, Room: e.Room, By: line.Name,
				Inquiry: Inquiry{Question: &question.Question, Choice: e.Choice}})
		}
	}
}

// message is a line of a room.
func (m *mapping) message(l chat.Line, e Event) {
	e.Type, e.By, e.Line, e.Role = UserMessage, l.Name, l.Hash, "user"
	if l.Agent {
		e.Role = "agent"
	}
	m.add(e).text(l.Text, maxText, e.Hash)
}

// said tells the line that the harness or a tool says, as it is to be posted.
func (m *mapping) said(id string) {
	said := Event{Type: MessageDone, Entry: id, By: m.log.Name}
	for _, p := range m.state.Outbox {
		if p.ID == id {
			said.in(event.Place{Room: p.Room})
			said.text(chat.Parse([]byte(p.Line)).Text, maxText, "")
		}
	}
	if said.Where() != "" {
		m.add(said)
	}
}

func (m *mapping) reply(e event.Reply) {
	a, _ := mind.DecodeAnswer(m.body(0)) // nothing, if it cannot be read
	entry := Event{Entry: mind.EntryID(e.N), By: m.log.Name}
	if thought := strings.TrimSpace(blobs.Unescape(a.Reasoning)); thought != "" {
		entry.Type = ThinkingDone
		m.add(entry).text(thought, maxText, m.hash(0))
	}
	text := strings.TrimSpace(blobs.Unescape(a.Text) + "\n\n" + e.Caveat)
	if text != "" && text != mind.Nothing {
		entry.Type, entry.Final = MessageDone, len(a.Calls) == 0 && !e.Refused
		if e.Refused {
			entry.Status = "refused"
		}
		entry.in(e.Posts...)
		m.add(entry).text(text, maxText, m.hash(0))
	}
	m.usage(e.Tokens, Event{Entry: mind.EntryID(e.N), Bill: Bill{Model: e.Model, Calls: 1}})
}

func (m *mapping) usage(t event.Tokens, e Event) {
	e.Type, e.In, e.Cached, e.Out, e.USD = Usage, t.In, t.Cached, t.Out, t.USD
	m.add(e)
}

// request tells a call.
func (m *mapping) request(id, tool, args string) {
	e := m.add(Event{Type: ToolRequest, Entry: id, Call: Call{Tool: tool}})
	if len(args) > maxText {
		e.text(args, maxResult, "")
	} else if json.Valid([]byte(args)) {
		e.Args = json.RawMessage(args)
	}
}

// approved are the arguments of a call that people have approved.
func (m *mapping) approved(id string, before *mind.State) string {
	for _, q := range before.Approved {
		if b, err := m.store.Get(q.Ref.Hash); q.ID == id && err == nil {
			k, _ := mind.DecodeAsk(b.Body) // nothing, if it cannot be read
			return k.Args
		}
	}
	return ""
}

// result tells the end of a call, and the file that it has written.
func (m *mapping) result(e Event, args string, file event.File) {
	e.Type = ToolResult
	m.add(e).text(string(m.body(0)), maxResult, m.hash(0))
	changed := Event{Type: FileChanged, Entry: e.Entry, By: m.log.Name}
	switch {
	case e.Status == mind.OK && (e.Tool == "WRITE_FILE" || e.Tool == "EDIT_FILE"):
		var a struct{ Path string }
		_ = json.Unmarshal([]byte(args), &a) // it is an object, or the call had failed
		changed.Path = strings.ToValidUTF8(a.Path, "\uFFFD")
	case file.Name != "":
		changed.Path = path.Join("self", file.Name)
	}
	if changed.Path != "" {
		m.add(changed)
	}
}

func (m *mapping) opened(e event.Result) {
	b, _ := m.store.Find(e.Opened) // its gist, if it is there
	m.add(Event{Type: Opened, Entry: e.ID, Hash: e.Opened, Text: b.Gist})
}

// note tells a note of the harness to the agent, or the end of an approved call.
func (m *mapping) note(e event.Note, before *mind.State) {
	entry := mind.EntryID(e.N)
	switch e.Why {
	case "run":
		end := Event{Entry: e.Run, Outcome: Outcome{Status: e.Status}, Call: Call{Job: e.Job}}
		for _, q := range before.Approved {
			if q.ID == e.Run {
				end.Tool = q.Tool
			}
		}
		m.result(end, m.approved(e.Run, before), e.File)
		return
	case "file":
		if path.Ext(e.File.Name) != "" { // else it is of others: the catalogue, rules
			m.add(Event{Type: FileChanged, Entry: entry, Call: Call{Path: path.Join("self", e.File.Name)}})
		}
	case "stop", "cut", "max_steps":
		if e.Why == "stop" { // the command before it has ended the turn
			m.turn = m.state.Turn
		}
		a, _ := mind.DecodeAnswer(m.body(1)) // nothing, if it cannot be read
		if text := strings.TrimSpace(blobs.Unescape(a.Text)); text != "" {
			said := Event{Type: MessageDone, Entry: entry, By: m.log.Name, Outcome: Outcome{Status: "cut"}}
			if e.Why == "stop" {
				said.Status = "stopped"
			}
			m.add(said).text(text, maxText, m.hash(1))
		}
	}
	m.add(Event{Type: Noted, Entry: entry, Why: e.Why}).text(string(m.body(0)), maxText, m.hash(0))
}

func (m *mapping) asked(e event.Asked) {
	asked := m.add(Event{Type: Asked, Entry: e.Call, Hash: m.hash(0)})
	asked.in(e.Posts[:min(1, len(e.Posts))]...)
	for _, q := range m.state.Questions {
		if q.Notice == e.ID {
			asked.Question, asked.Tool, asked.Text = &q.Question, q.Tool, q.Question.Text
		}
	}
}

// end tells the end of a turn, and why if it is not a final reply.
func (m *mapping) end(e event.Event) {
	end := Event{Type: TurnEnd}
	switch e := e.(type) {
	case event.Command:
		end.Why = "stop"
	case event.Paused:
		end.Why = e.Why
	case event.Result:
		end.Why = "asked"
	}
	m.add(end)
}

// fade notes what has faded, which takes effect with the epoch.
func (m *mapping) fade(e event.Fade) {
	f := Fade{First: e.Entries.From, Last: e.Entries.To, Level: e.To, Relevance: e.Relevance}
	f.Was = cmp.Or(m.state.FadedAt(f.First).Level, "live")
	refs := m.line.Refs
	if e.To != mind.Card && len(refs) > 0 {
		f.Original, refs = &refs[0], refs[1:]
	}
	if len(refs) > 0 {
		f.Replacement = &refs[0]
	}
	m.fades = append(m.fades, f)
}

// forgot tells the ranges that have faded with an epoch. before is the size of the request until then.
func (m *mapping) forgot(e event.Epoch, before int64) {
	if len(m.fades) == 0 {
		return
	}
	if open(m.state) {
		m.turn = m.state.Turn + 1
	}
	memory := Memory{Before: before, After: requestTokens(m.state, true), Faded: m.fades}
	out := m.add(Event{Type: Forgot, Why: e.Why, Memory: memory})
	all := event.Entries{From: m.fades[0].First}
	for _, f := range m.fades {
		if f.Level == mind.Summary {
			out.Summaries++
		}
		all.From, all.To = min(all.From, f.First), max(all.To, f.Last)
	}
	out.Entries = all.String()
	m.fades = nil
}

// requestTokens estimates the next request of a state, as the identity does; without the
// room that is kept for the answer.
func requestTokens(s *mind.State, wanted bool) int64 {
	if !wanted {
		return 0
	}
	r := llm.Request{Tools: json.RawMessage(s.Stable.Tools), Messages: s.Messages("")}
	return int64(llm.Estimator{}.Observe(int(s.Usage.LastWeight), int(s.Usage.LastInput)).Tokens(r.Weight()))
}
