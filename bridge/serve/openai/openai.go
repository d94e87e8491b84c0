// Package openai lets clients of OpenAI's API talk to identities: a model is an identity, a
// conversation is a room, and the answer is what the identity says there.
//
//	openai.Routes(mux, backend)
//
// What a client resends of a conversation is compared with the room, and only what is new is said,
// once, however often the request comes. docs/openai.md has it in the words of users.
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
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/events"
	"lethe/life"
	"lethe/life/event"
	"lethe/report"
)

// Routes mounts the API below /v1.
func Routes(mux *http.ServeMux, b *backend.Backend) {
	d := &door{Backend: b, rooms: map[string]*memory{}, taken: map[string]bool{}}
	mux.HandleFunc("GET /v1/models", d.models)
	mux.HandleFunc("GET /v1/models/{model...}", d.model)
	mux.HandleFunc("POST /v1/chat/completions", d.complete)
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &apiError{http.StatusNotFound, "", "unknown_url", fmt.Sprintf("there is no %s %.100s here: only /v1/models and /v1/chat/completions", r.Method, r.URL.Path)})
	})
}

// door is the API over one home. What it remembers makes answers to odd requests better, and may
// be lost.
type door struct {
	*backend.Backend
	mu    sync.Mutex
	rooms map[string]*memory
	taken map[string]bool // keys of requests whose answer a client has taken
}

// memory is what is remembered of a room.
type memory struct {
	sent   string // to the client, as the newest answer
	failed string // why there was none
}

// mostRemembered bounds what is remembered; then all begins anew.
const mostRemembered = 1000

// remember changes what is remembered of a room, and returns it as it was.
func (d *door) remember(room string, change func(*memory)) memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rooms) > mostRemembered {
		clear(d.rooms)
	}
	if len(d.taken) > mostRemembered {
		clear(d.taken)
	}
	m := d.rooms[room]
	if m == nil {
		m = &memory{}
		d.rooms[room] = m
	}
	was := *m
	if change != nil {
		change(m)
	}
	return was
}

// apiError is an error as OpenAI's clients read it.
type apiError struct {
	status               int
	param, code, message string
}

func (e *apiError) Error() string { return e.message }

func refuse(param, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, param, "", fmt.Sprintf(format, args...)}
}

// body is the error's JSON, which a stream has, too.
func (e *apiError) body() any {
	kind := "invalid_request_error"
	if e.status >= 500 {
		kind = "server_error"
	}
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"error": map[string]any{"message": e.message, "type": kind, "param": null(e.param), "code": null(e.code)}}
}

func asAPI(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	return &apiError{status: backend.Status(err), message: err.Error()}
}

func fail(w http.ResponseWriter, err error) {
	e := asAPI(err)
	backend.WriteJSON(w, e.status, e.body())
}

// model is an identity, as /v1/models lists it.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func modelOf(name string, id agent.Identity) model {
	born, _ := life.First(id.LIFE()) // of a damaged one nobody knows
	return model{name, "model", max(born.At.Unix(), 0), "lethe"}
}

// models lists the identities, those without that work for another one.
func (d *door) models(w http.ResponseWriter, r *http.Request) {
	all, err := d.Agents()
	if err != nil {
		fail(w, err)
		return
	}
	list := []model{}
	for _, a := range all {
		if id, err := d.Find(a.Self); a.Parent == "" && err == nil {
			list = append(list, modelOf(a.Name, id))
		}
	}
	backend.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (d *door) model(w http.ResponseWriter, r *http.Request) {
	who, room, _ := strings.Cut(r.PathValue("model"), "/")
	id, err := d.find(who, cmp.Or(room, "api"))
	if err != nil {
		fail(w, err)
		return
	}
	backend.WriteJSON(w, http.StatusOK, modelOf(r.PathValue("model"), id))
}

func (d *door) find(who, room string) (agent.Identity, error) {
	id, err := d.Find(who)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		return id, &apiError{http.StatusNotFound, "model", "model_not_found", fmt.Sprintf("no identity is named %.100q; GET /v1/models lists them", who)}
	case err == nil && !chat.ValidRoom(room):
		return id, &apiError{http.StatusNotFound, "model", "model_not_found", fmt.Sprintf("%.100q is not the name of a room: a model is NAME or NAME/ROOM", room)}
	}
	return id, err
}

// complete answers a completion: what is new of the conversation is said, and what the identity
// says then is the answer.
func (d *door) complete(w http.ResponseWriter, r *http.Request) {
	q, messages, err := read(r)
	if err != nil {
		fail(w, err)
		return
	}
	who, room, one := place(r, q)
	id, err := d.find(who, room)
	if err != nil {
		fail(w, err)
		return
	}
	a := newAnswer(w, q)
	t := talkOf(messages)
	if prompt, ok := taskOf(r, t); ok {
		text, err := doTask(prompt)
		a.finish(w, text, err)
		return
	}
	if _, running := agent.Running(id); !running {
		fail(w, stopped(id))
		return
	}
	if err := d.join(r.Context(), id, room); err != nil {
		fail(w, err)
		return
	}
	after, err := events.End(id.LIFE()) // before anything is said
	if err != nil {
		fail(w, err)
		return
	}
	said, key, err := d.say(r, id, room, one, q, t)
	if err == nil && said.Repeated {
		after, err = heardAt(id.LIFE(), said, after)
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Lethe-Room", room)
	heard := &turn{id: id, room: room, line: said.Hash, store: d.Store, answer: a}
	err = d.follow(r.Context(), heard, after)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		d.remember(room, func(m *memory) { m.sent = a.content.all.String() })
		return // the client has left; the turn goes on
	}
	d.posted(r.Context(), heard, said.To)
	a.finish(w, "", err)
	d.remember(room, func(m *memory) {
		m.sent, m.failed = a.content.all.String(), heard.failed
		if err == nil && r.Context().Err() == nil {
			d.taken[key] = true
		}
	})
}

// stopped says that nobody runs an identity.
func stopped(id agent.Identity) error {
	return &apiError{http.StatusServiceUnavailable, "model", "not_running", fmt.Sprintf("%s is not running; start it with: lethe run %s", id.Name, id.Name)}
}

// patience is how long an identity may take for what takes it a moment, when the machine is busy.
const patience = 10 * time.Second

// join has an identity hear a room, from the next line on: what stands there before counts as history, and
// history holds no commands.
func (d *door) join(ctx context.Context, id agent.Identity, room string) error {
	after, err := events.End(id.LIFE())
	if err == nil {
		err = chat.Subscribe(id.Subs(), d.Chats(), room)
	}
	if live, _ := report.Live(id); err != nil || slices.Contains(live.Rooms, room) {
		return err
	}
	s, err := events.Open(d.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.Follow(ctx, d.Watcher, func(e events.Event) error {
		if e.Type == events.Joined && e.Room == room {
			return errDone
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// posted waits until what the identity has said stands in the room, with which the next request is
// compared. A room that cannot be written is not waited for.
func (d *door) posted(ctx context.Context, t *turn, from int64) {
	changed, stop := d.Watcher.Subscribe(chat.Scope{Dir: d.Chats(), Names: []string{chat.FileName(t.room)}})
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		lines, _ := chat.After(chat.Path(d.Dir, t.room), from, pastLines)
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

// stale is after what time the same request is no retry any more.
const stale = time.Hour

// key names what a request says. The same request is a retry, until its answer was taken; after
// that the client asks anew. A client that names its requests decides that itself.
func (d *door) key(r *http.Request, id agent.Identity, room, user string, q request) string {
	var same bytes.Buffer
	_ = json.Compact(&same, q.Messages) // it was read
	base := blobs.Sum(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", id.Self, room, user, &same)).String()[:32]
	if once := cmp.Or(header(r, "Idempotency-Key"), header(r, "X-OpenWebUI-Message-Id")); once != "" {
		return "openai " + blobs.Sum([]byte(base + once)).String()[:32]
	}
	retry := !slices.Contains([]string{"", "0"}, header(r, "X-Stainless-Retry-Count"))
	for n, last := 0, ""; ; n++ {
		key := fmt.Sprintf("openai %s %d", base, n)
		if _, known := d.Bridge.Taken("key:" + key); known {
			last = key
			continue
		}
		said, _ := d.SaidBefore(last)
		d.mu.Lock()
		defer d.mu.Unlock()
		if last != "" && (retry || !d.taken[last] && time.Since(said.At) < stale) {
			return last
		}
		return key
	}
}

// pastLines is how many lines of a room are compared with what a client shows.
const pastLines = 500

// say says what is new of a conversation, in one line, so that it opens one turn.
func (d *door) say(r *http.Request, id agent.Identity, room string, one bool, q request, t talk) (said backend.Said, key string, err error) {
	user := cmp.Or(signer(r), d.User)
	key = d.key(r, id, room, user, q)
	if said, known := d.SaidBefore(key); known {
		return said, key, nil
	}
	lines, err := chat.Before(chat.Path(d.Dir, room), -1, pastLines)
	if err != nil {
		return said, key, err
	}
	m := d.remember(room, nil)
	p := pastOf(lines, id.Name, m.sent, m.failed)
	n := p.news(t, one)
	text, err := words(d.Store, user, n.said)
	if err != nil {
		return said, key, err
	}
	if text == "" {
		return said, key, refuse("messages", "nothing of the user follows the last message of the assistant, so there is nothing to answer")
	}
	if command, _ := chat.Command(chat.Line{Text: text}); command == "" && !p.answered(text) { // these have to stand alone
		if text, err = d.explained(p, n, user, t.system, text); err != nil {
			return said, key, err
		}
	}
	if said, err = d.Say(key, room, user, text); errors.Is(err, backend.ErrOtherBody) { // the same request, at this moment
		said, _ = d.SaidBefore(key)
		err = nil
	}
	return said, key, err
}

// explained puts before a text what the identity has to know of the conversation.
func (d *door) explained(p past, n news, user, system, text string) (string, error) {
	var parts []string
	if s := p.instructions(system); s != "" {
		parts = append(parts, s)
	}
	parts = append(parts, n.notes...)
	if len(n.others) > 0 {
		tag, err := keep(d.Store, user, n.others)
		if err != nil {
			return "", err
		}
		if m := contextMark.FindStringSubmatch(tag); m == nil || m[1] != p.context {
			parts = append(parts, fmt.Sprintf("(Before this the client shows messages that were not said here, %d of them, such as files: %s)", len(n.others), tag))
		}
	}
	return strings.Join(append(parts, text), "\n\n"), nil
}

// heardAt is the ID behind which the events of a line begin, where it was heard.
func heardAt(path string, said backend.Said, after string) (string, error) {
	log, err := life.View(path)
	if err != nil {
		return "", err
	}
	defer log.Close()
	err = log.Back(0, func(line life.Event, offset int64) (more bool) {
		if line.Kind != "inbound" && line.Kind != "command" {
			return line.At.After(said.At.Add(-time.Minute)) // it was not heard before it was said
		}
		e, _ := event.Parse(line)
		var p event.Passage
		switch e := e.(type) {
		case event.Inbound:
			p = e.Passage
		case event.Command:
			p = e.Passage
		}
		if p.Room == said.Room && p.At.From < said.To && said.To <= p.At.To {
			after = strconv.FormatInt(offset, 10)
			return false
		}
		return true
	})
	return after, err
}

// beat is how often a stream without news says that it is there, and somebody looks whether the
// identity is.
const beat = 15 * time.Second

// follow reads what happens behind an ID until the turn that answers has ended.
func (d *door) follow(ctx context.Context, t *turn, after string) error {
	s, err := events.Open(d.Store, events.Log{Path: t.id.LIFE(), Name: t.id.Name}, after)
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
			case <-d.Done:
				cancel(&apiError{http.StatusServiceUnavailable, "", "stopping", "the server stops; ask again, what you said is kept"})
				return
			case <-tick.C:
				if _, running := agent.Running(t.id); !running {
					cancel(stopped(t.id))
				}
				t.answer.beat()
			}
		}
	})
	err = s.Follow(ctx, d.Watcher, t.hear)
	switch {
	case errors.Is(err, errDone):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// paused says why an identity does not answer.
func paused(id agent.Identity, e events.Event) error {
	text := fmt.Sprintf("%s is paused: %s", id.Name, e.Text)
	if !e.Until.IsZero() {
		text += ", until " + e.Until.Format(time.RFC3339)
	}
	if e.Until.IsZero() && !strings.HasPrefix(e.Text, budgetSpent) {
		return &apiError{http.StatusServiceUnavailable, "", "paused", text}
	}
	return &apiError{http.StatusPaymentRequired, "", "insufficient_quota", text + "; say /budget +1 today to raise the limit"}
}

// budgetSpent begins the reason of a pause for want of money.
const budgetSpent = "the budget is spent"
