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

	turn    chan struct{}              // holds one value while a prompt has the session
	prompts map[int]context.CancelFunc // under way or waiting; under the server's mu
	begun   int                        // prompts so far; under the same
	after   string                     // the last event that was shown
	stop    context.CancelFunc
	idle    chan struct{} // closed when follow has ended
}

// follow shows what happens between prompts, until stop.
func (s *session) follow() {
	ctx, stop := context.WithCancel(s.ctx)
	s.stop, s.idle = stop, make(chan struct{})
	go func() { // ends with ctx
		defer close(s.idle)
		for event, err := range s.self.Events(ctx, s.after) {
			if err != nil {
				s.Log.Warn("a session does not show what happens", "room", s.room, "error", err)
				return
			}
			s.show(event)
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

// Cancel ends the prompts of a session that have come before it. The SDK has ended the newest, unless one before that
// has ended since: that took the newest's place in its list.
func (s *server) Cancel(_ context.Context, note sdk.CancelNotification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[note.SessionId]; one != nil {
		for _, end := range one.prompts {
			end()
		}
	}
	select {
	case s.cancelled <- struct{}{}:
	default: // nobody waits for the one before
	}
	return nil
}

// begin notes a prompt, which Cancel ends, until end is called.
func (s *session) begin(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(parent)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.begun++
	number := s.begun
	s.prompts[number] = cancel
	return ctx, func() {
		cancel()
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		delete(s.prompts, number)
	}
}

// Prompt says the person's text in the room, and answers when the turn has ended.
func (s *server) Prompt(ctx context.Context, request sdk.PromptRequest) (sdk.PromptResponse, error) {
	one, err := s.session(request.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	ctx, end := one.begin(ctx)
	defer end()
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case <-one.ctx.Done():
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	text, err := one.text(request.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	one.stop()
	<-one.idle
	defer one.follow()
	reason, err := one.say(ctx, text)
	return sdk.PromptResponse{StopReason: reason}, refused(err)
}

// say says a text, and goes on until nothing is open that the editor's person can decide in the editor.
func (s *session) say(ctx context.Context, text string) (sdk.StopReason, error) {
	line, err := s.post(text)
	for err == nil {
		var reply host.Reply
		reply, err = s.await(ctx, line)
		switch {
		case ctx.Err() != nil || s.ctx.Err() != nil:
			return sdk.StopReasonCancelled, nil
		case errors.As(err, new(*host.PausedError)): // the room says why
			return sdk.StopReasonEndTurn, nil
		case err != nil:
			return "", err
		case !s.mayChoose(reply.Question):
			return cmp.Or(reasons[reply.Ended], sdk.StopReasonEndTurn), nil
		}
		ask := s.permission
		if takesText(*reply.Question) {
			ask = s.form
		}
		choice, elsewhere := s.choice(ctx, *reply.Question, ask)
		switch {
		case elsewhere != nil:
			line = *elsewhere
		case choice != "":
			line, err = s.post(reply.Question.ID + " " + choice)
		case takesText(*reply.Question): // it stays open, for the next prompt
			return cmp.Or(reasons[reply.Ended], sdk.StopReasonEndTurn), nil
		default: // the question stays open
			return sdk.StopReasonCancelled, nil
		}
	}
	return "", err
}

// mayChoose reports whether the editor can show a question, and its person may answer it. The question may be nil.
func (s *session) mayChoose(q *chat.Question) bool {
	if q == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	canShow := len(q.Options) > 0 || s.asks
	return canShow && q.MayAnswer(s.User, s.People)
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
		reply, err := asked.Await(waiting, line, func(e events.Event) error { s.show(e); return nil })
		if !errors.Is(err, host.ErrStopped) || errors.Is(err, host.ErrDismissed) {
			return reply, err
		}
		if err := s.self.Resume(waiting); err != nil {
			return reply, err
		}
	}
}

// choice asks the editor's person. choice is their answer, or "". elsewhere is the answer's line, where somebody was
// faster in another way.
func (s *session) choice(
	ctx context.Context, question chat.Question, ask func(context.Context, chat.Question) string,
) (choice string, elsewhere *chat.Line) {
	asking, end := context.WithCancel(s.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	said := make(chan string, 1)
	go func() { // ends with asking
		defer end()
		defer close(said)
		if answer := ask(asking, question); answer != "" {
			said <- answer
		}
	}()
	before, line := s.after, chat.Line{}
	for event, err := range s.self.Events(asking, s.after) {
		if err != nil {
			return "", nil
		}
		if event.Type == events.UserMessage && event.Room == s.room {
			before, line.Hash = s.after, event.Line
		}
		answers := event.Question != nil && event.Question.ID == question.ID
		if answers && event.Type == events.Answered {
			s.after = before
			return "", &line
		}
		s.show(event)
	}
	return <-said, nil
}

// permission has the editor's person choose an option; "" if nobody did.
func (s *session) permission(ctx context.Context, question chat.Question) string {
	call := sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId(question.ID), Title: sdk.Ptr(bridge.Clip(question.Text, 200)),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: content(question.Text),
	}
	ask := sdk.RequestPermissionRequest{SessionId: s.id, Options: choices(question), ToolCall: call}
	resp, err := s.conn.RequestPermission(ctx, ask)
	if chosen := resp.Outcome.Selected; err == nil && chosen != nil {
		return string(chosen.OptionId)
	}
	return ""
}

// takesText reports whether a question has no options.
func takesText(question chat.Question) bool { return len(question.Options) == 0 }

// form has the editor's person write an answer; "" if nobody did.
func (s *session) form(ctx context.Context, question chat.Question) string {
	const field = "answer"
	resp, err := s.conn.UnstableCreateElicitation(ctx, sdk.UnstableCreateElicitationRequest{
		Form: &sdk.UnstableCreateElicitationForm{
			Meta:    map[string]any{"sessionId": s.id}, // see scoped
			Message: screen.Sanitize(question.Text),
			RequestedSchema: sdk.UnstableElicitationSchema{
				Type: "object", Required: []string{field},
				Properties: map[string]any{field: map[string]any{"type": "string", "title": "Answer"}},
			},
		},
	})
	if err != nil || resp.Accept == nil {
		return ""
	}
	answer, _ := resp.Accept.Content[field].(string)
	return strings.TrimSpace(answer)
}

var optionKinds = map[string]sdk.PermissionOptionKind{
	"no":     sdk.PermissionOptionKindRejectOnce,
	"always": sdk.PermissionOptionKindAllowAlways,
}

// choices returns the options of a question as an editor shows them.
func choices(q chat.Question) (list []sdk.PermissionOption) {
	for _, name := range q.Options {
		kind := cmp.Or(optionKinds[strings.ToLower(name)], sdk.PermissionOptionKindAllowOnce)
		option := sdk.PermissionOption{Kind: kind, Name: screen.Sanitize(name), OptionId: sdk.PermissionOptionId(name)}
		list = append(list, option)
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

func (s *session) part(block sdk.ContentBlock) (string, error) {
	switch {
	case block.Text != nil:
		return block.Text.Text, nil
	case block.ResourceLink != nil:
		link := block.ResourceLink
		return fmt.Sprintf("[file %s: %s]", bridge.Inert(link.Name), bridge.Inert(link.Uri)), nil
	case block.Image != nil:
		return s.decode(bridge.File{Kind: "image", Mime: block.Image.MimeType}, block.Image.Data)
	case block.Audio != nil:
		return s.decode(bridge.File{Kind: "audio", Mime: block.Audio.MimeType}, block.Audio.Data)
	case block.Resource == nil:
		return "", nil
	}
	if r := block.Resource.Resource.BlobResourceContents; r != nil {
		return s.decode(bridge.File{Kind: "file", Name: r.Uri, Mime: *cmp.Or(r.MimeType, new(string))}, r.Blob)
	}
	plain := block.Resource.Resource.TextResourceContents
	switch {
	case plain == nil:
		return "", nil
	// A hash in the person's line would give the identity a right to its blob.
	case len(plain.Text) > inline || len(blobs.Mentions(plain.Text)) > 0:
		return s.put(bridge.File{Kind: "file", Name: plain.Uri, Mime: "text/plain"}, []byte(plain.Text))
	}
	return fmt.Sprintf("[file %s]\n%s", bridge.Inert(plain.Uri), plain.Text), nil
}

func (s *session) decode(file bridge.File, data string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", invalid("the %s is not base64: %v", file.Kind, err)
	}
	return s.put(file, raw)
}

func (s *session) put(f bridge.File, data []byte) (string, error) {
	_, tag, err := f.Put(s.Store, time.Now(), s.User, data)
	return tag, err
}
