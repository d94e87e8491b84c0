// Package botapi is Telegram's Bot API for tests: a strict HTTP server with a small world of
// people, chats and files behind it.
//
//	s := botapi.New("")
//	url, end := s.Start()
//	defer end()
//
//	ada := s.User("Ada", "ada")
//	dm := s.Private(ada)
//	s.Say(dm, ada, "hello") // the bot at url, with s.Token(), gets an update
//	s.Sent(dm)              // what the bot has written there
//
// It serves the methods that the bridge uses, and refuses requests that the real server refuses, with its status and
// description. What the real server silently ignores or repairs (an unknown parameter) is refused
// here. Violations notes that, and everything else that a well-behaved bot never does: a call
// before retry_after has passed, an offset that goes back.
//
// An offset of getUpdates confirms what is below it; an update that was not confirmed comes again.
// Nothing is idempotent: the same sendMessage twice makes two messages. Ids are dealt out in
// order; message ids are counted for each chat apart. The token is in no recorded call and in no
// violation. Whatever can go wrong with the service, or on the way to it, is a Fault.
//
// All methods of Server are safe for concurrent use. Misuse by a test, such as a message in a chat
// that does not exist, panics.
//
// Read server.go (requests and answers), updates.go, send.go and html.go (the bot's side), world.go
// (the people's side), faults.go.
package botapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
)

// Server is the world and the HTTP server in front of it.
type Server struct {
	token string
	bot   models.User

	mu         sync.Mutex    // guards all below; never held while waiting
	changed    chan struct{} // closed and replaced whenever anything below changes
	users      int           // so many were added
	groups     int           // of any kind
	chats      map[int64]*chat
	files      map[string]*file // by file_id
	updates    queue
	faults     []Fault              // those with uses left, in order
	quiet      map[string]time.Time // by lane: nothing is taken before
	calls      []Call               // oldest first
	violations []string
	queries    map[string]bool // of pressed buttons, by id: whether they are answered
}

// New returns a server with an empty world, of the bot with this token, "<id>:<secret>"; "": one of
// the server's own. It starts nothing.
func New(token string) *Server {
	token = cmp.Or(token, "123456789:TEST-TOKEN-of-the-offline-Bot-API-0")
	digits, _, _ := strings.Cut(token, ":")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic("botapi: a token is <id>:<secret>")
	}
	return &Server{
		token: token, bot: models.User{ID: id, IsBot: true, FirstName: "Offline", Username: "offline_bot"},
		changed: make(chan struct{}), chats: map[int64]*chat{}, files: map[string]*file{},
		updates: queue{next: 100_001}, quiet: map[string]time.Time{}, queries: map[string]bool{},
	}
}

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// Start serves on a loopback address. end cuts polls and hanging answers off, and returns
// when every handler has ended.
func (s *Server) Start() (url string, end func()) {
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	return srv.URL, func() {
		srv.CloseClientConnections()
		srv.Close()
	}
}

// lock begins a change of the world: defer s.lock()().
func (s *Server) lock() (unlock func()) {
	s.mu.Lock()
	return func() {
		s.touch()
		s.mu.Unlock()
	}
}

// touch tells the polls that wait that something has changed. s.mu is held.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Violations are the things that a well-behaved bot must not do and that this one did, oldest
// first. A test wants an empty list.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// violate notes a violation. s.mu is held.
func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// Call is a request to the bot's side as it came in. The token is not in it.
type Call struct {
	Method string            // "sendMessage"; "file" is a download, with the parameter path
	Params map[string]string // texts as they are, all else as JSON
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

// request is a Call on its way.
type request struct {
	name   string
	texts  map[string]string // the parameters
	body   []byte
	files  map[string]models.InputFileUpload // by the names of their fields
	ctx    context.Context
	repeat bool // of getUpdates: see Repeat
}

// answer goes back to the bot: JSON, the bytes of a file, or a page.
type answer struct {
	status int
	body   []byte
}

// refusal returns an error as an answer, with the parameters that the real server gives.
func refusal(status int, parameters map[string]int64, format string, args ...any) *answer {
	return &answer{status, encode(map[string]any{
		"ok": false, "error_code": status, "description": fmt.Sprintf(format, args...), "parameters": parameters,
	})}
}

func bad(format string, args ...any) *answer {
	return refusal(http.StatusBadRequest, nil, "Bad Request: "+format, args...)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // values of this package and of the client's types
		panic(err)
	}
	return b
}

// methods answer requests. A refusal is nil where there is a result.
var methods = map[string]func(*Server, *request) (result any, ref *answer){
	"getUpdates":     (*Server).getUpdates,
	"getMe":          on(func(s *Server, _ struct{}) (any, *answer) { return s.bot, nil }),
	"sendMessage":    on((*Server).sendMessage),
	"sendChatAction": on((*Server).sendChatAction),
	"sendPhoto":      (*Server).sendFiles,
	"sendDocument":   (*Server).sendFiles,
	"sendMediaGroup": (*Server).sendFiles,
	"getFile":        on((*Server).getFile),
	"setMyCommands":  on(func(*Server, struct{ Commands []models.BotCommand }) (any, *answer) { return true, nil }),
	"file":           (*Server).download,

	"answerCallbackQuery":    on((*Server).answerCallbackQuery),
	"editMessageReplyMarkup": on((*Server).editMessageReplyMarkup),
}

// on makes a method of a function that gets its parameters decoded, and is called with s.mu held.
func on[P any](run func(*Server, P) (any, *answer)) func(*Server, *request) (any, *answer) {
	return func(s *Server, req *request) (any, *answer) {
		defer s.lock()()
		var p P
		if ref := s.decode(req, &p); ref != nil {
			return nil, ref
		}
		return run(s, p)
	}
}

// decode reads the parameters of a request. A parameter that the method has not is a violation.
// s.mu is held.
func (s *Server) decode(req *request, dest any) *answer {
	d := json.NewDecoder(bytes.NewReader(req.body))
	d.DisallowUnknownFields()
	if err := d.Decode(dest); err != nil {
		s.violate("%s: %v", req.name, err)
		return bad("can't parse the parameters: %v", err)
	}
	return nil
}

// serve answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rest, file := strings.CutPrefix(r.URL.Path, "/file")
	token, name, whole := strings.Cut(strings.TrimPrefix(rest, "/bot"), "/")
	for method := range methods { // which are written in any case
		if strings.EqualFold(name, method) {
			name = method
		}
	}
	req := &request{name: name, texts: map[string]string{}, ctx: r.Context()}
	var answer *answer
	switch {
	case !strings.HasPrefix(rest, "/bot") || !whole:
		req.name, answer = "", refusal(http.StatusNotFound, nil, "Not Found") // not the API's
	case token != s.token:
		answer = refusal(http.StatusUnauthorized, nil, "Unauthorized")
	case file:
		req.name, req.texts["path"] = "file", name
	case methods[name] == nil:
		req.name, answer = "unknown method", refusal(http.StatusNotFound, nil, "Not Found: method not found")
	default:
		answer = req.read(r)
	}
	s.record(req, answer)
	if answer == nil {
		answer = s.play(req, w)
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // a client that has left hears nothing; what took effect has taken effect
}

// record notes a call as it comes in, and that it makes no sense.
func (s *Server) record(req *request, answer *answer) {
	defer s.lock()()
	isRefused := answer != nil && answer.status != http.StatusUnauthorized
	if isRefused && req.name != "" {
		s.violate("%s: %s", req.name, answer.body)
	}
	s.calls = append(s.calls, Call{Method: req.name, Params: req.texts})
}

// read reads a request's parameters, which are one JSON object, or a form with files.
func (req *request) read(r *http.Request) *answer {
	body, err := io.ReadAll(r.Body)
	if err != nil { // it was cut off with its process
		panic(http.ErrAbortHandler)
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if body, err = req.form(r); err != nil {
			return bad("can't parse the form: %v", err)
		}
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

// form reads a form, and returns its texts as a JSON object.
func (req *request) form(r *http.Request) ([]byte, error) {
	if err := r.ParseMultipartForm(1 << 30); err != nil {
		return nil, err
	}
	req.files = map[string]models.InputFileUpload{}
	for field, all := range r.MultipartForm.File {
		in, err := all[0].Open()
		if err != nil {
			return nil, err
		}
		req.files[field] = models.InputFileUpload{Filename: all[0].Filename, Data: in}
	}
	object := map[string]any{}
	for name, values := range r.MultipartForm.Value {
		if object[name] = values[0]; json.Valid([]byte(values[0])) && !slices.Contains([]string{"text", "caption"}, name) {
			object[name] = json.RawMessage(values[0])
		}
	}
	return json.Marshal(object)
}

// run answers a request as it should be.
func (s *Server) run(req *request) *answer {
	result, ref := methods[req.name](s, req)
	if ref != nil {
		return ref
	}
	if data, ok := result.([]byte); ok {
		return &answer{http.StatusOK, data}
	}
	return &answer{http.StatusOK, encode(map[string]any{"ok": true, "result": result})}
}
