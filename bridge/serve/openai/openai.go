// Package openai lets clients of OpenAI's API talk to identities: a model is an identity, a
// conversation is a room, and the answer is what the identity says there.
//
//	openai.Routes(mux, backend)
//
// Of what a client resends of a conversation, what follows the last answer is said, once, however
// often the request comes. docs/openai.md has it in the words of users.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/events"
	"lethe/life"
)

// Routes mounts the API below /v1.
func Routes(mux *http.ServeMux, b *backend.Backend) {
	h := &handler{Backend: b, taken: map[string]bool{}}
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/models": h.models, "GET /v1/models/{model...}": h.model, "POST /v1/chat/completions": h.complete,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(w, r); err != nil {
				status, body := asAPI(err)
				backend.WriteJSON(w, status, body)
			}
		})
	}
}

type handler struct {
	*backend.Backend
	mu    sync.Mutex
	taken map[string]bool // keys of requests whose answer a client has taken, as far as is remembered
}

// modelOf is an identity as /v1/models lists it.
func modelOf(name string, id agent.Identity) map[string]any {
	born, _ := life.First(id.LIFE()) // of a damaged one nobody knows
	return map[string]any{"id": name, "object": "model", "created": max(born.At.Unix(), 0), "owned_by": "lethe"}
}

// models lists the identities, those without that work for another one.
func (h *handler) models(w http.ResponseWriter, _ *http.Request) error {
	all, err := h.List()
	if err != nil {
		return err
	}
	list := []any{}
	for _, id := range slices.DeleteFunc(all, agent.Identity.IsChild) {
		list = append(list, modelOf(id.Name, id))
	}
	backend.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

func (h *handler) model(w http.ResponseWriter, r *http.Request) error {
	who, room, _ := strings.Cut(r.PathValue("model"), "/")
	id, err := h.find(who, cmp.Or(room, defaultRoom))
	if err == nil {
		backend.WriteJSON(w, http.StatusOK, modelOf(r.PathValue("model"), id))
	}
	return err
}

func (h *handler) find(who, room string) (agent.Identity, error) {
	id, err := h.Find(who)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return id, fault(http.StatusNotFound, "model_not_found", "no identity is named %.100q; GET /v1/models lists them", who)
	case err == nil && !chat.ValidRoom(room):
		return id, fault(http.StatusNotFound, "model_not_found", "%.100q is not the name of a room: a model is NAME or NAME/ROOM", room)
	}
	return id, err
}

// complete answers a completion: what is new of the conversation is said, and what the identity
// says then is the answer. What goes wrong before there is a stream is returned.
func (h *handler) complete(w http.ResponseWriter, r *http.Request) error {
	q, messages, err := read(r)
	if err != nil {
		return err
	}
	who, room := place(r, q)
	id, err := h.find(who, room)
	if err != nil {
		return err
	}
	for name, sent := range map[string]bool{
		"tools": len(q.Tools)+len(q.Functions) > 0, "response_format": q.Format.Type != "" && q.Format.Type != "text",
	} {
		if sent { // what an identity does not do, and can answer without
			w.Header().Add("Lethe-Ignored", name)
		}
	}
	a, t := newAnswer(w, q), talkOf(messages)
	if prompt, ok := taskOf(r, t); ok {
		text, err := doTask(prompt)
		a.say(events.Event{Text: text})
		return a.finish(err)
	}
	if _, running := agent.Running(id); !running {
		return stopped(id)
	}
	if err := h.join(r.Context(), id, room); err != nil {
		return err
	}
	after, err := events.End(id.LIFE()) // before anything is said
	if err != nil {
		return err
	}
	said, key, err := h.say(r, id, room, q, t)
	switch {
	case err != nil:
	case said.Hash == "":
		err = fault(http.StatusConflict, "", "this was said long ago; send it under another key")
	case said.Repeated:
		after, err = sayingAt(id.LIFE(), said)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Lethe-Room", room)
	answers := &turn{id: id, room: room, line: said.Hash, store: h.Store, answer: a}
	err = h.follow(r.Context(), id, after, answers.hear, a.beat)
	if r.Context().Err() != nil {
		return nil // the client has left; the turn goes on
	}
	if err == nil {
		h.posted(r.Context(), answers, said.To)
	}
	if ended := a.finish(err); ended != nil || err != nil || r.Context().Err() != nil {
		return ended
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) >= 1000 { // so many are remembered; then all begins anew
		clear(h.taken)
	}
	h.taken[key] = true
	return nil
}

// patience is how long an identity may take for what takes it a moment, when the machine is busy.
const patience = 10 * time.Second

// join has an identity hear a room, from the next line on: what stands there before counts as history, and
// history holds no commands.
func (h *handler) join(ctx context.Context, id agent.Identity, room string) error {
	after, err := events.End(id.LIFE())
	if err == nil {
		err = h.Subscribe(id, room)
	}
	if err != nil {
		return err
	}
	if s, err := agent.Fold(id, h.Store); err == nil && s.Rooms[room] != nil && s.Rooms[room].Joined {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = h.follow(ctx, id, after, func(e events.Event) error {
		if e.Type == events.Joined && e.Room == room {
			return errDone
		}
		return nil
	}, func() {})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// posted waits until what the identity has said stands in the room, before the line of the next request. A room that cannot be written is not waited for.
func (h *handler) posted(ctx context.Context, t *turn, from int64) {
	changed, stop := h.Watcher.Subscribe(chat.Scope{Dir: h.Chats(), Names: []string{chat.FileName(t.room)}})
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		lines, _ := chat.After(chat.Path(h.Dir, t.room), from, pastLines)
		lines = slices.DeleteFunc(lines, func(l chat.Line) bool { return !l.Agent || l.Name != t.id.Name })
		if len(lines) >= t.told {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// key names what a request says. The same request is a retry for an hour, until its answer was taken; after
// that the client asks anew. A client that names its requests decides that itself.
func (h *handler) key(r *http.Request, id agent.Identity, room, user string, q request) string {
	var same bytes.Buffer
	_ = json.Compact(&same, q.Messages) // it was read
	base := blobs.Sum(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", id.Self, room, user, &same)).String()[:32]
	if once := cmp.Or(header(r, "Idempotency-Key"), header(r, "X-OpenWebUI-Message-Id")); once != "" {
		return "openai " + blobs.Sum([]byte(base + once)).String()[:32]
	}
	retry := !slices.Contains([]string{"", "0"}, header(r, "X-Stainless-Retry-Count"))
	for n, last := 0, ""; ; n++ {
		key := fmt.Sprintf("openai %s %d", base, n)
		if _, known := h.Bridge.Taken("key:" + key); known {
			last = key
			continue
		}
		said, _ := h.SaidBefore(last)
		h.mu.Lock()
		defer h.mu.Unlock()
		if last != "" && (retry || !h.taken[last] && time.Since(said.At) < time.Hour) {
			return last
		}
		return key
	}
}

// maxText bounds the text of a line, which a room could not take whole.
const maxText = 1 << 20

// say says what is new of a conversation, in one line, so that it opens one turn.
func (h *handler) say(r *http.Request, id agent.Identity, room string, q request, t talk) (said backend.Said, key string, err error) {
	user := cmp.Or(signer(r, slices.Concat(h.People, []string{h.User})), h.User)
	key = h.key(r, id, room, user, q)
	if said, known := h.SaidBefore(key); known {
		return said, key, nil
	}
	lines, err := chat.Before(chat.Path(h.Dir, room), -1, pastLines)
	if err != nil {
		return said, key, err
	}
	text, err := words(h.Store, user, t.news)
	if err != nil {
		return said, key, err
	}
	if text == "" {
		return said, key, refuse("messages", "nothing of the user follows the last message of the assistant, so there is nothing to answer")
	}
	if text = instructed(lines, id.Name, t.system, text); len(text) > maxText {
		return said, key, refuse("messages", "what is new has %s; of a text of more than %s, send a file", bridge.Size(int64(len(text))), bridge.Size(maxText))
	}
	if said, err = h.Say(key, room, user, text); errors.Is(err, backend.ErrOtherBody) { // the same request, at this moment
		said, _ = h.SaidBefore(key)
		err = nil
	}
	return said, key, err
}

// sayingAt is an ID behind which the events of a line come, some of others before.
func sayingAt(path string, said backend.Said) (after string, err error) {
	log, err := life.View(path)
	if err != nil {
		return "", err
	}
	defer log.Close()
	err = log.Back(0, func(line life.Event, offset int64) (more bool) {
		after = strconv.FormatInt(offset, 10)
		return line.At.After(said.At.Add(-time.Minute)) // it was not heard before it was said
	})
	return after, err
}

// beat is how often a stream without news says that it is there, and somebody looks whether the
// identity is.
const beat = 15 * time.Second

// follow tells f what happens to an identity behind an ID, until f says that it is done.
func (h *handler) follow(ctx context.Context, id agent.Identity, after string, f func(events.Event) error, beating func()) error {
	s, err := events.Open(h.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	beside.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-h.Done:
				cancel(fault(http.StatusServiceUnavailable, "stopping", "the server stops; ask again, what you said is kept"))
			case <-tick.C:
				if _, running := agent.Running(id); !running {
					cancel(stopped(id))
				}
				beating()
			}
		}
	})
	switch err := s.Follow(ctx, h.Watcher, f); {
	case errors.Is(err, errDone):
		return nil
	case err != nil:
		return err
	}
	return context.Cause(ctx)
}
