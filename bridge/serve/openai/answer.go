package openai

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent/events"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/mind"
)

// object is one of JSON.
type object = map[string]any

// turn tells a client of the turn that answers a line.
type turn struct {
	*answer
	room, line string // chat.Hash of the line
	store      *blobs.Store

	n      int    // the turn, once the line was heard; 0 for a command
	entry  string // as which the line was heard
	notice string // of a pause, which is an error here and no answer
}

// hear takes in an event.
func (t *turn) hear(e events.Event) error {
	switch {
	case t.entry == "":
		heard := e.Type == events.UserMessage && e.Line == t.line
		if heard && e.InRoom(t.room) {
			t.entry, t.n = e.Entry, e.Turn
		}
		return nil
	case e.Type == events.Paused:
		t.notice = e.Entry
		return nil
	case !t.has(e):
		return nil
	}
	switch e.Type {
	case events.ThinkingDelta, events.ThinkingDone:
		t.think(e)
	case events.MessageDelta:
		t.say(e)
	case events.MessageDone:
		t.said(e)
	case events.Asked:
		if e.Room == t.room && e.Question != nil {
			t.say(events.Event{Entry: e.Entry, Text: e.Question.String()})
		}
	case events.ToolRequest:
		t.think(events.Event{Entry: e.Entry, Text: fmt.Sprintf("↳ %s %s", e.Tool, blobs.Gist(string(e.Args)))})
	}
	return nil
}

// has reports whether an event is of the turn, and no notice of a pause. The answer to a command, which has no turn, has
// its entry.
func (t *turn) has(e events.Event) bool {
	switch {
	case t.notice != "" && e.Entry == t.notice:
		return false
	case t.n > 0:
		return e.Turn == t.n
	}
	return e.Entry == t.entry
}

// said takes in a whole text. Text beside calls is said nowhere: it belongs to a stream, which has it already,
// and not to an answer.
func (t *turn) said(e events.Event) {
	begun := e.Status == "" || e.Entry == t.content.Entry
	aside := e.Room == "" && len(e.Rooms) == 0
	switch {
	case e.InRoom(t.room):
		e.Text = t.whole(e)
		t.say(e)
	case !t.streams || !begun:
	case aside:
		t.say(e)
	}
}

// whole returns all of the text of an event, which may hold only its beginning.
func (t *turn) whole(e events.Event) string {
	if e.Cut {
		b, _ := t.store.Find(e.Hash)
		reply, _ := mind.DecodeAnswer(b.Body)
		if text := strings.TrimSpace(blobs.Unescape(reply.Text)); strings.HasPrefix(text, e.Text) {
			return text
		}
	}
	return e.Text
}

// flow is a text that grows as it is sent.
type flow struct {
	events.Growing
	all strings.Builder
}

// answer writes a completion, whole or as a stream.
type answer struct {
	id, model     string
	created       int64
	streams, ends bool // piece by piece; and with the usage at the end
	w             http.ResponseWriter

	content, thinking flow

	mu    sync.Mutex
	begun bool // to stream
}

func newAnswer(w http.ResponseWriter, q request) *answer {
	return &answer{
		w: w, id: "chatcmpl-" + rand.Text(), model: q.Model, created: time.Now().Unix(),
		streams: q.Stream, ends: q.StreamOptions.IncludeUsage,
	}
}

func (a *answer) say(e events.Event)   { a.tell("content", &a.content, e) }
func (a *answer) think(e events.Event) { a.tell("reasoning_content", &a.thinking, e) }

// tell tells the text of an event. Pieces of it are for a client that wants them.
func (a *answer) tell(kind string, f *flow, e events.Event) {
	delta := e.Type == events.ThinkingDelta || e.Type == events.MessageDelta
	if delta && !a.streams {
		return
	}
	more := f.More(e, !delta)
	if f.all.WriteString(more); a.streams && more != "" {
		a.send(a.choice("delta", object{kind: more}, nil))
	}
}

// beat shows a client that waits that there is somebody, without an empty line, which some clients
// take for an event. What goes wrong at once, before it, still has a status.
func (a *answer) beat() {
	if a.streams {
		a.write(":\n")
	}
}

// choice is the answer, or a piece of it, as a client reads it.
func (a *answer) choice(member string, value, finish any) object {
	kind := "chat.completion"
	if a.streams {
		kind += ".chunk"
	}
	choice := object{
		"id": a.id, "object": kind, "created": a.created, "model": a.model,
		"choices": []any{object{"index": 0, member: value, "finish_reason": finish}},
	}
	if a.streams && a.ends { // all but the last chunk say that it is still to come
		choice["usage"] = nil
	}
	return choice
}

// finish ends an answer, with an error where there is one. It returns the error where nothing has been sent.
func (a *answer) finish(r host.Reply, err error) error {
	finish := "stop"
	if slices.Contains([]string{"cut", "max_steps", "budget"}, r.Ended) { // the identity gave up
		finish = "length"
	}
	usage := object{
		"prompt_tokens": r.In, "completion_tokens": r.Out, "total_tokens": r.In + r.Out,
		"prompt_tokens_details": object{"cached_tokens": r.Cached},
	}
	switch {
	case err != nil && a.begun:
		_, body := asAPI(err)
		a.send(body)
	case err != nil:
		return err
	case a.streams:
		a.send(a.choice("delta", object{}, finish))
		if a.ends {
			last := a.choice("", nil, nil)
			last["choices"], last["usage"] = []any{}, usage
			a.send(last)
		}
		a.write("data: [DONE]\n\n")
	default:
		message := object{"role": "assistant", "content": a.content.all.String()}
		if thinking := a.thinking.all.String(); thinking != "" {
			message["reasoning_content"] = thinking
		}
		whole := a.choice("message", message, finish)
		whole["usage"] = usage
		backend.WriteJSON(a.w, http.StatusOK, whole)
	}
	return nil
}

func (a *answer) send(v any) {
	data, _ := json.Marshal(v) // maps of strings and numbers
	a.write(fmt.Sprintf("data: %s\n\n", data))
}

// write streams text. backend.SSE is not for this: it names events and says when to come back, which
// clients of this API do not expect. What a client that has left does not get is nobody's loss.
func (a *answer) write(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.begun = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		data, _ := json.Marshal(a.choice("delta", object{"role": "assistant", "content": ""}, nil))
		text = fmt.Sprintf("data: %s\n\n%s", data, text)
	}
	if _, err := a.w.Write([]byte(text)); err == nil {
		_ = http.NewResponseController(a.w).Flush()
	}
}
