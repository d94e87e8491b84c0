package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/internal/botapi"
)

// Who asks without end in one chat makes nobody wait in another.
func TestAsidesOfManyChats(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	bob := st.User("Bob", "")
	crew := st.crew(bob)
	st.cfg.tune.rates.group = pulse{time.Hour, 3} // 4 s in earnest
	st.start()
	st.ready()
	for range 150 {
		st.Say(crew, bob, "/id")
	}
	st.Say(dm, ada, "/id")
	has(t, "answer", st.sent(dm, 1)[0], id(ada.ID))
	st.quiet()
	if n := len(st.Texts(crew)); n > 3 {
		t.Errorf("%d answers at a pace of 3", n)
	}
	has(t, "log", st.log.String(), "too many wait")
	st.well()
}

// An answer that fails is sent once more, without what may have been in the way.
func TestAsideFails(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.start()
	st.ready()
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 500})
	st.Say(dm, ada, "/id")
	st.sent(dm, 1)
	if m := st.Sent(dm)[0]; m.ReplyToMessage != nil {
		t.Error("the second attempt quotes")
	}
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 500, Times: 2})
	st.Say(dm, ada, "/id")
	st.within("it is given up", func() bool { return strings.Contains(st.log.String(), "was not sent") })
	st.Say(dm, ada, "/rooms")
	has(t, "the next", st.sent(dm, 2)[1], "this chat: dev")
	st.secret()
}

func TestAsidesAreBounded(t *testing.T) {
	t.Parallel()
	q, p := newAsides(), newPace(rates{chat: pulse{time.Hour, 1}, group: pulse{time.Hour, 1}})
	taken := 0
	for i := range 2 * maxAsides {
		if q.add(aside{chat: int64(i % 5), text: fmt.Sprint(i)}) {
			taken++
		}
	}
	equal(t, "taken of five chats", taken, 5*maxChatAsides)
	for i := range 2 * maxAsides {
		q.add(aside{chat: int64(100 + i), text: "x"})
	}
	equal(t, "taken in all", len(q.queue), maxAsides)
	for i := range 5 {
		a, wait := q.next(p)
		if a.text != fmt.Sprint(i) || wait != 0 {
			t.Errorf("%q after %v", a.text, wait)
		}
	}
	for range maxAsides - 5*maxChatAsides {
		q.next(p)
	}
	if a, wait := q.next(p); a.text != "" || wait <= 0 {
		t.Errorf("%q is sent before its turn, in %v", a.text, wait)
	}
}
