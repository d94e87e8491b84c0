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
func (t *turn) hear(event events.Event) error {
	switch {
	case t.entry == "":
		heard := event.Type == events.UserMessage && event.Line == t.line
		if heard && event.InRoom(t.room) {
			t.entry, t.n = event.Entry, event.Turn
		}
		return nil
	case event.Type == events.Paused:
		t.notice = event.Entry
		return nil
	case !t.has(event):
		return nil
	}
	switch event.Type {
	case events.ThinkingDelta, events.ThinkingDone:
		t.think(event)
	case events.MessageDelta:
		t.say(event)
	case events.MessageDone:
		t.said(event)
	case events.Asked:
		if event.Room == t.room && event.Question != nil {
			t.say(events.Event{Entry: event.Entry, Text: event.Question.String()})
		}
	case events.ToolRequest:
		call := fmt.Sprintf("↳ %s %s", event.Tool, blobs.Gist(string(event.Args)))
		t.think(events.Event{Entry: event.Entry, Text: call})
	}
	return nil
}

// has reports whether an event is of the turn, and no notice of a pause. The answer to a command has no turn, but the
// entry of the command.
func (t *turn) has(event events.Event) bool {
	switch {
	case t.notice != "" && event.Entry == t.notice:
		return false
	case t.n > 0:
		return event.Turn == t.n
	}
	return event.Entry == t.entry
}

// said takes in a whole text. Text beside calls is said nowhere: it belongs to a stream, which has it already,
// and not to an answer.
func (t *turn) said(event events.Event) {
	begun := event.Status == "" || event.Entry == t.content.Entry
	aside := event.Room == "" && len(event.Rooms) == 0
	showsAsides := t.streams && !t.format.isJSON()
	switch {
	case event.InRoom(t.room):
		event.Text = t.format.only(t.whole(event))
		t.say(event)
	case !begun || !showsAsides:
	case aside:
		t.say(event)
	}
}

// whole returns all of the text of an event, which may hold only its beginning.
func (t *turn) whole(event events.Event) string {
	if event.Cut {
		b, _ := t.store.Find(event.Hash)
		reply, _ := mind.DecodeAnswer(b.Body)
		if text := strings.TrimSpace(blobs.Unescape(reply.Text)); strings.HasPrefix(text, event.Text) {
			return text
		}
	}
	return event.Text
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
	format        format
	responds      bool // in the form of POST /v1/responses
	w             http.ResponseWriter

	content, thinking flow

	mu    sync.Mutex
	begun bool // to stream
	// events counts the events of a stream of POST /v1/responses.
	events int
}

func newAnswer(w http.ResponseWriter, q request) *answer {
	return &answer{
		w: w, id: "chatcmpl-" + rand.Text(), model: q.Model, created: time.Now().Unix(),
		streams: q.Stream, ends: q.StreamOptions.IncludeUsage, format: q.Format,
	}
}

func (a *answer) say(e events.Event)   { a.tell("content", &a.content, e) }
func (a *answer) think(e events.Event) { a.tell("reasoning_content", &a.thinking, e) }

// tell tells the text of an event. Pieces of it are for a client that wants them.
func (a *answer) tell(kind string, f *flow, event events.Event) {
	delta := event.Type == events.ThinkingDelta || event.Type == events.MessageDelta
	inPieces := a.streams && !a.format.isJSON() // a fence around JSON is seen in the whole
	if delta && !inPieces {
		return
	}
	more := f.More(event, !delta)
	f.all.WriteString(more)
	switch {
	case !a.streams || more == "":
	case a.responds && f == &a.content:
		a.writeEvents(func() string {
			return a.ofItem("response.output_text.delta", object{"delta": more, "logprobs": []any{}})
		})
	case a.responds: // it has no thinking
		a.write("")
	default:
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
func (a *answer) finish(reply host.Reply, err error) error {
	finish := "stop"
	if slices.Contains([]string{"cut", "max_steps", "budget"}, reply.Ended) { // the identity gave up
		finish = "length"
	}
	usage := object{
		"prompt_tokens": reply.In, "completion_tokens": reply.Out, "total_tokens": reply.In + reply.Out,
		"prompt_tokens_details": object{"cached_tokens": reply.Cached},
	}
	switch {
	case err != nil && a.begun && a.responds:
		a.writeEvents(func() string { return a.event("error", object{"code": nil, "message": err.Error(), "param": nil}) })
	case err != nil && a.begun:
		_, body := asAPI(err)
		a.send(body)
	case err != nil:
		return err
	case a.responds:
		whole := a.finishResponse(reply, finish == "length")
		if !a.streams {
			backend.WriteJSON(a.w, http.StatusOK, whole)
		}
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

// write streams text. backend.SSE is not for this: it names a time to come back, which clients of this API do not
// expect. What a client that has left does not get is nobody's loss.
func (a *answer) write(text string) { a.writeEvents(func() string { return text }) }

// writeEvents is write of a text that is made behind the beginning of the stream.
func (a *answer) writeEvents(text func() string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := ""
	if !a.begun {
		a.begun = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		if a.responds {
			before = a.opening()
		} else {
			data, _ := json.Marshal(a.choice("delta", object{"role": "assistant", "content": ""}, nil))
			before = fmt.Sprintf("data: %s\n\n", data)
		}
	}
	if _, err := a.w.Write([]byte(before + text())); err == nil {
		_ = http.NewResponseController(a.w).Flush()
	}
}
