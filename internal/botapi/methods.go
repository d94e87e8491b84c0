package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-telegram/bot/models"
)

// Call is a request to the bot's side as it came in. The token is not in it.
type Call struct {
	Method string            // "sendMessage"; "file" is a download, with the parameter path
	Params map[string]string // texts as they are, all else as JSON
	Status int               // of the answer; 0: none yet, or none ever
	Error  string            // the description of a refusal
}

// A request is a Call on its way.
type request struct {
	name   string
	texts  map[string]string // the parameters
	run    func(*Server, *request) (any, *refusal)
	body   []byte
	w      http.ResponseWriter
	r      *http.Request
	repeat bool // of getUpdates: see Repeat
	index  int  // of the Call
}

// refusal is an answer that is an error.
type refusal struct {
	status      int
	description string
	retryAfter  int   // seconds
	migrateTo   int64 // chat id
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, description: fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "Bad Request: "+format, args...)
}

// tooMany is the refusal of a bot that is too fast.
func tooMany(seconds int) *refusal {
	r := refuse(http.StatusTooManyRequests, "Too Many Requests: retry after %d", seconds)
	r.retryAfter = seconds
	return r
}

func (r *refusal) body() []byte {
	parameters := map[string]any{}
	if r.retryAfter != 0 {
		parameters["retry_after"] = r.retryAfter
	}
	if r.migrateTo != 0 {
		parameters["migrate_to_chat_id"] = r.migrateTo
	}
	return encode(map[string]any{"ok": false, "error_code": r.status, "description": r.description, "parameters": parameters})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // values of this package and of the client's types
		panic(err)
	}
	return b
}

func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left hears nothing
}

// on makes a method of a function that gets its parameters decoded, and is called with s.mu held.
func on[P any](run func(*Server, *P) (any, *refusal)) func(*Server, *request) (any, *refusal) {
	return func(s *Server, req *request) (any, *refusal) {
		defer s.lock()()
		p := new(P)
		if ref := s.decode(req, p); ref != nil {
			return nil, ref
		}
		return run(s, p)
	}
}

// decode reads the parameters of a request. A parameter that the method has not is a violation.
// s.mu is held.
func (s *Server) decode(req *request, dest any) *refusal {
	d := json.NewDecoder(bytes.NewReader(req.body))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(dest); err != nil {
		s.violate("%s: %v", req.name, err)
		return bad("can't parse the parameters: %v", err)
	}
	return nil
}

type setMyCommandsParams struct {
	Commands []models.BotCommand `json:"commands"`
}

var methods = map[string]func(*Server, *request) (any, *refusal){
	"getUpdates":      (*Server).getUpdates,
	"getMe":           on(func(s *Server, _ *struct{}) (any, *refusal) { return s.bot, nil }),
	"sendMessage":     on((*Server).sendMessage),
	"sendRichMessage": on((*Server).sendRichMessage),
	"sendChatAction":  on((*Server).sendChatAction),
	"getFile":         on((*Server).getFile),
	"setMyCommands": on(func(s *Server, p *setMyCommandsParams) (any, *refusal) {
		s.commands = p.Commands
		return true, nil
	}),
}

// call answers /bot<token>/<name>.
func (s *Server) call(w http.ResponseWriter, r *http.Request, name string) {
	req := &request{name: name, texts: map[string]string{}, run: methods[name], w: w, r: r}
	ref := req.read()
	if req.run == nil {
		req.name, ref = "unknown method", refuse(http.StatusNotFound, "Not Found: method not found")
	}
	s.record(req)
	if ref != nil {
		s.mu.Lock()
		s.violate("%s: %s", req.name, ref.description)
		s.mu.Unlock()
		s.finish(req, nil, ref)
		return
	}
	s.play(req)
}

// read reads a request's parameters, which are one JSON object.
func (req *request) read() *refusal {
	const maxBody = 16 << 20
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.r.Body, maxBody))
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return bad("can't parse the JSON object: %v", err)
	}
	for name, raw := range object {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		req.texts[name] = text
	}
	req.body = body
	return nil
}

// record notes a call as it comes in.
func (s *Server) record(req *request) {
	defer s.lock()()
	s.calls = append(s.calls, Call{Method: req.name, Params: req.texts})
	req.index = len(s.calls) - 1
}

// finish answers a request with a result, which is JSON or the bytes of a file, or a refusal.
func (s *Server) finish(req *request, result any, ref *refusal) {
	if ref != nil {
		s.reply(req, ref.status, ref.description, "application/json", ref.body())
		return
	}
	kind, body := content(result)
	s.reply(req, http.StatusOK, "", kind, body)
}

func content(result any) (kind string, body []byte) {
	if data, ok := result.([]byte); ok {
		return "application/octet-stream", data
	}
	return "application/json", encode(map[string]any{"ok": true, "result": result})
}

// reply records an answer and sends it. When the client has left, or Serve ends, there is none:
// what took effect has taken effect.
func (s *Server) reply(req *request, status int, why, kind string, body []byte) {
	if req.r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // net/http's way to break the connection
	}
	unlock := s.lock()
	s.calls[req.index].Status, s.calls[req.index].Error = status, why
	unlock()
	send(req.w, status, kind, body)
}

// Calls are the requests to the bot's side, oldest first; downloads are among them.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count is the number of Calls of a method.
func (s *Server) Count(method string) (n int) {
	for _, c := range s.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

// Commands are the commands of the newest setMyCommands.
func (s *Server) Commands() []models.BotCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}
