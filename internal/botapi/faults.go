package botapi

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a way in which a request fails.
type Kind string

// Kinds of faults. Those of an answer come after the request took effect; of the
// others After decides.
const (
	Error    Kind = ""         // the error Status, as JSON with Description
	HTML     Kind = "html"     // a page of HTML with Status, as a proxy sends it; 0: 200
	Hang     Kind = "hang"     // silence until the client gives up
	Reset    Kind = "reset"    // the connection breaks
	Slow     Kind = "slow"     // nothing but Wait and Hold: the right answer, late
	Truncate Kind = "truncate" // an answer: half of it, then a clean end
	Shape    Kind = "shape"    // an answer: {"ok":true} with a result of a wrong type
	Repeat   Kind = "repeat"   // of getUpdates only: up to a hundred updates that were confirmed come again, before those that wait
)

// Fault is what happens instead of the right answer, to the requests it matches.
// For each request the first fault that matches and has uses left is taken.
type Fault struct {
	// What it matches; all that is set must hold, and nothing set matches all.
	Method   string // "sendMessage"; "file" is a download
	Chat     int64  // chat_id
	Contains string // in the parameter text
	Skip     int    // so many matching requests are left alone first

	// How often: Times uses (0 and 1 are once, negative is for ever), or, when For
	// is set, every matching request from the first on for so long.
	Times int
	For   time.Duration

	// What it does.
	Kind        Kind
	Status      int             // of Error (0: 500) and HTML
	Description string          // of Error; "": what the real server says with Status
	RetryAfter  int             // of Error, in seconds: a 429 that says how long, and is enforced
	After       bool            // the request takes effect first and only then fails: an answer that is lost
	Hold        <-chan struct{} // nothing is sent before it is closed (or the client leaves)
	Wait        time.Duration   // before anything is sent

	until time.Time // the end of For, once begun
}

// Fault queues faults behind those that are still to come.
func (s *Server) Fault(faults ...Fault) {
	defer s.lock()()
	s.faults = append(s.faults, faults...)
}

// ClearFaults ends all faults, those for ever too.
func (s *Server) ClearFaults() {
	defer s.lock()()
	s.faults = nil
}

// FaultsLeft is the number of faults that have uses left.
func (s *Server) FaultsLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults)
}

// matches says whether a fault is for a request.
func (f *Fault) matches(req *request) bool {
	return (f.Method == "" || f.Method == req.name) &&
		(f.Chat == 0 || strconv.FormatInt(f.Chat, 10) == req.texts["chat_id"]) &&
		strings.Contains(req.texts["text"], f.Contains) &&
		(f.Kind != Repeat || req.name == "getUpdates")
}

// take is the fault for a request, if there is one. s.mu is held.
func (s *Server) take(req *request) (Fault, bool) {
	now := s.opts.Now()
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool { return !f.until.IsZero() && !now.Before(f.until) })
	for i := range s.faults {
		f := &s.faults[i]
		if !f.matches(req) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		taken := *f
		switch {
		case f.For > 0:
			if f.until.IsZero() {
				f.until = now.Add(f.For)
			}
		case f.Times > 1:
			f.Times--
		case f.Times >= 0:
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return taken, true
	}
	return Fault{}, false
}

// play answers a request: with a fault, or as it should be.
func (s *Server) play(req *request) {
	s.mu.Lock()
	if ref := s.hush(req); ref != nil {
		s.mu.Unlock()
		s.finish(req, nil, ref)
		return
	}
	f, faulted := s.take(req)
	if faulted {
		s.touch()
	}
	s.mu.Unlock()
	if !faulted {
		result, ref := req.run(s, req)
		s.finish(req, result, ref)
		return
	}
	s.spoil(req, f)
}

// hush refuses a request that comes before retry_after has passed. s.mu is held.
func (s *Server) hush(req *request) *refusal {
	left := s.quiet[lane(req)].Sub(s.opts.Now())
	if left <= 0 {
		return nil
	}
	s.violate("%s: called %v before retry_after has passed", lane(req), left.Round(time.Millisecond))
	return tooMany(seconds(left))
}

// lane is whom a retry_after holds back: messages to a chat wait together, other
// methods wait each for itself.
func lane(req *request) string {
	switch req.name {
	case "sendMessage", "sendRichMessage":
		return "messages to " + req.texts["chat_id"]
	}
	return req.name + " " + req.texts["chat_id"]
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// spoil does what a fault says.
func (s *Server) spoil(req *request, f Fault) {
	var result any
	var ref *refusal
	early := f.Kind == Error || f.Kind == HTML || f.Kind == Hang || f.Kind == Reset
	if early && f.After || f.Kind == Truncate || f.Kind == Shape {
		result, ref = req.run(s, req)
	}
	if !f.delay(req.r.Context()) {
		panic(http.ErrAbortHandler) // or net/http answers 200
	}
	switch f.Kind {
	case Error:
		s.finish(req, nil, s.error(req, f))
	case HTML:
		s.page(req, max(f.Status, http.StatusOK))
	case Hang:
		<-req.r.Context().Done()
		panic(http.ErrAbortHandler)
	case Reset:
		reset(req.w)
	case Slow, Repeat:
		req.repeat = f.Kind == Repeat
		result, ref = req.run(s, req)
		s.finish(req, result, ref)
	case Truncate:
		kind, body := content(result)
		if ref != nil {
			body = ref.body()
		}
		s.reply(req, http.StatusOK, "", kind, body[:len(body)/2])
	case Shape:
		s.reply(req, http.StatusOK, "", "application/json", []byte(`{"ok":true,"result":{"message_id":"one","update_id":[]}}`))
	}
}

// delay waits as long as a fault says. False: the client has left.
func (f *Fault) delay(ctx context.Context) bool {
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ctx.Done():
			return false
		}
	}
	if f.Wait <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(f.Wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// error is the refusal that a fault describes. A retry_after counts from now.
func (s *Server) error(req *request, f Fault) *refusal {
	if f.RetryAfter > 0 {
		s.mu.Lock()
		s.quiet[lane(req)] = s.opts.Now().Add(time.Duration(f.RetryAfter) * time.Second)
		s.mu.Unlock()
		return tooMany(f.RetryAfter)
	}
	ref := &refusal{status: f.Status, description: f.Description}
	if ref.status == 0 {
		ref.status = http.StatusInternalServerError
	}
	if ref.description != "" {
		return ref
	}
	switch ref.status {
	case http.StatusConflict:
		ref.description = otherPoll
	case http.StatusForbidden:
		ref.description = "Forbidden: bot was blocked by the user"
	default:
		ref.description = http.StatusText(ref.status)
	}
	return ref
}

// page answers with what stands between the client and the real server.
func (s *Server) page(req *request, status int) {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	s.reply(req, status, "", "text/html", fmt.Appendf(nil,
		"<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n",
		title, title))
}

// reset breaks the connection: with a TCP reset where there is one.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2, or no network at all
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
