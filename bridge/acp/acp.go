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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
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
	Home      home.Home
	Store     *blobs.Store
	User      string   // who writes in the editor
	People    []string // who may answer questions
	Log       *slog.Logger

	In  io.Reader
	Out io.Writer
}

// Run serves one editor until it closes the input, or ctx ends.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	srv := &server{Config: c, ctx: ctx, sessions: map[sdk.SessionId]*session{}}
	srv.conn = sdk.NewAgentSideConnection(srv, c.Out, c.In)
	srv.conn.SetLogger(c.Log)
	select {
	case <-ctx.Done():
	case <-srv.conn.Done():
	}
	cancel()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, one := range srv.sessions {
		one.end()
	}
	return nil
}

// server is the agent's side of a connection.
type server struct {
	Config
	ctx  context.Context
	conn *sdk.AgentSideConnection

	mu       sync.Mutex
	self     *host.Identity // nil before the first session
	folder   string         // that it works in; empty: not an editor's
	sessions map[sdk.SessionId]*session
}

func (s *server) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "lethe", Title: sdk.Ptr("Lethe"), Version: lethe.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, Audio: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
				Close: &sdk.SessionCloseCapabilities{},
			},
		},
	}, nil
}

// Authenticate has nothing to do: who may start the program may use the home.
func (s *server) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

func (s *server) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	return sdk.LogoutResponse{}, nil
}

func (s *server) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}

func (s *server) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (
	sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetConfigOption)
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
func (s *server) NewSession(_ context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	room, err := s.join(filepath.Clean(r.Cwd))
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(room)}, refused(err)
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
func (s *server) join(folder string) (room string, err error) {
	if !filepath.IsAbs(folder) {
		return "", invalid("the folder %.200q is not absolute", folder)
	}
	identity, err := s.identity(folder)
	if err == nil {
		room = s.roomOf(identity, folder)
		err = durable.MkdirAll(filepath.Dir(s.folderFile(room)), 0o700)
	}
	if err == nil {
		err = durable.Replace(s.folderFile(room), []byte(folder), 0o600)
	}
	if err == nil {
		err = identity.Join(room)
	}
	if err == nil {
		err = s.begin(room, folder, nil)
	}
	return room, err
}

// LoadSession shows what was said in the room.
func (s *server) LoadSession(_ context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	return sdk.LoadSessionResponse{}, refused(s.again(r.SessionId, r.Cwd, true))
}

// ResumeSession goes on without showing that.
func (s *server) ResumeSession(_ context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, refused(s.again(r.SessionId, r.Cwd, false))
}

func (s *server) again(id sdk.SessionId, cwd string, replay bool) error {
	room := string(id)
	identity, err := s.identity(cwd)
	if err != nil {
		return err
	}
	if !chat.ValidRoom(room) || !identity.Hears(room) {
		return invalid("there is no session %.80q of %s; session/list has those that there are", room, identity.Name)
	}
	var said []chat.Line
	if replay {
		if said, _, _, err = chat.Tail(chat.Path(s.Home.Dir, room), 1000); err != nil {
			return err
		}
	}
	return s.begin(room, s.folder, said)
}

// begin opens a session, where the life is now, and shows what was said in it.
func (s *server) begin(room, cwd string, said []chat.Line) error {
	after, err := events.End(s.self.LIFE())
	if err != nil {
		return err
	}
	one := &session{
		server: s, id: sdk.SessionId(room), room: room, self: s.self, after: after, turn: make(chan struct{}, 1),
	}
	one.ctx, one.cancel = context.WithCancel(s.ctx)
	one.view = newView(one)
	if cwd != s.folder {
		one.opening = fmt.Sprintf("[the editor's folder is %s, which is not your workspace]\n", bridge.Inert(cwd))
	}
	for _, l := range said {
		one.view.line(l)
	}
	one.follow()
	s.put(one.id, one)
	time.AfterFunc(commandsAfter, func() { one.view.send(commands()) })
	return nil
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
