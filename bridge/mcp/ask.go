package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/events"
	"lethe/agent/host"
	"lethe/chat"
)

type sayArgs struct {
	Room    string `json:"room"`
	Message string `json:"message"`
}

func (c Config) say(_ context.Context, _ *sdk.CallToolRequest, a sayArgs) (any, error) {
	_, err := c.Say(a.Room, a.Message)
	if len(c.Home.Hearers(a.Room)) == 0 {
		return "said, but no identity hears that room; agents lists those that are heard", err
	}
	return "said", err
}

// Seconds to wait for an answer. Many clients give up a call after a minute.
const (
	usualWait = 50
	mostWait  = 60
)

type askArgs struct {
	Question string `json:"question,omitempty" jsonschema:"what to say to the identity"`
	Identity string `json:"identity,omitempty" jsonschema:"whom; by default the default identity"`
	Room     string `json:"room,omitempty" jsonschema:"one that it hears; by default its own"`
	Handle   string `json:"handle,omitempty" jsonschema:"in the place of a question: goes on waiting for an answer"`
	Seconds  int    `json:"seconds,omitempty" jsonschema:"how long to wait; default 50, at most 60"`
}

// ask says a question and waits for the end of the turn that hears it, or goes on waiting for one.
func (c Config) ask(ctx context.Context, request *sdk.CallToolRequest, args askArgs) (_ any, err error) {
	ctx, end := context.WithTimeout(ctx, time.Duration(bound(args.Seconds, usualWait, mostWait))*time.Second)
	defer end()
	who, _, _ := strings.Cut(args.Handle, "/")
	identity, err := c.Talk(ctx, cmp.Or(who, args.Identity))
	if err == nil && args.Handle == "" {
		args.Handle, err = c.begin(identity, args)
	}
	if err != nil {
		return nil, err
	}
	place := strings.Split(args.Handle, "/")
	if len(place) != 5 {
		return nil, errors.New("the handle is not one that ask has returned; copy all of it")
	}
	asked := &host.Asked{Identity: identity, Room: place[1], After: place[2]}
	goOn := "go on waiting with ask, handle=" + args.Handle
	from, _ := strconv.ParseInt(place[3], 10, 64)
	reply, err := await(ctx, request, asked, chat.Line{From: from, Hash: place[4]})
	switch {
	case ctx.Err() != nil:
		return identity.Name + " has not answered yet; " + goOn, nil
	case errors.Is(err, host.ErrStopped):
		return nil, fmt.Errorf("%w: lethe run %s; then %s", err, identity.Name, goOn)
	}
	reply.Text = clip(reply.Text, mostRunes/2)
	return reply, err
}

// begin says the question, and returns the handle of its answer: identity, room, where its life is, and the line.
func (c Config) begin(identity *host.Identity, args askArgs) (handle string, err error) {
	asked, err := identity.Ask(cmp.Or(args.Room, host.RoomOf(identity.Identity)))
	if err != nil {
		return "", err
	}
	line, err := c.Say(asked.Room, args.Question)
	return fmt.Sprintf("%.16s/%s/%s/%d/%s", identity.Self, asked.Room, asked.After, line.From, line.Hash), err
}

// await waits for the end of a turn, also behind stops, and tells of calls meanwhile where the client has asked for
// that.
func await(ctx context.Context, request *sdk.CallToolRequest, asked *host.Asked, line chat.Line) (host.Reply, error) {
	tell := func(e events.Event) error {
		if token := request.Params.GetProgressToken(); token != nil && e.Type == events.ToolRequest {
			step := float64(e.At.UnixMilli()) // has to grow
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: step, Message: shown(e.Tool)}
			_ = request.Session.NotifyProgress(ctx, p) // the client may be gone
		}
		return nil
	}
	for {
		before := asked.After
		reply, err := asked.Await(ctx, line, tell)
		if !errors.Is(err, host.ErrStopped) || asked.After == before {
			return reply, err
		}
	}
}
