package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
)

// question is a server's question to people in the middle of a call. The call waits for the answer, as long as the
// server lives; an identity has one such question of a server at a time.
type question struct {
	*sdk.ElicitParams
	answer chan *sdk.ElicitResult
}

var dismissed = &sdk.ElicitResult{Action: "cancel"}

// elicited takes a question to who waits for the call of the server that it belongs to. It is dismissed where that is
// not known.
func (s *server) elicited(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p := s.asking(ctx)
	if p == nil {
		return dismissed, nil
	}
	q := question{r.Params, make(chan *sdk.ElicitResult, 1)}
	select {
	case p.asks <- q:
	case <-p.left:
	case <-p.done:
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-p.left:
		return dismissed, nil
	case <-p.done:
		return dismissed, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// callKey is under which the context of a call has it.
type callKey struct{}

// asking returns the call that a question belongs to: the one that the context tells, as it does by the newest
// protocol, or one that is under way, if all of these are of one identity; else nil, since another one would be asked.
func (s *server) asking(ctx context.Context) *pending {
	if p, told := ctx.Value(callKey{}).(*pending); told {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var p *pending
	for other := range s.open {
		if p != nil && other.life != p.life {
			return nil
		}
		p = other
	}
	return p
}

// says is a question as an identity reads it.
func (q question) says(server string) []byte {
	schema, _ := json.Marshal(q.RequestedSchema) // it was read from JSON
	fields := fmt.Sprintf("The fields of its content: %s", schema)
	if q.URL != "" {
		fields = "It wants people to open this address, and no content: " + q.URL
	}
	return fmt.Appendf(nil, "%s asks people before it goes on, and waits:\n%s\n%s\nHave people answer. Then call USE with the "+
		`name %s/%s and args {"question": what it asks, word for word, "action": "accept", "decline" or "cancel", `+
		`"content": {…}}: people are shown that call, and it returns what the tool returns.`,
		server, q.Message, fields, server, catalogue.Answering)
}

// pending is a call under way.
type pending struct {
	live     *live
	life     string // who called
	asks     chan question
	question question      // people are asked this one
	late     *time.Timer   // until it is dismissed
	left     chan struct{} // closed when its questions are dismissed
	stop     context.CancelCauseFunc
	limit    context.Context
	done     chan struct{} // closed with result and err
	result   *sdk.CallToolResult
	err      error
}

// begun calls a tool, with nobody waiting for it.
func (s *server) begun(ctx context.Context, l *live, life, tool string, args json.RawMessage) *pending {
	p := &pending{
		live: l, life: life, asks: make(chan question, 1), left: make(chan struct{}), done: make(chan struct{}),
	}
	p.limit, p.stop = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), callKey{}, p))
	s.mu.Lock()
	s.open[p] = true
	s.mu.Unlock()
	go func() { // ends with the call, which ends with limit and with the server
		defer close(p.done)
		p.result, p.err = l.session.CallTool(p.limit, &sdk.CallToolParams{Name: tool, Arguments: args})
	}()
	return p
}

// await waits until a call has returned, or asks something.
func (s *server) await(ctx context.Context, p *pending) (answer catalogue.Answer, err error) {
	late := time.AfterFunc(s.of.call, func() {
		p.stop(fmt.Errorf("it did not answer within %v, and was stopped. What it did is not known", s.of.call))
	})
	defer late.Stop()
	defer context.AfterFunc(ctx, func() { p.stop(ctx.Err()) })()
	for answer.Text == nil {
		select {
		case q := <-p.asks:
			answer.Text = s.put(p, q)
			continue
		case <-p.done:
		case <-p.limit.Done():
			deaf := time.AfterFunc(stopGrace, func() { s.stop(p.live, true) }) // it does not even read the call
			<-p.done
			deaf.Stop()
		}
		defer s.over(p)
		if p.err != nil {
			return answer, s.failure(ctx, p.limit, p.live, p.err)
		}
		return answerOf(p.result), nil
	}
	return answer, nil
}

// put puts a question to the identity that called, unless another one is open: that is dismissed.
func (s *server) put(p *pending, q question) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[p.life] != nil {
		q.answer <- dismissed
		return nil
	}
	p.question = q
	p.live.calls++ // while it waits
	delete(s.open, p)
	s.waiting[p.life] = p
	p.late = time.AfterFunc(s.of.asked, func() { s.dismiss(p) })
	return q.says(s.name)
}

// dismiss dismisses the question of a call that nobody has answered.
func (s *server) dismiss(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[p.life] == p {
		s.leave(p)
	}
}

// leave dismisses what a call asks and will ask. The call ends by itself or is stopped after stopGrace; until then its
// server counts as in use, so that the session does not end before the server was told: a session that is ending sends
// no answers, and a server by an older protocol would wait for this one for ever. s.mu is held.
func (s *server) leave(p *pending) {
	delete(s.waiting, p.life)
	p.late.Stop()
	close(p.left)
	p.live.left = append(p.live.left, p)
	late := time.AfterFunc(stopGrace, func() { p.stop(nil) })
	go func() { // ends with the call
		<-p.done
		late.Stop()
		p.stop(nil)
		s.mu.Lock()
		p.live.left = slices.DeleteFunc(p.live.left, func(other *pending) bool { return other == p })
		s.mu.Unlock()
		s.end(p.live)
	}()
}

// over ends a call that somebody has waited for.
func (s *server) over(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, p)
	p.stop(nil)
}

// answer answers the question that is open, if it came to this life, and waits for the call that asked it.
func (s *server) answer(ctx context.Context, l *live, life string, args json.RawMessage) (catalogue.Answer, error) {
	var a struct {
		Question string         `json:"question"`
		Action   string         `json:"action"`
		Content  map[string]any `json:"content"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return catalogue.Answer{}, fmt.Errorf("read args: %w", err)
	}
	s.mu.Lock()
	p := s.waiting[life]
	switch {
	case p == nil || p.live != l:
		s.mu.Unlock()
		return catalogue.Answer{}, errors.New("the server asks you nothing (any more): it may have ended. Call the tool again")
	case a.Question != p.question.Message:
		s.mu.Unlock()
		return catalogue.Answer{}, fmt.Errorf("question has to be what the server asks, word for word: %s", p.question.Message)
	}
	delete(s.waiting, life)
	s.open[p] = true
	s.mu.Unlock()
	p.late.Stop()
	defer s.end(l)
	p.question.answer <- &sdk.ElicitResult{Action: a.Action, Content: a.Content}
	return s.await(ctx, p)
}
