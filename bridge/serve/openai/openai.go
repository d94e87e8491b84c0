// Package openai lets clients of OpenAI's API talk to identities: a model is an identity, a
// conversation is a room, and the identity's lines there are the answer.
//
//	openai.Routes(mux, backend)
//
// Of what a client resends of a conversation, what follows the last answer is said, once, however
// often the request comes. docs/api.md has it in the words of users.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/life"
)

// Routes mounts the API below /v1.
func Routes(mux *http.ServeMux, b *backend.Backend) {
	h := &handler{Backend: b, host: host.Beside(b.Home.Home, b.Store, b.Watcher), taken: map[string]time.Time{}}
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/models": h.models, "GET /v1/models/{model...}": h.model, "POST /v1/chat/completions": h.complete,
		"POST /v1/responses": h.respond,
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
	host  *host.Host
	mu    sync.Mutex
	taken map[string]time.Time // when a client has taken the answer to a request, by its key
}

// modelOf is an identity as /v1/models lists it.
func modelOf(name string, id home.Identity) object {
	born, _ := life.First(id.LIFE()) // of a damaged one nobody knows
	return object{"id": name, "object": "model", "created": max(born.At.Unix(), 0), "owned_by": "lethe"}
}

// models lists the identities, those without that work for another one.
func (h *handler) models(w http.ResponseWriter, _ *http.Request) error {
	all, err := h.List()
	if err != nil {
		return err
	}
	list := []any{}
	for _, id := range slices.DeleteFunc(all, home.Identity.IsChild) {
		list = append(list, modelOf(id.Name, id))
	}
	backend.WriteJSON(w, http.StatusOK, object{"object": "list", "data": list})
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

func (h *handler) find(who, room string) (home.Identity, error) {
	id, err := h.Find(who)
	switch {
	case errors.Is(err, home.ErrNotFound):
		return id, fault(http.StatusNotFound, "model_not_found",
			"model names no identity: %.100q; GET /v1/models lists them", who)
	case err == nil && !chat.ValidRoom(room):
		return id, fault(http.StatusNotFound, "model_not_found",
			"%.100q is not the name of a room: a model is NAME or NAME/ROOM", room)
	}
	return id, err
}

// complete answers a completion: what is new of the conversation is said, and what the identity
// says then is the answer. What goes wrong before there is a stream is returned.
func (h *handler) complete(w http.ResponseWriter, r *http.Request) error {
	completion, messages, err := read(r)
	if err != nil {
		return err
	}
	return h.answer(r, completion, messages, newAnswer(w, completion))
}

// respond is complete in the form of POST /v1/responses.
func (h *handler) respond(w http.ResponseWriter, r *http.Request) error {
	completion, messages, err := readResponse(r)
	if err != nil {
		return err
	}
	out := newAnswer(w, completion)
	out.id, out.responds = "resp_"+rand.Text(), true
	return h.answer(r, completion, messages, out)
}

// answer says the new messages of a conversation, and has out tell the identity's answer.
func (h *handler) answer(r *http.Request, completion request, messages []message, out *answer) error {
	who, room := place(r, completion)
	id, err := h.find(who, room)
	if err != nil {
		return err
	}
	for _, name := range completion.ignored() {
		out.w.Header().Add("Lethe-Ignored", name)
	}
	conversation := talkOf(messages)
	conversation.system = strings.TrimSpace(conversation.system + "\n\n" + completion.Format.instruction())
	if prompt, ok := taskOf(r, conversation); ok {
		out.say(events.Event{Text: doTask(prompt)})
		return out.finish(host.Reply{}, nil)
	}
	if _, running := home.Running(id); !running {
		return stopped(id.Name)
	}
	if err := h.join(r.Context(), h.host.Of(id), room); err != nil {
		return err
	}
	said, after, key, err := h.sayOnce(r, id, room, completion, conversation)
	if err != nil {
		return err
	}
	out.w.Header().Set("Lethe-Room", room)
	asked := &host.Asked{Identity: h.host.Of(id), Room: room, After: after}
	reply, err := h.await(r.Context(), asked, said, out)
	if r.Context().Err() != nil {
		return nil // the client has left; the turn goes on
	}
	ended := out.finish(reply, err)
	if err == nil && r.Context().Err() == nil {
		h.took(key)
	}
	return ended
}

// sayOnce says the new messages, and returns the line, an ID in LIFE before the line's events, and the request's key.
func (h *handler) sayOnce(r *http.Request, id home.Identity, room string, completion request, conversation talk) (
	said backend.Said, after, key string, err error) {
	after, err = events.End(id.LIFE()) // before anything is said
	if err != nil {
		return said, after, key, err
	}
	said, key, err = h.say(r, id, room, completion, conversation)
	switch {
	case err != nil:
	case said.Hash == "":
		err = fault(http.StatusConflict, "", "this was said long ago; send it under another key")
	case said.Repeated:
		after, err = sayingAt(id.LIFE(), said)
	}
	return said, after, key, err
}

// took remembers that a client has taken an answer.
func (h *handler) took(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) >= 1000 { // then all begins anew
		clear(h.taken)
	}
	h.taken[key] = time.Now()
}

// join has an identity hear a room, and waits for that: it takes what stands there before for history, and obeys no
// command in it.
func (h *handler) join(ctx context.Context, identity *host.Identity, room string) error {
	after, err := events.End(identity.LIFE())
	if err == nil {
		err = identity.Join(room)
	}
	if err != nil {
		return err
	}
	if s, err := home.Fold(identity.Identity, h.Store); err == nil {
		if heard := s.Rooms[room]; heard != nil && heard.Joined {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // the machine may be busy
	defer cancel()
	for e, err := range identity.Events(ctx, after) {
		joined := e.Type == events.Joined && e.Room == room
		if err != nil || joined {
			return err
		}
	}
	return nil
}

// beat limits the silence of a stream.
const beat = 15 * time.Second

var errStopping = fault(http.StatusServiceUnavailable, "stopping",
	"the server stops; ask again, what you said is kept")

// await tells a client what happens until the turn that hears a line has ended.
func (h *handler) await(ctx context.Context, asked *host.Asked, said backend.Said, out *answer) (host.Reply, error) {
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
				cancel(errStopping)
			case <-tick.C:
				out.beat()
			}
		}
	})
	t := &turn{answer: out, room: asked.Room, line: said.Hash, store: h.Store}
	for {
		reply, err := asked.Await(ctx, chat.Line{Hash: said.Hash, From: said.From, To: said.To}, t.hear)
		var pause *host.PausedError
		switch {
		case errors.Is(err, host.ErrStopped):
			if _, running := home.Running(asked.Identity.Identity); running { // again
				continue
			}
			err = stopped(asked.Name)
		case errors.As(err, &pause):
			if s, err := home.Fold(asked.Identity.Identity, h.Store); err == nil && s.Paused == "" { // it has gone on
				continue
			}
			err = paused(pause)
		}
		return reply, err
	}
}

// againTime bounds how long after an answer in JSON the same request gets it once more: a program that cannot read the
// answer sends the request again at once. Where people read, the same request means that they want another answer.
const againTime = 30 * time.Second

// key names what a request says. The same request is a retry for an hour, until its answer was taken, and right behind
// that; then the client asks anew. A client that names its requests decides that itself.
func (h *handler) key(r *http.Request, id home.Identity, room, user string, q request) string {
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
		taken, wasTaken := h.taken[last]
		untaken := !wasTaken && time.Since(said.At) < time.Hour
		isRecent := wasTaken && time.Since(taken) < againTime
		mayBeAgain := isRecent && q.Format.isJSON()
		rightBehind := mayBeAgain && h.isNewest(id, room, said)
		isSame := untaken || rightBehind
		if repeated := retry || isSame; repeated && last != "" {
			return last
		}
		return key
	}
}

// isNewest reports whether nobody but the identity has said something in a room since.
func (h *handler) isNewest(id home.Identity, room string, said backend.Said) bool {
	lines, err := chat.Before(chat.Path(h.Dir, room), -1, searched)
	lines = slices.DeleteFunc(lines, func(line chat.Line) bool { return line.By(id.Name) })
	if err != nil || len(lines) == 0 {
		return false
	}
	return lines[len(lines)-1].Hash == said.Hash
}

// maxText bounds the text of a line, which a room could not take whole.
const maxText = 1 << 20

// say says the new part of a conversation in one line, so that it opens one turn.
func (h *handler) say(r *http.Request, id home.Identity, room string, q request, conversation talk) (
	said backend.Said, key string, err error) {
	user := cmp.Or(signer(r, slices.Concat(h.People, []string{h.User})), h.User)
	key = h.key(r, id, room, user, q)
	if said, known := h.SaidBefore(key); known {
		return said, key, nil
	}
	lines, err := chat.Before(chat.Path(h.Dir, room), -1, searched)
	if err != nil {
		return said, key, err
	}
	text, err := words(h.Store, user, conversation.news)
	if err != nil {
		return said, key, err
	}
	if text == "" {
		return said, key, refuse("nothing of the user follows the last message of the assistant, so " +
			"there is nothing to answer")
	}
	if text = instructed(lines, id.Name, conversation.system, text); len(text) > maxText {
		return said, key, refuse("what is new has %s; of a text of more than %s, send a file",
			blobs.Size(int64(len(text))), blobs.Size(maxText))
	}
	said, err = h.Say(key, room, user, text)
	if errors.Is(err, backend.ErrOtherBody) { // the same request, at this moment
		said, _ = h.SaidBefore(key)
		err = nil
	}
	return said, key, err
}

// sayingAt is an ID behind which the events of a line come, some of others before.
func sayingAt(path string, said backend.Said) (after string, err error) {
	_, err = life.ReadBack(path, 0, func(line life.Event, offset int64) (more bool) {
		after = strconv.FormatInt(offset, 10)
		return line.At.After(said.At.Add(-time.Minute)) // it was not heard before it was said
	})
	return after, err
}
