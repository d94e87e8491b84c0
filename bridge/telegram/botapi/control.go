package botapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"
)

// The world over HTTP, for programs that are not in this process. Whoever is
// named and does not exist yet is made.
//
//	POST /world/say      {"user":"ada","text":"hello"}             in the private chat
//	                     {"user":"ada","chat":"Crew","topic":"builds","reply":7,"text":"hello"}
//	POST /world/edit     {"user":"ada","message":1,"text":"hullo"}
//	POST /world/send     {"user":"ada","as":"document","name":"a.txt","mime":"text/plain","data":"<base64>","text":"caption"}
//	                     as: document, photo or voice
//	POST /world/block    {"user":"ada"}, and /world/unblock
//	POST /world/fault    {"method":"sendMessage","kind":"reset","after":true,"times":2}
//	                     also: chat_id, contains, skip, for, wait, status, description, retry_after, migrate_to
//	POST /world/calm     {} ends all faults
//	GET  /world/messages ?user=ada, or ?chat=Crew&topic=builds
//	GET  /world/sent     the bot's messages of those
//	GET  /world/actions  the bot's chat actions there
//	GET  /world/calls    ?method=sendMessage
//	GET  /world/violations
//
// The lists are JSON arrays. With wait=<text> the answer is held back until a
// message, call or violation of the list contains the text, for at most timeout
// (a duration, 10s), and then is 408. A chat is a supergroup, by its title. A
// mistake is answered with 400 and a line of text.

// said is the body of the POSTs about people.
type said struct {
	User    string `json:"user"`
	Chat    string `json:"chat"`
	Topic   string `json:"topic"`
	Text    string `json:"text"`
	Message int    `json:"message"`
	Reply   int    `json:"reply"`
	As      string `json:"as"`
	Name    string `json:"name"`
	Mime    string `json:"mime"`
	Data    []byte `json:"data"`
}

// ordered is the body of /world/fault.
type ordered struct {
	Method      string   `json:"method"`
	Chat        int64    `json:"chat_id"`
	Contains    string   `json:"contains"`
	Skip        int      `json:"skip"`
	Times       int      `json:"times"`
	For         duration `json:"for"`
	Kind        Kind     `json:"kind"`
	Status      int      `json:"status"`
	Description string   `json:"description"`
	RetryAfter  int      `json:"retry_after"`
	MigrateTo   int64    `json:"migrate_to"`
	After       bool     `json:"after"`
	Wait        duration `json:"wait"`
}

// A duration is written like "1.5s".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// control answers /world/<what>. A panic of the world's side is its caller's
// mistake, also here.
func (s *Server) control(w http.ResponseWriter, r *http.Request, what string) {
	defer func() {
		if p := recover(); p != nil {
			text, mistake := p.(string)
			if !mistake {
				panic(p)
			}
			http.Error(w, text, http.StatusBadRequest)
		}
	}()
	var result any
	var err error
	switch r.Method {
	case http.MethodPost:
		result, err = s.act(r, what)
	case http.MethodGet:
		result, err = s.look(r, what)
	default:
		err = fmt.Errorf("%s is not for /world", r.Method)
	}
	switch {
	case err == context.DeadlineExceeded:
		http.Error(w, "nothing like that has come", http.StatusRequestTimeout)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		send(w, http.StatusOK, "application/json", encode(result))
	}
}

func (s *Server) act(r *http.Request, what string) (any, error) {
	body, err := whole(r.Body)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if what == "fault" {
		var o ordered
		if err := d.Decode(&o); err != nil {
			return nil, fmt.Errorf("read fault: %w", err)
		}
		s.Fault(Fault{
			Method: o.Method, Chat: o.Chat, Contains: o.Contains, Skip: o.Skip, Times: o.Times, For: time.Duration(o.For),
			Kind: o.Kind, Status: o.Status, Description: o.Description, RetryAfter: o.RetryAfter, MigrateTo: o.MigrateTo,
			After: o.After, Wait: time.Duration(o.Wait),
		})
		return true, nil
	}
	var b said
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if what == "calm" {
		s.ClearFaults()
		return true, nil
	}
	u, where, err := s.place(b.User, b.Chat, b.Topic)
	if err != nil {
		return nil, err
	}
	return s.perform(what, u, where, b)
}

func (s *Server) perform(what string, u User, where Chat, b said) (any, error) {
	id := b.Message
	switch {
	case u.ID == 0:
		return nil, fmt.Errorf("%s needs a user", what)
	case what == "say" && b.Reply != 0:
		id = s.Reply(where, u, b.Reply, b.Text)
	case what == "say":
		id = s.Say(where, u, b.Text)
	case what == "edit":
		s.Edit(where, id, b.Text)
	case what == "send" && b.As == "photo":
		id = s.SendPhoto(where, u, b.Data, b.Text)
	case what == "send" && b.As == "voice":
		id = s.SendVoice(where, u, b.Data, 1)
	case what == "send" && b.As == "document":
		id = s.SendDocument(where, u, b.Name, b.Mime, b.Data, b.Text)
	case what == "block":
		s.Block(u)
	case what == "unblock":
		s.Unblock(u)
	default:
		return nil, fmt.Errorf("no %s %s", what, b.As)
	}
	return map[string]any{"message_id": id, "chat_id": where.ID, "message_thread_id": where.Thread, "user_id": u.ID}, nil
}

func (s *Server) look(r *http.Request, what string) (any, error) {
	q := r.URL.Query()
	list := func() any { return append([]string{}, s.Violations()...) }
	if what == "calls" {
		list = func() any { return s.callsOf(q.Get("method")) }
	} else if what != "violations" {
		_, where, err := s.place(q.Get("user"), q.Get("chat"), q.Get("topic"))
		if err != nil {
			return nil, err
		}
		switch what {
		case "messages":
			list = func() any { return append([]models.Message{}, s.Messages(where)...) }
		case "sent":
			list = func() any { return append([]models.Message{}, s.Sent(where)...) }
		case "actions":
			list = func() any { return append([]Action{}, s.Actions(where)...) }
		default:
			return nil, fmt.Errorf("no %s", what)
		}
	}
	if text := q.Get("wait"); text != "" {
		var timeout duration
		if err := timeout.UnmarshalText([]byte(cmp.Or(q.Get("timeout"), "10s"))); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(timeout))
		defer cancel()
		needle := bytes.Trim(encode(text), `"`) // as it stands in JSON
		if err := s.Wait(ctx, func() bool { return bytes.Contains(encode(list()), needle) }); err != nil {
			return nil, err
		}
	}
	return list(), nil
}

func (s *Server) callsOf(method string) []Call {
	list := []Call{}
	for _, c := range s.Calls() {
		if method == "" || c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

// place finds or makes a user, a chat and a topic by their names.
func (s *Server) place(user, title, name string) (u User, where Chat, err error) {
	if user != "" {
		if u = s.userNamed(user); u.ID == 0 {
			u = s.User(user, user)
		}
	}
	if title == "" {
		if u.ID == 0 || name != "" {
			return u, where, fmt.Errorf("say which user, or which chat")
		}
		return u, s.Private(u), nil
	}
	where, topics := s.titled(title)
	if where.ID == 0 {
		where = s.Supergroup(title)
	}
	s.admit(where, u)
	if name == "" {
		return u, where, nil
	}
	if id := topics[name]; id != 0 {
		return u, Chat{where.ID, id}, nil
	}
	return u, s.Topic(where, name), nil
}

func (s *Server) userNamed(username string) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.world.users {
		if strings.EqualFold(u.Username, username) {
			return u
		}
	}
	return User{}
}

// titled is the group with a title, and its topics by name.
func (s *Server) titled(title string) (Chat, map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.world.chats {
		if c.info.Title == title && c.moved == 0 {
			topics := map[string]int{}
			for thread, t := range c.topics {
				topics[t.name] = thread
			}
			return Chat{ID: id}, topics
		}
	}
	return Chat{}, nil
}

// admit makes u a member without a word.
func (s *Server) admit(where Chat, u User) {
	defer s.lock()()
	if u.ID != 0 {
		s.chat(where).members[u.ID] = u
	}
}
