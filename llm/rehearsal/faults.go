package rehearsal

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"time"
)

// An exchange is one accepted request on its way to an answer.
type exchange struct {
	w    http.ResponseWriter
	ctx  context.Context // done when the client leaves
	req  *Request
	id   string
	step Step
	pace time.Duration
}

// play answers an accepted request: the step's timing, then its error, or the
// answer with its fault.
func (s *Server) play(x *exchange) {
	if !x.await() {
		return
	}
	switch {
	case x.step.Status != 0:
		for k, v := range x.step.Headers {
			x.w.Header().Set(k, v)
		}
		if x.step.Body == "" {
			(&refusal{x.step.Status, http.StatusText(x.step.Status)}).write(x.w)
			return
		}
		x.w.WriteHeader(x.step.Status)
		_, _ = io.WriteString(x.w, x.step.Body)
		return
	case x.step.Fault == HTML:
		x.w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(x.w, "<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n")
		return
	}
	hit := s.cache.hit(x.req.prefix)
	input := x.req.prefix.end() // before the reply is appended
	x.id = hex.EncodeToString(input.key[:10])
	answer := s.answer(x)
	u := newUsage(input.tokens, hit, answer)
	s.count(u) // before the client can see the end, and in full whatever it gets to see
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	if x.flush() && x.keepAlive() && x.stream(answer, u) { // the client got it whole
		x.req.prefix.answered(answer)
		s.cache.store(x.req.prefix)
	}
}

// answer is the step's or the model's, with faults of content applied.
func (s *Server) answer(x *exchange) Answer {
	var a Answer
	if x.step.Answer != nil {
		a = *x.step.Answer
	} else {
		a = think(x.req)
	}
	if !x.req.Thinking {
		a.Reasoning = ""
	}
	a = finished(a, x.id, x.req.MaxTokens)
	switch x.step.Fault {
	case Blank:
		a.Text, a.Calls, a.Finish = "  \n\n \n", nil, "stop"
	case Empty:
		a.Text, a.Calls, a.Finish = "", nil, "stop"
	case Length:
		a = shortened(a, max(1, newUsage(0, 0, a).Output/2))
	}
	return a
}

// await keeps the client waiting as long as the step says. False: it has left.
func (x *exchange) await() bool {
	if x.step.Fault == Hang || x.step.Hold != nil {
		return wait(x, x.step.Hold) // for ever, if it hangs
	}
	return x.ctx.Err() == nil
}

// wait waits for a channel. False: the client has left.
func wait[T any](x *exchange, c <-chan T) bool {
	select {
	case <-c:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// keepAlive sends comments for a while, as the service does before the first
// token, at least every ten seconds.
func (x *exchange) keepAlive() bool {
	const comment = ": keep-alive\n\n"
	total := x.step.KeepAlive
	every := min(max(total/8, time.Millisecond), 10*time.Second)
	for left := total; left > 0; left -= every {
		if !x.send(comment) || !wait(x, time.After(min(every, left))) {
			return false
		}
	}
	return true
}

// stream plays the answer, broken off where the fault says so, then the usage and [DONE].
func (x *exchange) stream(a Answer, u Usage) bool {
	pieces := deltas(a)
	last := len(pieces) - 1
	for i, delta := range pieces {
		broken := x.step.Fault == Stall || x.step.Fault == Truncate
		if broken && i > 0 && i >= len(pieces)/2 {
			if x.step.Fault == Stall {
				<-x.ctx.Done()
			}
			return false
		}
		choice := object{"index": 0, "delta": delta, "finish_reason": nil, "logprobs": nil}
		if i == last {
			choice["finish_reason"] = a.Finish
		}
		if i > 0 && x.pace > 0 && !wait(x, time.After(x.pace)) || !x.event([]object{choice}, nil) {
			return false
		}
	}
	if x.step.Fault == Understate {
		u = Usage{Input: u.Input / 10, Cached: u.Cached / 10, Output: u.Output / 10, Reasoning: u.Reasoning / 10}
	}
	if x.req.IncludeUsage && !x.event([]object{}, u.wire()) {
		return false
	}
	return x.step.Fault == NoDone || x.send("data: [DONE]\n\n")
}

// send writes and flushes. False: the client has left.
func (x *exchange) send(text string) bool {
	if x.ctx.Err() != nil {
		return false
	}
	_, err := io.WriteString(x.w, text)
	return err == nil && x.flush()
}

func (x *exchange) flush() bool {
	return http.NewResponseController(x.w).Flush() == nil
}
