package botapi

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A stage is a fixture with a chat and a way to write to it.
type stage struct {
	*fixture
	ada User
	dm  Chat
}

func staged(t *testing.T, o Options) stage {
	f := start(t, o)
	ada := f.User("Ada", "ada")
	return stage{f, ada, f.Private(ada)}
}

func (s stage) send() (reply, error) {
	return s.try(s.t.Context(), "sendMessage", object{"chat_id": s.dm.ID, "text": "x"})
}

func TestErrorFaults(t *testing.T) {
	s := staged(t, Options{})
	for _, c := range []struct {
		fault Fault
		code  int
		want  string
	}{
		{Fault{}, 500, "Internal Server Error"},
		{Fault{Status: 502}, 502, "Bad Gateway"},
		{Fault{Status: 401}, 401, "Unauthorized"},
		{Fault{Status: 403}, 403, "Forbidden: bot was blocked by the user"},
		{Fault{Status: 404}, 404, "Not Found"},
		{Fault{Status: 409}, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"},
		{Fault{Status: 400, Description: "Bad Request: can't parse entities: byte 7"}, 400, "Bad Request: can't parse entities: byte 7"},
	} {
		c.fault.Method = "sendMessage"
		s.Fault(c.fault)
		a, err := s.send()
		if err != nil {
			t.Fatal(err)
		}
		s.refused(a, c.code, c.want)
		if a, err := s.send(); err != nil || !a.OK {
			t.Errorf("after the fault: %v %s", err, a.Body)
		}
	}
	if got := len(s.Sent(s.dm)); got != 7 {
		t.Errorf("%d messages: a fault took effect", got)
	}
	s.well()
}

// A retry_after that is not waited for is refused again, and noted; one lane does
// not hold another one back.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	s := staged(t, Options{Now: clock})
	other := s.Private(s.User("Bob", "bob"))
	s.Fault(Fault{Method: "sendMessage", Status: 429, RetryAfter: 3})
	if a, err := s.send(); err != nil || a.Parameters.RetryAfter != 3 {
		t.Fatalf("%v %+v", err, a)
	}
	if a := s.ask("sendMessage", object{"chat_id": other.ID, "text": "x"}); !a.OK {
		t.Errorf("another chat: %s", a.Body)
	}
	if a := s.ask("sendChatAction", object{"chat_id": s.dm.ID, "action": "typing"}); !a.OK {
		t.Errorf("another method: %s", a.Body)
	}
	s.well()
	pass(1500 * time.Millisecond)
	a, err := s.send()
	if err != nil {
		t.Fatal(err)
	}
	s.refused(a, 429, "Too Many Requests: retry after 2")
	if a.Parameters.RetryAfter != 2 || a.Header.Get("Retry-After") != "2" {
		t.Errorf("%+v", a)
	}
	s.blamed("messages to 5000000001: called 1.5s before retry_after has passed")
	pass(1500 * time.Millisecond)
	if a, err := s.send(); err != nil || !a.OK {
		t.Errorf("%v %s", err, a.Body)
	}
	if len(s.Violations()) != 1 {
		t.Errorf("%q", s.Violations())
	}
}

func TestHang(t *testing.T) {
	s := staged(t, Options{})
	for _, after := range []bool{false, true} {
		s.Fault(Fault{Kind: Hang, After: after})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.try(ctx, "sendMessage", object{"chat_id": s.dm.ID, "text": "x"})
			done <- err
		}()
		s.until(func() bool { return s.FaultsLeft() == 0 && (!after || len(s.Sent(s.dm)) == 1) })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if got := len(s.Sent(s.dm)); got != 1 {
		t.Errorf("%d messages", got)
	}
	for _, c := range s.Calls() {
		if c.Status != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// A connection that breaks, before and after the request took effect.
func TestReset(t *testing.T) {
	s := staged(t, Options{})
	for i, after := range []bool{false, true} {
		s.Fault(Fault{Kind: Reset, After: after})
		if _, err := s.send(); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Errorf("after %v: %v", after, err)
		}
		if got := len(s.Sent(s.dm)); got != i {
			t.Errorf("after %v: %d messages", after, got)
		}
	}
	// Sent again it is there twice: a lost answer cannot be told from a lost request.
	if a, err := s.send(); err != nil || !a.OK || len(s.Sent(s.dm)) != 2 {
		t.Errorf("%v %s", err, a.Body)
	}
}

func TestRepeat(t *testing.T) {
	s := staged(t, Options{FirstUpdate: 10})
	s.say(s.dm, s.ada, 3)
	s.updates(object{"offset": 12})
	s.Fault(Fault{Kind: Repeat})
	if a, err := s.send(); err != nil || !a.OK || s.FaultsLeft() != 1 {
		t.Error("Repeat is of getUpdates only")
	}
	if got := ids(s.updates(object{"offset": 13})); !slices.Equal(got, []int64{10, 11, 12}) {
		t.Errorf("again: %v", got)
	}
	s.Fault(Fault{Kind: Repeat})
	s.Say(s.dm, s.ada, "new")
	if got := ids(s.updates(object{"offset": 13, "limit": 2})); !slices.Equal(got, []int64{11, 12}) {
		t.Errorf("again, with a limit: %v", got)
	}
	if got := ids(s.updates(object{"offset": 13})); !slices.Equal(got, []int64{13}) {
		t.Errorf("after it: %v", got)
	}
	s.well()
}

func TestFaultMatches(t *testing.T) {
	s := staged(t, Options{})
	bob := s.Private(s.User("Bob", "bob"))
	s.Fault(
		Fault{Method: "sendMessage", Chat: bob.ID, Contains: "secret", Skip: 2, Times: 2, Status: 500},
		Fault{Method: "getMe", Times: -1, Status: 503},
	)
	code := func(chat Chat, text string) int {
		return s.ask("sendMessage", object{"chat_id": chat.ID, "text": text}).HTTP
	}
	got := []int{
		code(s.dm, "secret"), code(bob, "open"), code(bob, "a secret"), code(bob, "secret"), // two matches are skipped
		code(bob, "secret"), code(s.dm, "secret"), code(bob, "secrets"), code(bob, "secret"),
	}
	if !slices.Equal(got, []int{200, 200, 200, 200, 500, 200, 500, 200}) {
		t.Error(got)
	}
	for range 3 {
		if a := s.ask("getMe", object{}); a.HTTP != 503 {
			t.Error(a.Body)
		}
	}
	s.ClearFaults()
	if a := s.ask("getMe", object{}); !a.OK {
		t.Error(a.Body)
	}
}

// An answer that is spoilt comes after the request took effect.
func TestSpoiltAnswers(t *testing.T) {
	s := staged(t, Options{})
	s.Fault(Fault{Kind: HTML, Status: 502}, Fault{Kind: Truncate}, Fault{Kind: Shape}, Fault{Kind: Slow, Wait: 50 * time.Millisecond})
	begun := time.Now()
	for i, c := range []struct {
		code  int
		begin string
	}{{502, "<html>"}, {200, `{"ok":true,"result":{`}, {200, `{"ok":true,"result":{"message_id":"one"`}, {200, `{"ok":true`}} {
		a, err := s.send()
		if err != nil || a.HTTP != c.code || !strings.HasPrefix(a.Body, c.begin) || len(s.Sent(s.dm)) != i {
			t.Errorf("%d: %v %+v", i, err, a)
		}
	}
	if time.Since(begun) < 50*time.Millisecond {
		t.Error("not slow")
	}
}

// A poll whose answer is lost confirms nothing.
func TestLostPoll(t *testing.T) {
	s := staged(t, Options{})
	s.Say(s.dm, s.ada, "hello")
	s.Fault(Fault{Method: "getUpdates", Kind: Reset, After: true}, Fault{Method: "getUpdates", Kind: Truncate})
	for range 2 {
		if a, err := s.try(t.Context(), "getUpdates", object{"timeout": 50}); err == nil && a.OK {
			t.Errorf("%s", a.Body)
		}
	}
	if got := s.updates(object{"timeout": 50}); len(got) != 1 || got[0].Message.Text != "hello" {
		t.Errorf("%+v", got)
	}
}
