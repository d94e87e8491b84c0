package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/home"
	"lethe/agent/lookup"
	"lethe/agent/wake"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/secret"
)

func (c Config) agents(context.Context, *sdk.CallToolRequest, struct{}) (any, error) {
	return c.Home.Agents()
}

type recallArgs struct {
	Query    string `json:"query" jsonschema:"names, numbers or words that must occur"`
	Identity string `json:"identity,omitempty" jsonschema:"whose memory; by default the default identity's"`
	Limit    int    `json:"limit,omitempty" jsonschema:"matches; default 5, at most 20"`
}

func (c Config) recall(ctx context.Context, _ *sdk.CallToolRequest, args recallArgs) (any, error) {
	id, err := c.Find(args.Identity)
	if err != nil {
		return nil, err
	}
	found, err := c.Home.Recall(ctx, id, report.Search{Text: args.Query, Limit: bound(args.Limit, 5, 20)}, c.Log)
	if errors.Is(err, report.ErrNoMatch) {
		return "nothing forgotten holds these words; try others, or names; what is not forgotten yet, ask", nil
	}
	return found, err
}

// bound returns n, at most most, or usual for 0 and less.
func bound(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

type openArgs struct {
	Hash     string `json:"hash" jsonschema:"of a match or an answer, or a hash=… of a text"`
	Identity string `json:"identity,omitempty" jsonschema:"who may open it; by default the default identity"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"first character, from 0"`
	Limit    int64  `json:"limit,omitempty" jsonschema:"characters; default 4000"`
}

// openRef opens what the identity itself may open.
func (c Config) openRef(_ context.Context, _ *sdk.CallToolRequest, args openArgs) (any, error) {
	id, err := c.Find(args.Identity)
	if err != nil {
		return nil, err
	}
	state, err := home.Fold(id, c.Home.Store)
	if err != nil {
		return nil, err
	}
	its := lookup.View{Config: wake.Config{Home: c.Home.Home, Identity: id, Store: c.Home.Store}, Owns: state.Owns}
	its.Know(lookup.Known{Granted: state.Grants, Page: mostRunes / 2}) // escapes take room, too
	original, err := its.Open(args.Hash)
	if err != nil {
		return nil, fmt.Errorf("%w of %s; copy the hash as recall or a text shows it, and name its identity",
			err, id.Name)
	}
	if !utf8.Valid(original.Body) {
		resource := blobURI + original.Address
		return fmt.Sprintf("a file of %d bytes: read them as the resource %s", len(original.Body), resource), nil
	}
	if said := report.Read(blobs.Blob{Body: original.Body}).Text; said != "" {
		original.Body = []byte(said)
	}
	return string(original.Page(args.Offset, args.Limit, utf8.RuneCountInString)), nil
}

type readArgs struct {
	Room   string `json:"room"`
	Lines  int    `json:"lines,omitempty" jsonschema:"how many; default 30, at most 200"`
	Before int64  `json:"before,omitempty" jsonschema:"for earlier lines: from of the last line of a page"`
}

func (c Config) readRoom(_ context.Context, _ *sdk.CallToolRequest, args readArgs) (any, error) {
	if !slices.Contains(chat.All(c.Home.Dir), args.Room) {
		return nil, fmt.Errorf("find room %q: %w", args.Room, home.ErrNotFound)
	}
	before := cmp.Or(args.Before, -1) // the end
	lines, err := chat.Before(chat.Path(c.Home.Dir, args.Room), before, bound(args.Lines, 30, 200))
	list := []report.Said{}
	for _, l := range slices.Backward(lines) {
		list = append(list, report.SaidOf(l))
	}
	return list, err
}

const (
	blobURI = "lethe://blob/"
	roomURI = "lethe://room/"
)

// addResources adds the stored texts and files, and the rooms, and lists the first 100 rooms. A person may see all, as
// by the API.
func (c Config) addResources(server *sdk.Server) {
	stored := &backend.Backend{Home: c.Home}
	readBlob := reader(blobURI, func(hash string) ([]byte, error) {
		b, err := stored.Blob(hash)
		return b.Body, err
	})
	readRoom := reader(roomURI, func(room string) ([]byte, error) {
		lines, err := c.readRoom(context.Background(), nil, readArgs{Room: room})
		return []byte(shown(lines)), err
	})
	addTemplate := func(name, uri string, read sdk.ResourceHandler) {
		server.AddResourceTemplate(&sdk.ResourceTemplate{Name: name, URITemplate: uri}, read)
	}
	addTemplate("stored text or file", blobURI+"{hash}", readBlob)
	addTemplate("lines of a room", roomURI+"{name}", readRoom)
	all := chat.All(c.Home.Dir)
	for _, room := range all[:min(len(all), 100)] {
		server.AddResource(&sdk.Resource{Name: room, URI: roomURI + room}, readRoom)
	}
}

// reader reads resources, whose names follow prefix.
func reader(prefix string, read func(name string) ([]byte, error)) sdk.ResourceHandler {
	return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		data, err := read(strings.TrimPrefix(r.Params.URI, prefix))
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: refused(err).Error()}
		}
		one := &sdk.ResourceContents{MIMEType: http.DetectContentType(data)}
		if data = secret.Bytes(data); utf8.Valid(data) {
			one.Text = string(data)
		} else {
			one.Blob = data
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{one}}, nil
	}
}
