package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/catalogue"
)

// question is what a server asks people in the middle of a call. The call waits for the answer, as long as the server
// lives; a server has one such question at a time.
type question struct {
	*sdk.ElicitParams
	answer chan *sdk.ElicitResult
}

// elicited takes a question to who waits for a call of the server. It is dismissed where nobody does, and while another
// one is open.
func (s *server) elicited(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	q := question{r.Params, make(chan *sdk.ElicitResult, 1)}
	s.mu.Lock()
	busy := s.waiting != nil || s.live == nil || s.live.calls == 0
	s.mu.Unlock()
	if busy {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	select {
	case s.questions <- q:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
	question question
	stop     context.CancelCauseFunc
	limit    context.Context
	done     chan struct{} // closed with result and err
	result   *sdk.CallToolResult
	err      error
}

// begun calls a tool, with nobody waiting for it.
func (s *server) begun(ctx context.Context, l *live, life, tool string, args json.RawMessage) *pending {
	p := &pending{live: l, life: life, done: make(chan struct{})}
	p.limit, p.stop = context.WithCancelCause(context.WithoutCancel(ctx))
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
	select {
	case p.question = <-s.questions:
		s.mu.Lock()
		defer s.mu.Unlock()
		p.live.calls++ // while it waits
		s.waiting = p
		return catalogue.Answer{Text: p.question.says(s.name)}, nil
	case <-p.done:
	case <-p.limit.Done():
		deaf := time.AfterFunc(stopGrace, func() { s.stop(p.live, true) }) // it does not even read the call
		<-p.done
		deaf.Stop()
	}
	defer p.stop(nil)
	if p.err != nil {
		return answer, s.failure(ctx, p.limit, p.live, p.err)
	}
	return answerOf(p.result), nil
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
	p := s.waiting
	switch {
	case p == nil || p.live != l || p.life != life:
		s.mu.Unlock()
		return catalogue.Answer{}, errors.New("the server asks you nothing (any more): it may have ended. Call the tool again")
	case a.Question != p.question.Message:
		s.mu.Unlock()
		return catalogue.Answer{}, fmt.Errorf("question has to be what the server asks, word for word: %s", p.question.Message)
	}
	s.waiting = nil
	s.mu.Unlock()
	defer s.end(l)
	p.question.answer <- &sdk.ElicitResult{Action: a.Action, Content: a.Content}
	return s.await(ctx, p)
}
