package botapi

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Kind is a way to fail a request.
type Kind string

// Kinds of faults.
const (
	Error    Kind = ""         // the error Status, as JSON with Description
	HTML     Kind = "html"     // a page of HTML with Status, as a proxy sends it; 0: 200
	Hang     Kind = "hang"     // silence until the client gives up
	Reset    Kind = "reset"    // the connection breaks
	Lost     Kind = "lost"     // the request takes effect, and then the connection breaks
	Slow     Kind = "slow"     // nothing but Hold: the right answer, late
	Truncate Kind = "truncate" // it takes effect; half of the answer comes, then a clean end
	Shape    Kind = "shape"    // it takes effect; the answer is {"ok":true} with a result of a wrong type
	Repeat   Kind = "repeat"   // of getUpdates only: up to a hundred updates that were confirmed come again, before the waiting ones
)

// Fault replaces the right answer to the requests that it matches. The server takes the first fault that matches a
// request and has uses left.
type Fault struct {
	// What it matches; all that is set must hold, and nothing set matches all.
	Method string // "sendMessage"; "file" is a download
	Chat   int64  // chat_id
	Times  int    // how often: 0 and 1 are once, negative is for ever

	// What it does.
	Kind        Kind
	Status      int             // of Error (0: 500) and HTML
	Description string          // of Error; "": the status in words
	RetryAfter  int             // of Error, in seconds: a 429 that names them, and is enforced
	Hold        <-chan struct{} // nothing happens before it is closed (or the client leaves)
}

// Fault queues faults behind the present ones.
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

func (f *Fault) matches(req *request) bool {
	ofMethod := f.Method == "" || f.Method == req.name
	inChat := f.Chat == 0 || strconv.FormatInt(f.Chat, 10) == req.texts["chat_id"]
	return ofMethod && inChat
}

// take is the fault for a request, if there is one. s.mu is held.
func (s *Server) take(req *request) (Fault, bool) {
	for i := range s.faults {
		fault := &s.faults[i]
		if !fault.matches(req) {
			continue
		}
		taken := *fault
		fault.Times--
		isLast := taken.Times == 0 || taken.Times == 1
		if isLast {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return taken, true
	}
	return Fault{}, false
}

// play answers a request: with a fault, or as it should be.
func (s *Server) play(req *request, w http.ResponseWriter) *answer {
	unlock := s.lock()
	if left := time.Until(s.quiet[lane(req)]); left > 0 {
		s.violate("%s: called %v before retry_after has passed", lane(req), left.Round(time.Millisecond))
		unlock()
		return tooMany(int(math.Ceil(left.Seconds())))
	}
	fault, faulted := s.take(req)
	if fault.RetryAfter > 0 {
		s.quiet[lane(req)] = time.Now().Add(time.Duration(fault.RetryAfter) * time.Second)
	}
	unlock()
	if !faulted {
		return s.run(req)
	}
	if fault.Hold != nil {
		select {
		case <-fault.Hold:
		case <-req.ctx.Done():
			panic(http.ErrAbortHandler) // or net/http answers 200
		}
	}
	return s.spoil(req, fault, w)
}

func tooMany(seconds int) *answer {
	return refusal(http.StatusTooManyRequests, map[string]int64{"retry_after": int64(seconds)}, "Too Many Requests: retry after %d", seconds)
}

// lane is a method in a chat, which a retry_after holds back.
func lane(req *request) string { return req.name + " " + req.texts["chat_id"] }

// spoil does what a fault says, and returns what is answered.
func (s *Server) spoil(req *request, fault Fault, w http.ResponseWriter) *answer {
	switch fault.Kind {
	case Error:
		if fault.RetryAfter > 0 {
			return tooMany(fault.RetryAfter)
		}
		status := cmp.Or(fault.Status, http.StatusInternalServerError)
		return refusal(status, nil, "%s", cmp.Or(fault.Description, http.StatusText(status)))
	case HTML:
		status := max(fault.Status, http.StatusOK)
		return &answer{status, fmt.Appendf(nil, "<html>\r\n<title>%d %s</title>\r\n</html>\r\n", status, http.StatusText(status))}
	case Hang:
		<-req.ctx.Done()
		panic(http.ErrAbortHandler)
	case Reset:
		reset(w)
	}
	req.repeat = fault.Kind == Repeat
	answer := s.run(req)
	switch fault.Kind {
	case Lost:
		reset(w)
	case Truncate:
		answer.body = answer.body[:len(answer.body)/2]
	case Shape:
		answer.body = []byte(`{"ok":true,"result":{"message_id":"one","update_id":[]}}`)
	}
	return answer
}

// reset breaks the connection, and ends the handler.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	panic(http.ErrAbortHandler)
}
