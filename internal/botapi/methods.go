package botapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	form
	method *method
	name   string
	w      http.ResponseWriter
	r      *http.Request
	repeat bool // of getUpdates: see Repeat
	index  int  // of the Call
}

// A method of the Bot API.
type method struct {
	name   string
	params reflect.Type // a struct whose json tags name the parameters
	run    func(*Server, *request) (any, *refusal)
}

// on makes a method of a function that gets its parameters decoded. run is called
// with s.mu held.
func on[P any](name string, run func(*Server, *P) (any, *refusal)) *method {
	return &method{name, reflect.TypeFor[P](), func(s *Server, req *request) (any, *refusal) {
		p := new(P)
		if ref := req.decode(p); ref != nil {
			return nil, ref
		}
		defer s.lock()()
		return run(s, p)
	}}
}

type none struct{}

type getUpdatesParams struct {
	Offset         int64    `json:"offset"`
	Limit          *int     `json:"limit"`
	Timeout        int      `json:"timeout"`
	AllowedUpdates []string `json:"allowed_updates"`
}

type setMyCommandsParams struct {
	Commands     []models.BotCommand `json:"commands"`
	Scope        json.RawMessage     `json:"scope"`
	LanguageCode string              `json:"language_code"`
}

var methods = index(
	&method{"getUpdates", reflect.TypeFor[getUpdatesParams](), (*Server).getUpdates},
	on("getMe", (*Server).getMe),
	on("sendMessage", (*Server).sendMessage),
	on("sendRichMessage", (*Server).sendRichMessage),
	on("sendChatAction", (*Server).sendChatAction),
	on("getFile", (*Server).getFile),
	on("setMyCommands", (*Server).setMyCommands),
)

func index(list ...*method) map[string]*method {
	m := map[string]*method{}
	for _, each := range list {
		m[strings.ToLower(each.name)] = each
	}
	return m
}

// call answers /bot<token>/<name>. Names of methods have no case.
func (s *Server) call(w http.ResponseWriter, r *http.Request, name string) {
	req := &request{method: methods[strings.ToLower(name)], w: w, r: r}
	if req.method != nil {
		req.name = req.method.name
	} else { // anything at all
		req.name = strings.ReplaceAll(name[:min(len(name), 200)], s.opts.Token, "<token>")
	}
	var ref *refusal
	if r.Method != http.MethodPost {
		ref = refuse(http.StatusMethodNotAllowed, "Method Not Allowed")
	} else {
		req.form, ref = parse(r)
	}
	s.record(req)
	if ref == nil && req.method == nil {
		ref = refuse(http.StatusNotFound, "Not Found: method not found")
	}
	if ref != nil {
		s.mu.Lock()
		s.violate("%s: %s", req.name, ref.description)
		s.mu.Unlock()
		s.finish(req, nil, ref)
		return
	}
	s.play(req)
}

// execute runs the method itself.
func (s *Server) execute(req *request) (any, *refusal) {
	if req.method == fetch {
		return s.content(req)
	}
	if names := req.unknown(req.method.params); len(names) > 0 {
		ref := bad("unknown parameter %s", strings.Join(names, ", "))
		s.mu.Lock()
		s.violate("%s: %s", req.name, ref.description)
		s.mu.Unlock()
		return nil, ref
	}
	return req.method.run(s, req)
}

// record notes a call as it comes in.
func (s *Server) record(req *request) {
	defer s.lock()()
	s.calls = append(s.calls, Call{Method: req.name, Params: maps.Clone(req.texts)})
	req.index = len(s.calls) - 1
}

// amend changes the record of a call. s.mu is held.
func (s *Server) amend(req *request, change func(*Call)) {
	change(&s.calls[req.index])
	s.touch()
}

// finish answers a request with a result or a refusal.
func (s *Server) finish(req *request, result any, ref *refusal) {
	kind, body := req.body(result, ref)
	if ref == nil {
		s.reply(req, http.StatusOK, "", kind, body)
		return
	}
	if ref.retryAfter != 0 {
		req.w.Header().Set("Retry-After", strconv.Itoa(ref.retryAfter))
	}
	s.reply(req, ref.status, ref.description, kind, body)
}

// reply records an answer and sends it. When the client has left, or Serve ends,
// there is none: what took effect has taken effect.
func (s *Server) reply(req *request, status int, why, kind string, body []byte) {
	if req.r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // net/http's way to break the connection
	}
	s.mu.Lock()
	s.amend(req, func(c *Call) { c.Status, c.Error = status, why })
	s.mu.Unlock()
	send(req.w, status, kind, body)
}

// body is what answers a request: JSON, or the bytes of a file.
func (req *request) body(result any, ref *refusal) (kind string, body []byte) {
	if ref != nil {
		return "application/json", ref.body()
	}
	if data, ok := result.([]byte); ok {
		return "application/octet-stream", data
	}
	return "application/json", encode(answer{OK: true, Result: result})
}

// Calls are the requests to the bot's side, oldest first; downloads are
// among them.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Count is the number of Calls of a method.
func (s *Server) Count(method string) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

func (s *Server) getMe(*none) (any, *refusal) { return s.bot, nil }

var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

func (s *Server) setMyCommands(p *setMyCommandsParams) (any, *refusal) {
	for _, c := range p.Commands {
		if !commandForm.MatchString(c.Command) || c.Description == "" || len([]rune(c.Description)) > 256 {
			return nil, bad("BOT_COMMAND_INVALID")
		}
	}
	s.commands = slices.Clone(p.Commands)
	return true, nil
}

// Commands are the commands of the newest setMyCommands.
func (s *Server) Commands() []models.BotCommand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}
