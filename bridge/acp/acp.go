// Package acp connects editors with an identity, by version 1 of the Agent Client Protocol
// over standard input and output:
//
//	err := acp.Run(ctx, acp.Config{Open: open, Home: home, Store: store, User: "ada", In: os.Stdin, Out: os.Stdout})
//
// A session is a room. What the person writes in the editor is a line there, and what the editor
// shows comes from the events of the identity: a session can be loaded after a month, by two
// editors at once, and go on in a terminal. Nothing is true that is not in the room or in LIFE;
// of its own the package keeps which folder a session was opened in.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"lethe"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/screen"
)

// Name names the directory under bridges/.
const Name = "acp"

// Config names the identity that an editor talks to, and its home.
type Config struct {
	// Open returns the identity, running here or elsewhere. It is called once, by the first
	// session: cwd is the folder of the editor, where the identity may work if it runs here.
	// inside says that it does.
	Open func(ctx context.Context, cwd string) (i *host.Identity, inside bool, err error)

	Self      home.Identity // session/list shows its rooms; zero where it is not booted yet
	Workspace string        // of identities, where config.toml names one
	Models    []string      // that the editor offers
	Home      home.Home
	Store     *blobs.Store
	User      string   // who writes in the editor
	People    []string // who may answer questions
	Log       *slog.Logger

	In  io.Reader
	Out io.Writer
}

// Run serves one editor until it closes the input, or ctx ends. The error is why the input cannot be read on.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	srv := &server{Config: c, ctx: ctx, sessions: map[sdk.SessionId]*session{}, cancelled: make(chan struct{}, 1)}
	wire := newWire(c.In, c.Out, srv.cancelled)
	srv.conn = sdk.NewAgentSideConnection(srv, wire, wire)
	srv.conn.SetLogger(c.Log)
	var err error
	select {
	case <-ctx.Done():
	case <-srv.conn.Done(): // it has read all
		err = wire.end()
	}
	cancel()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, one := range srv.sessions {
		one.end()
	}
	return err
}

// server is the agent's side of a connection.
type server struct {
	Config
	ctx  context.Context
	conn *sdk.AgentSideConnection

	cancelled chan struct{} // told of each session/cancel that has been obeyed

	mu       sync.Mutex
	asks     bool           // the editor shows forms
	self     *host.Identity // nil before the first session
	folder   string         // that it works in; empty: not an editor's
	sessions map[sdk.SessionId]*session
}

func (s *server) Initialize(_ context.Context, request sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	elicits := request.ClientCapabilities.Elicitation
	s.mu.Lock()
	s.asks = elicits != nil && elicits.Form != nil
	s.mu.Unlock()
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "lethe", Title: sdk.Ptr("Lethe"), Version: lethe.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, Audio: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
				Close: &sdk.SessionCloseCapabilities{}, Delete: &sdk.SessionDeleteCapabilities{},
			},
		},
	}, nil
}

// Authenticate refuses each method: whoever may start the program may use the home.
func (s *server) Authenticate(_ context.Context, r sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, invalid("there is no method %.40q: no login is needed", r.MethodId)
}

func (s *server) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	return sdk.LogoutResponse{}, nil
}

func (s *server) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}

// identity opens it at the first call.
func (s *server) identity(cwd string) (*host.Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.self == nil {
		i, inside, err := s.Open(s.ctx, cwd)
		if err != nil {
			return nil, err
		}
		if s.self, s.Self = i, i.Identity; inside {
			s.folder = cwd
		}
	}
	return s.self, nil
}

// refused is an error as editors show it: one line, and what to do.
func refused(err error) error {
	if err == nil || errors.As(err, new(*sdk.RequestError)) {
		return err
	}
	text := err.Error()
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		text += " (" + h.Hint() + ")"
	}
	return &sdk.RequestError{Code: -32603, Message: screen.Sanitize(text)}
}

// invalid is the error of a request that makes no sense.
func invalid(format string, args ...any) error {
	return &sdk.RequestError{Code: -32602, Message: fmt.Sprintf(format, args...)}
}

// NewSession goes to the room of the folder.
func (s *server) NewSession(_ context.Context, r sdk.NewSessionRequest) (out sdk.NewSessionResponse, err error) {
	room, err := s.join(filepath.Clean(r.Cwd), r.McpServers)
	if err == nil {
		out.SessionId = sdk.SessionId(room)
		out.ConfigOptions, err = s.options()
	}
	return out, refused(err)
}

// roomOf names the room of an identity and a folder: the same each time, but another one while the editor has that
// open.
func (s *server) roomOf(i *host.Identity, folder string) string {
	for n := 1; ; n++ {
		sum := blobs.Sum(fmt.Appendf(nil, "%s %d %s", i.Self, n, folder))
		room := bridge.NameRoom(filepath.Base(folder), sum.String()[:8])
		if special(room) {
			room = Name + "-" + room
		}
		if _, err := s.session(sdk.SessionId(room)); err != nil {
			return room
		}
	}
}

// join has the identity hear the room of a folder, and notes that it is for that.
func (s *server) join(folder string, servers []sdk.McpServer) (room string, err error) {
	if !filepath.IsAbs(folder) {
		return "", invalid("the folder %.200q is not absolute", folder)
	}
	identity, err := s.identity(folder)
	if err == nil {
		room = s.roomOf(identity, folder)
		err = durable.MkdirAll(filepath.Dir(s.folderFile(room)), 0o700)
	}
	if err == nil {
		err = durable.WriteFile(s.folderFile(room), []byte(folder), 0o600)
	}
	if err == nil {
		err = identity.Join(room)
	}
	if err == nil {
		err = s.begin(room, folder, false, servers)
	}
	return room, err
}

// LoadSession shows what was said in the room.
func (s *server) LoadSession(_ context.Context, r sdk.LoadSessionRequest) (out sdk.LoadSessionResponse, err error) {
	if err = s.again(r.SessionId, r.Cwd, true, r.McpServers); err == nil {
		out.ConfigOptions, err = s.options()
	}
	return out, refused(err)
}

// ResumeSession goes on without showing that.
func (s *server) ResumeSession(_ context.Context, r sdk.ResumeSessionRequest) (
	out sdk.ResumeSessionResponse, err error) {
	if err = s.again(r.SessionId, r.Cwd, false, r.McpServers); err == nil {
		out.ConfigOptions, err = s.options()
	}
	return out, refused(err)
}

func (s *server) again(id sdk.SessionId, cwd string, replay bool, servers []sdk.McpServer) error {
	room := string(id)
	identity, err := s.identity(cwd)
	if err != nil {
		return err
	}
	if !chat.ValidRoom(room) || !identity.Hears(room) {
		return invalid("there is no session %.80q of %s; session/list has those that there are", room, identity.Name)
	}
	return s.begin(room, s.folder, replay, servers)
}

// begin opens a session, where the life is now, and shows what happened in it before.
func (s *server) begin(room, cwd string, replay bool, servers []sdk.McpServer) error {
	after, err := events.End(s.self.LIFE())
	if err != nil {
		return err
	}
	one := &session{
		server: s, id: sdk.SessionId(room), room: room, self: s.self, after: after, turn: make(chan struct{}, 1),
		prompts: map[int]context.CancelFunc{},
	}
	one.ctx, one.cancel = context.WithCancel(s.ctx)
	one.view = newView(one)
	if cwd != s.folder {
		one.opening = fmt.Sprintf("[the editor's folder is %s, which is not your workspace]\n", bridge.Inert(cwd))
	}
	if replay {
		if err := one.replay(); err != nil {
			one.cancel()
			return err
		}
	}
	one.view.underWay()
	one.follow()
	s.put(one.id, one)
	time.AfterFunc(commandsAfter, func() {
		one.view.send(commands())
		if names := namesOf(servers); names != "" {
			one.view.think("the editor's servers of tools are not used: " + names + "; lethe mcp add gives the agent its own\n")
		}
	})
	return nil
}

// namesOf lists the names of servers of any kind.
func namesOf(servers []sdk.McpServer) string {
	var named []struct{ Name string }
	text, _ := json.Marshal(servers) // read from JSON
	_ = json.Unmarshal(text, &named) // likewise
	var list []string
	for _, server := range named {
		list = append(list, server.Name)
	}
	return strings.Join(list, ", ")
}

// commandsAfter lets the answer go out first: editors pass over what is of a session that they do not know yet.
const commandsAfter = 100 * time.Millisecond

// known are the commands that a prompt can be.
var known = []sdk.AvailableCommand{
	{Name: "stop", Description: "interrupt what the agent is doing"},
	{Name: "status", Description: "what the agent is doing"},
	{Name: "model", Description: "change the model", Input: takes("NAME")},
	{Name: "budget", Description: "what was spent, and what is left", Input: takes("+2 today")},
	{Name: "jobs", Description: "the commands that run beside the talk"},
	{Name: "forget", Description: "let entries fade now", Input: takes("e3..e9")},
}

// takes is the input of a command, with a hint.
func takes(hint string) *sdk.AvailableCommandInput {
	return &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: hint}}
}

// commands lists the known commands to an editor.
func commands() sdk.SessionUpdate {
	return sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: known}}
}

func (s *server) CloseSession(_ context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s.put(r.SessionId, nil)
	return sdk.CloseSessionResponse{}, nil
}

// UnstableDeleteSession has the identity leave the room of a session, which stays with its lines. Rooms that no editor
// has opened are refused: people talk there in other ways.
func (s *server) UnstableDeleteSession(_ context.Context, r sdk.UnstableDeleteSessionRequest) (
	out sdk.UnstableDeleteSessionResponse, err error) {
	room := string(r.SessionId)
	s.mu.Lock()
	self := s.Self
	s.mu.Unlock()
	if !chat.ValidRoom(room) {
		return out, invalid("there is no session %.80q", room)
	}
	err = os.Remove(s.folderFile(room))
	if errors.Is(err, fs.ErrNotExist) {
		return out, invalid("no editor has opened the room %.80q; lethe rm --room removes a room", room)
	}
	if err != nil {
		return out, refused(err)
	}
	s.put(r.SessionId, nil)
	if self.Self != "" {
		err = chat.Unsubscribe(self.Subs(), room)
	}
	return out, refused(err)
}

// put replaces a session, or removes it for nil. The replaced session ends, and its room goes on.
func (s *server) put(id sdk.SessionId, one *session) {
	s.mu.Lock()
	before := s.sessions[id]
	if s.sessions[id] = one; one == nil {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	if before != nil {
		before.end()
	}
}

// ListSessions lists the rooms that the identity hears, newest first.
func (s *server) ListSessions(_ context.Context, request sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	s.mu.Lock()
	self := s.Self
	s.mu.Unlock()
	if self.Self == "" {
		return out, nil
	}
	rooms, err := report.Home{Home: s.Home}.Rooms()
	for _, room := range rooms {
		kept, _, _ := durable.ReadRegular(s.folderFile(room.Name), 1<<16)    // empty, where it cannot be read
		folder := cmp.Or(string(kept), filepath.Join(self.Dir, "workspace")) // the protocol wants one
		isSession := slices.Contains(room.Heard, self.Name) && !special(room.Name)
		inFolder := request.Cwd == nil || *request.Cwd == folder
		if !isSession || !inFolder {
			continue
		}
		title := room.Name
		if room.Last != nil {
			title += ": " + blobs.Gist(room.Last.Text)
		}
		changed := room.At.Format(time.RFC3339)
		out.Sessions = append(out.Sessions, sdk.SessionInfo{
			SessionId: sdk.SessionId(room.Name), Cwd: folder, Title: &title, UpdatedAt: &changed,
		})
	}
	return out, refused(err)
}

// special reports whether the name of a room has another meaning than a session.
func special(room string) bool {
	return chat.ForWork(room) || chat.ForNotices(room)
}

// The folder of a session is a file of one line, for session/list.
func (s *server) folderFile(room string) string {
	return filepath.Join(s.Home.Dir, "bridges", Name, room+".folder")
}

// session finds a session that the editor has opened.
func (s *server) session(id sdk.SessionId) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[id]; one != nil {
		return one, nil
	}
	return nil, invalid("session %.80q is not open; load or resume it", id)
}
