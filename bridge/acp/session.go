package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
	"lethe/events"
	"lethe/host"
)

// session is a room that the editor has open. Either a prompt or follow reads the events, one
// after the other, so that each is shown once and before the end of the prompt that it is of.
type session struct {
	*server
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	id     sdk.SessionId
	room   string
	self   *host.Identity
	view   *view
	told   string // what the first prompt says before its own text

	turn  chan struct{} // holds one value while a prompt has the session
	after string        // the last event that was shown
	stop  context.CancelFunc
	idle  chan struct{} // closed when follow has ended
}

// follow shows what happens between prompts, until stop.
func (s *session) follow() {
	ctx, stop := context.WithCancel(s.ctx)
	s.stop, s.idle = stop, make(chan struct{})
	go func() { // ends with ctx
		defer close(s.idle)
		for e, err := range s.self.Events(ctx, s.after) {
			if err != nil {
				s.Log.Warn("a session does not show what happens", "room", s.room, "error", err)
				return
			}
			s.show(e)
		}
	}()
}

// end ends the session, after the prompt that has it.
func (s *session) end() {
	s.cancel()
	s.turn <- struct{}{}
	<-s.idle
}

func (s *session) show(e events.Event) {
	if e.ID != "" {
		s.after = e.ID
	}
	s.view.event(e)
}

// Cancel has nothing to do: the SDK has ended the context of the prompt.
func (s *server) Cancel(context.Context, sdk.CancelNotification) error { return nil }

// Prompt says what the person wrote, and answers when the turn has ended.
func (s *server) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	one, err := s.session(r.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case <-one.ctx.Done():
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	text, err := one.text(r.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	one.stop()
	<-one.idle
	defer one.follow()
	reply, reason, err := one.say(ctx, text)
	if err != nil {
		return sdk.PromptResponse{}, refused(err)
	}
	return sdk.PromptResponse{StopReason: reason, Usage: &sdk.Usage{
		InputTokens: int(reply.In), CachedReadTokens: sdk.Ptr(int(reply.Cached)), OutputTokens: int(reply.Out), TotalTokens: int(reply.In + reply.Out),
	}}, nil
}

// say says a text, and goes on until nothing is open that the editor's person can decide.
func (s *session) say(ctx context.Context, text string) (host.Reply, sdk.StopReason, error) {
	var all host.Reply
	line, err := s.post(text)
	for err == nil {
		var r host.Reply
		r, err = s.await(ctx, line)
		all.In, all.Cached, all.Out = all.In+r.In, all.Cached+r.Cached, all.Out+r.Out
		switch {
		case ctx.Err() != nil || s.ctx.Err() != nil:
			return all, sdk.StopReasonCancelled, nil
		case errors.As(err, new(*host.PausedError)): // the room says why
			return all, sdk.StopReasonEndTurn, nil
		case err != nil:
			return all, "", err
		case r.Question == nil || len(r.Question.Options) == 0 || !r.Question.MayAnswer(s.User, s.People):
			return all, reasonOf(r.Ended), nil
		}
		choice, elsewhere := s.permission(ctx, *r.Question)
		switch {
		case elsewhere != nil:
			line = *elsewhere
		case choice != "":
			line, err = s.post(r.Question.ID + " " + choice)
		default: // the question stays open
			return all, sdk.StopReasonCancelled, nil
		}
	}
	return all, "", err
}

// post says a text to the identity, which is taken up where it does not run.
func (s *session) post(text string) (chat.Line, error) {
	if err := s.self.Resume(s.ctx); err != nil {
		return chat.Line{}, err
	}
	return host.Post(s.Home, s.room, s.User, text)
}

func reasonOf(ended string) sdk.StopReason {
	switch ended {
	case "stop":
		return sdk.StopReasonCancelled
	case "max_steps":
		return sdk.StopReasonMaxTurnRequests
	case "cut":
		return sdk.StopReasonMaxTokens
	}
	return sdk.StopReasonEndTurn
}

// await shows events until the turn that hears the line has ended. Where the process that runs
// the identity has ended, this one takes it up. A cancelled prompt stops the turn, and waits for that.
func (s *session) await(ctx context.Context, line chat.Line) (host.Reply, error) {
	waiting, end := context.WithCancel(s.ctx)
	defer end()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-s.conn.Done(): // the editor is gone, and the turn goes on
		default:
			_, _ = host.Post(s.Home, s.room, s.User, "/stop")
			time.AfterFunc(10*time.Second, end) // the turn may hang
		}
	})()
	if line.To > 0 { // the editor has shown it
		s.view.own = line.Hash
	}
	asked := host.Asked{Identity: s.self, Room: s.room, After: s.after}
	for {
		r, err := asked.Await(waiting, line, func(e events.Event) error { s.show(e); return nil })
		if !errors.Is(err, host.ErrStopped) || errors.Is(err, host.ErrDismissed) {
			return r, err
		}
		if err := s.self.Resume(waiting); err != nil {
			return r, err
		}
	}
}

// permission asks the editor's person. choice is what they say, if they do; elsewhere is the line of who
// has answered first in another way.
func (s *session) permission(ctx context.Context, q chat.Question) (choice string, elsewhere *chat.Line) {
	asking, end := context.WithCancel(s.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	said := make(chan string, 1)
	go func() { // ends with asking
		defer end()
		defer close(said)
		resp, err := s.conn.RequestPermission(asking, sdk.RequestPermissionRequest{SessionId: s.id, Options: options(q), ToolCall: sdk.ToolCallUpdate{
			ToolCallId: sdk.ToolCallId(q.ID), Title: sdk.Ptr(bridge.Clip(q.Text, 200)), Status: sdk.Ptr(sdk.ToolCallStatusPending),
			Content: []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(chat.Sanitize(q.Text)))},
		}})
		if chosen := resp.Outcome.Selected; err == nil && chosen != nil {
			said <- string(chosen.OptionId)
		}
	}()
	before, line := s.after, chat.Line{}
	for e, err := range s.self.Events(asking, s.after) {
		if err != nil {
			return "", nil
		}
		if e.Type == events.UserMessage && e.Room == s.room {
			before, line.Hash = s.after, e.Line
		}
		if e.Type == events.Answered && e.Question != nil && e.Question.ID == q.ID {
			s.after = before
			return "", &line
		}
		s.show(e)
	}
	return <-said, nil
}

// options are those of a question as an editor shows them.
func options(q chat.Question) (list []sdk.PermissionOption) {
	for _, o := range q.Options {
		kind := sdk.PermissionOptionKindAllowOnce
		switch strings.ToLower(o) {
		case "no":
			kind = sdk.PermissionOptionKindRejectOnce
		case "always":
			kind = sdk.PermissionOptionKindAllowAlways
		}
		list = append(list, sdk.PermissionOption{Kind: kind, Name: chat.Sanitize(o), OptionId: sdk.PermissionOptionId(o)})
	}
	return list
}

// text is what a prompt says: its texts, and for each file the name of its blob.
func (s *session) text(blocks []sdk.ContentBlock) (string, error) {
	var parts []string
	put := func(f bridge.File, data []byte) error {
		_, tag, err := f.Put(s.Store, time.Now(), s.User, data)
		parts = append(parts, tag)
		return err
	}
	file := func(kind, name, mime, data string) error {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return invalid("the %s is not base64: %v", kind, err)
		}
		return put(bridge.File{Kind: kind, Name: name, Mime: mime}, raw)
	}
	for _, b := range blocks {
		var err error
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.Image != nil:
			err = file("image", "", b.Image.MimeType, b.Image.Data)
		case b.Audio != nil:
			err = file("audio", "", b.Audio.MimeType, b.Audio.Data)
		case b.ResourceLink != nil:
			parts = append(parts, fmt.Sprintf("[file %s: %s]", bridge.Inert(b.ResourceLink.Name), bridge.Inert(b.ResourceLink.Uri)))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			t := b.Resource.Resource.TextResourceContents
			const inline = 32 << 10                                      // bytes that stand in the line at most
			if len(t.Text) > inline || len(blobs.Mentions(t.Text)) > 0 { // in the person's line it would give a right to those
				err = put(bridge.File{Kind: "file", Name: t.Uri, Mime: "text/plain"}, []byte(t.Text))
				break
			}
			parts = append(parts, fmt.Sprintf("[file %s]\n%s", bridge.Inert(t.Uri), t.Text))
		case b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			f := b.Resource.Resource.BlobResourceContents
			mime := ""
			if f.MimeType != nil {
				mime = *f.MimeType
			}
			err = file("file", f.Uri, mime, f.Blob)
		}
		if err != nil {
			return "", err
		}
	}
	text := strings.Join(parts, "\n")
	if strings.TrimSpace(text) == "" {
		return "", invalid("the prompt is empty")
	}
	if !strings.HasPrefix(text, "/") { // a command stands alone
		text, s.told = s.told+text, ""
	}
	return text, nil
}
