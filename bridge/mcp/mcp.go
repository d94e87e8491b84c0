// Package mcp lets agents of others use a home, by the Model Context Protocol: they search what identities have
// forgotten, open it, read rooms, and ask identities.
//
//	err := mcp.Run(ctx, mcp.Config{Home: home, Find: find, Talk: talk, Say: say}) // on standard input and output
//	mcp.Routes(find)(mux, backend)                                              // POST /mcp, behind the guard
//
// It keeps nothing between two calls: a handle of ask is a place in a life, so a client may come back with it after
// any time, to another process. docs/others.md has it in the words of users.
package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/secret"
)

// instructions tell a model how the tools go together.
//
//go:embed instructions.md
var instructions string

// Finder finds the identity of a name or hash; "" is the default one.
type Finder func(who string) (home.Identity, error)

// Config has what clients see, and who speaks for them. Its functions may be called from any goroutine.
type Config struct {
	Home report.Home
	Log  *slog.Logger
	Find Finder
	// Talk returns an identity to ask, and has it run if this program may run it.
	Talk func(ctx context.Context, who string) (*host.Identity, error)
	// Say says a line in a room. Of the line From and Hash matter.
	Say func(room, text string) (chat.Line, error)
}

// Run serves one client until it closes standard input, or ctx ends. Nothing but messages goes to standard output.
func Run(ctx context.Context, c Config) error {
	err := newServer(c).Run(ctx, &sdk.StdioTransport{})
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("read a message of the agent that has started this: %w", err)
}

// Routes mounts the server at /mcp. It runs no identity: who is asked there answers while another process runs it.
func Routes(find Finder) func(*http.ServeMux, *backend.Backend) {
	return func(mux *http.ServeMux, with *backend.Backend) {
		beside := host.Beside(with.Home.Home, with.Store, with.Watcher)
		config := Config{
			Home: with.Home, Log: with.Log, Find: find,
			Talk: func(_ context.Context, who string) (*host.Identity, error) {
				id, err := find(who)
				return beside.Of(id), err
			},
			Say: func(room, text string) (chat.Line, error) {
				said, err := with.Say("", room, "", text)
				return chat.Line{From: said.From, Hash: said.Hash}, err
			},
		}
		mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer(config) },
			&sdk.StreamableHTTPOptions{
				Stateless:                  true, // else the newest protocol is refused
				DisableLocalhostProtection: true, // the guard knows the names of this server
			}))
	}
}

// schemas serve all servers.
var schemas = sdk.NewSchemaCache()

// newServer makes a server for one client, which lists the rooms that there are now.
func newServer(config Config) *sdk.Server {
	self := &sdk.Implementation{Name: "lethe", Title: "Lethe", Version: lethe.Version}
	server := sdk.NewServer(self, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		SchemaCache:  schemas,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	look := &sdk.ToolAnnotations{ReadOnlyHint: true}
	add(server, look, "agents", config.agents,
		"List the identities of this home: what each does, waits for, and hears.")
	add(server, nil, "ask", config.ask,
		"Say something to an identity, as a line of its room, and wait for its answer.")
	add(server, look, "open_ref", config.openRef,
		"Open a stored text by its hash, page by page: what was forgotten, a long answer.")
	add(server, look, "read_room", config.readRoom, "Read lines of a room, the newest first.")
	add(server, look, "recall", config.recall,
		"Search what an identity has forgotten: months of talk, calls, their results.")
	add(server, nil, "say", config.say, "Say a line in a room, and wait for nothing.")
	config.addResources(server)
	return server
}

// call runs a tool. Its result is a text, or becomes JSON.
type call[In any] func(context.Context, *sdk.CallToolRequest, In) (any, error)

// add adds a tool.
func add[In any](s *sdk.Server, hints *sdk.ToolAnnotations, name string, run call[In], does string) {
	tool := &sdk.Tool{Name: name, Description: does, Annotations: hints}
	sdk.AddTool(s, tool, func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		out, err := run(ctx, r, in)
		if err != nil {
			return nil, nil, refused(err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: shown(out)}}}, nil, nil
	})
}

// mostRunes bounds a result.
const mostRunes = 20_000

// shown writes a result for a model. Text of others in it forges no ref.
func shown(out any) string {
	text, ok := out.(string)
	if !ok {
		data, _ := json.MarshalIndent(out, "", " ")
		text = string(data)
	}
	return clip(blobs.Escape(secret.Text(text)), mostRunes)
}

// clip bounds a text.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d more characters)", string(runes[:most]), len(runes)-most)
}

// refused writes an error for a model, with what to do.
func refused(err error) error {
	text, advice := err.Error(), backend.Hint(err)
	if errors.Is(err, home.ErrNotFound) || errors.Is(err, host.ErrNotHeard) {
		advice = "the tool agents lists what there is"
	}
	if advice != "" {
		text += " (" + advice + ")"
	}
	return errors.New(shown(text))
}
