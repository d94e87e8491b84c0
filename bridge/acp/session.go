package acp

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/agent/events"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/screen"
)

// session is a room that the editor has open. Either a prompt or follow reads the events, one
// after the other, so that each is shown once and before the end of the prompt that it is of.
type session struct {
	*server
	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
	id      sdk.SessionId
	room    string
	self    *host.Identity
	view    *view
	opening string // text that the first prompt puts before its own

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

// Prompt says the person's text in the room, and answers when the turn has ended.
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
	reason, err := one.say(ctx, text)
	return sdk.PromptResponse{StopReason: reason}, refused(err)
}

// say says a text, and goes on until nothing is open that the editor's person can decide.
func (s *session) say(ctx context.Context, text string) (sdk.StopReason, error) {
	line, err := s.post(text)
	for err == nil {
		var r host.Reply
		r, err = s.await(ctx, line)
		switch {
		case ctx.Err() != nil || s.ctx.Err() != nil:
			return sdk.StopReasonCancelled, nil
		case errors.As(err, new(*host.PausedError)): // the room says why
			return sdk.StopReasonEndTurn, nil
		case err != nil:
			return "", err
		case !s.mayChoose(r.Question):
			return cmp.Or(reasons[r.Ended], sdk.StopReasonEndTurn), nil
		}
		choice, elsewhere := s.permission(ctx, *r.Question)
		switch {
		case elsewhere != nil:
			line = *elsewhere
		case choice != "":
			line, err = s.post(r.Question.ID + " " + choice)
		default: // the question stays open
			return sdk.StopReasonCancelled, nil
		}
	}
	return "", err
}

// mayChoose reports whether a question has options, and the editor's person may choose one. The question may be nil.
func (s *session) mayChoose(q *chat.Question) bool {
	if q == nil || len(q.Options) == 0 {
		return false
	}
	return q.MayAnswer(s.User, s.People)
}

// post says a text to the identity, which is taken up where it does not run.
func (s *session) post(text string) (chat.Line, error) {
	if err := s.self.Resume(s.ctx); err != nil {
		return chat.Line{}, err
	}
	return host.Post(s.Home, s.room, s.User, text)
}

// reasons has the protocol's words for the ends of a turn.
var reasons = map[string]sdk.StopReason{
	"stop":      sdk.StopReasonCancelled,
	"max_steps": sdk.StopReasonMaxTurnRequests,
	"cut":       sdk.StopReasonMaxTokens,
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

// permission asks the editor's person. choice is their answer, or "". elsewhere is the answer's line, where somebody
// was faster in another way.
func (s *session) permission(ctx context.Context, q chat.Question) (choice string, elsewhere *chat.Line) {
	asking, end := context.WithCancel(s.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	said := make(chan string, 1)
	go func() { // ends with asking
		defer end()
		defer close(said)
		call := sdk.ToolCallUpdate{
			ToolCallId: sdk.ToolCallId(q.ID), Title: sdk.Ptr(bridge.Clip(q.Text, 200)),
			Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: content(q.Text),
		}
		ask := sdk.RequestPermissionRequest{SessionId: s.id, Options: options(q), ToolCall: call}
		resp, err := s.conn.RequestPermission(asking, ask)
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
		answers := e.Question != nil && e.Question.ID == q.ID
		if answers && e.Type == events.Answered {
			s.after = before
			return "", &line
		}
		s.show(e)
	}
	return <-said, nil
}

var optionKinds = map[string]sdk.PermissionOptionKind{
	"no":     sdk.PermissionOptionKindRejectOnce,
	"always": sdk.PermissionOptionKindAllowAlways,
}

// options returns the options of a question as an editor shows them.
func options(q chat.Question) (list []sdk.PermissionOption) {
	for _, o := range q.Options {
		kind := cmp.Or(optionKinds[strings.ToLower(o)], sdk.PermissionOptionKindAllowOnce)
		list = append(list, sdk.PermissionOption{Kind: kind, Name: screen.Sanitize(o), OptionId: sdk.PermissionOptionId(o)})
	}
	return list
}

// inline bounds the bytes of an embedded file that stand in the line.
const inline = 32 << 10

// text makes the text of a prompt: its texts, and for each file the name of its blob.
func (s *session) text(blocks []sdk.ContentBlock) (string, error) {
	var parts []string
	for _, b := range blocks {
		part, err := s.part(b)
		if err != nil {
			return "", err
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, "\n")
	if strings.TrimSpace(text) == "" {
		return "", invalid("the prompt is empty")
	}
	if !strings.HasPrefix(text, "/") { // a command stands alone
		text, s.opening = s.opening+text, ""
	}
	return text, nil
}

func (s *session) part(b sdk.ContentBlock) (string, error) {
	switch {
	case b.Text != nil:
		return b.Text.Text, nil
	case b.ResourceLink != nil:
		return fmt.Sprintf("[file %s: %s]", bridge.Inert(b.ResourceLink.Name), bridge.Inert(b.ResourceLink.Uri)), nil
	case b.Image != nil:
		return s.decode(bridge.File{Kind: "image", Mime: b.Image.MimeType}, b.Image.Data)
	case b.Audio != nil:
		return s.decode(bridge.File{Kind: "audio", Mime: b.Audio.MimeType}, b.Audio.Data)
	case b.Resource == nil:
		return "", nil
	}
	if r := b.Resource.Resource.BlobResourceContents; r != nil {
		return s.decode(bridge.File{Kind: "file", Name: r.Uri, Mime: *cmp.Or(r.MimeType, new(string))}, r.Blob)
	}
	t := b.Resource.Resource.TextResourceContents
	switch {
	case t == nil:
		return "", nil
	// A hash in the person's line would give the identity a right to its blob.
	case len(t.Text) > inline || len(blobs.Mentions(t.Text)) > 0:
		return s.put(bridge.File{Kind: "file", Name: t.Uri, Mime: "text/plain"}, []byte(t.Text))
	}
	return fmt.Sprintf("[file %s]\n%s", bridge.Inert(t.Uri), t.Text), nil
}

func (s *session) decode(f bridge.File, data string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", invalid("the %s is not base64: %v", f.Kind, err)
	}
	return s.put(f, raw)
}

func (s *session) put(f bridge.File, data []byte) (string, error) {
	_, tag, err := f.Put(s.Store, time.Now(), s.User, data)
	return tag, err
}
