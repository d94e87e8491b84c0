package openai

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/events"
	"lethe/mind"
)

// errDone says that the answer is whole.
var errDone = errors.New("done")

// turn is what is heard of the turn that answers a line.
type turn struct {
	id         agent.Identity
	room, line string // chat.Hash of the line
	store      *blobs.Store
	answer     *answer

	entry string // as which it was heard; "" before that
	n     int    // the turn
	told  int    // lines of the answer, which are posted in the room
}

// hear takes in an event. errDone says that it was the last.
func (t *turn) hear(e events.Event) error {
	switch {
	case e.Type == events.Stopped:
		if end, err := events.End(t.id.LIFE()); err != nil || end == e.ID { // and has not gone on since
			return stopped(t.id)
		}
	case t.entry == "" && e.Type == events.UserMessage && e.Room == t.room && e.Line == t.line:
		if t.entry, t.n = e.Entry, e.Turn; t.n == 0 && !t.command() {
			return errDone // it was heard, and asks for no answer
		}
	case t.entry != "":
		return t.follows(e)
	}
	return nil
}

// command says that the line was one for the harness.
func (t *turn) command() bool { return strings.HasPrefix(t.entry, "k") }

// follows takes in what happens behind the line.
func (t *turn) follows(e events.Event) error {
	a := t.answer
	switch e.Type {
	case events.ThinkingDelta, events.ThinkingDone:
		a.think(e)
	case events.MessageDelta:
		a.say(e)
	case events.MessageDone:
		t.said(e)
		if t.command() && e.Entry == t.entry {
			return errDone
		}
	case events.Asked:
		if e.Room == t.room && e.Question != nil {
			t.told++
			a.say(events.Event{Entry: e.Entry, Text: e.Question.String()})
		}
	case events.ToolRequest:
		a.think(events.Event{Entry: e.Entry, Text: fmt.Sprintf("↳ %s %s", e.Tool, blobs.Gist(string(e.Args)))})
	case events.Usage:
		a.in, a.cached, a.out = a.in+e.In, a.cached+e.Cached, a.out+e.Out
	case events.Paused:
		if s, err := agent.Fold(t.id, t.store); err != nil || s.Paused != "" { // and has not gone on since
			return paused(t.id, e)
		}
	case events.TurnEnd:
		if e.Turn >= t.n && !t.command() {
			a.cut = slices.Contains([]string{"cut", "max_steps", "budget"}, e.Why)
			return errDone
		}
	}
	return nil
}

// said takes in a whole text. What stands beside calls is said nowhere: it belongs to a stream, which
// has it already, and not to an answer.
func (t *turn) said(e events.Event) {
	a := t.answer
	switch {
	case e.InRoom(t.room):
		t.told++
		e.Text = t.whole(e)
		a.say(e)
	case e.Room == "" && len(e.Rooms) == 0 && a.streams && (e.Status == "" || e.Entry == a.content.Entry):
		a.say(e)
	}
}

// whole is the text of an event that may hold only its beginning.
func (t *turn) whole(e events.Event) string {
	if h, err := blobs.ParseHash(e.Hash); e.Cut && err == nil {
		b, _ := t.store.Get(h)
		reply, _ := mind.DecodeAnswer(b.Body)
		if text := strings.TrimSpace(blobs.Unescape(reply.Text)); strings.HasPrefix(text, e.Text) {
			return text
		}
	}
	return e.Text
}

// flow is a text as far as it was told.
type flow struct {
	events.Growing
	all strings.Builder
}

// answer is what a client is told.
type answer struct {
	id, model     string
	created       int64
	streams, ends bool // piece by piece; and with the usage at the end
	w             http.ResponseWriter

	content, thinking flow
	in, cached, out   int64
	cut               bool // the identity gave up

	mu    sync.Mutex
	begun bool // to stream
}

func newAnswer(w http.ResponseWriter, q request) *answer {
	return &answer{id: "chatcmpl-" + rand.Text(), model: q.Model, created: time.Now().Unix(), streams: q.Stream, ends: q.StreamOptions.IncludeUsage, w: w}
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
		a.send(a.choice("delta", map[string]any{kind: more}, nil))
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
func (a *answer) choice(member string, value, finish any) map[string]any {
	object := "chat.completion"
	if a.streams {
		object += ".chunk"
	}
	choice := map[string]any{
		"id": a.id, "object": object, "created": a.created, "model": a.model,
		"choices": []any{map[string]any{"index": 0, member: value, "finish_reason": finish}},
	}
	if a.streams && a.ends { // all but the last chunk say that it is still to come
		choice["usage"] = nil
	}
	return choice
}

// finish ends an answer, with an error where there is one: it is returned where nothing has been sent.
func (a *answer) finish(err error) error {
	finish := "stop"
	if a.cut {
		finish = "length"
	}
	usage := map[string]any{
		"prompt_tokens": a.in, "completion_tokens": a.out, "total_tokens": a.in + a.out,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.cached},
	}
	switch {
	case err != nil && a.begun:
		_, body := asAPI(err)
		a.send(body)
	case err != nil:
		return err
	case a.streams:
		a.send(a.choice("delta", map[string]any{}, finish))
		if a.ends {
			last := a.choice("", nil, nil)
			last["choices"], last["usage"] = []any{}, usage
			a.send(last)
		}
		a.write("data: [DONE]\n\n")
	default:
		message := map[string]any{"role": "assistant", "content": a.content.all.String()}
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
		data, _ := json.Marshal(a.choice("delta", map[string]any{"role": "assistant", "content": ""}, nil))
		text = fmt.Sprintf("data: %s\n\n%s", data, text)
	}
	if _, err := a.w.Write([]byte(text)); err == nil {
		_ = http.NewResponseController(a.w).Flush()
	}
}
