package telegram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/internal/botapi"
)

// methods are those by which the bridge has tried to send.
func (st *stage) methods() (list []string) {
	for _, c := range st.Calls() {
		if strings.HasPrefix(c.Method, "send") && c.Method != "sendChatAction" {
			list = append(list, c.Method)
		}
	}
	return list
}

// A rich message is the Markdown as it is, in one piece, and quotes like another. What Telegram
// could fetch, or what is too long, goes out as HTML.
func TestRich(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.Rich = true
	st.greeted(dm, ada)
	long := "# A\n\n|a|b|\n|-|-|\n\n" + strings.Repeat("**word** ", 1000) + "end"
	st.answers("dev", long)
	equalAll(t, "chat", st.sent(dm, 1), long)
	if st.Sent(dm)[0].ReplyToMessage == nil {
		t.Error("it quotes nothing")
	}
	st.answers("dev", "![a](https://a.example/b.png)")
	st.answers("dev", "<img src=\"https://a.example/b.png\">")
	equalAll(t, "chat", st.sent(dm, 3)[1:], "a", "<img src=\"https://a.example/b.png\">")
	st.answers("dev", strings.Repeat("x", maxRich+1))
	st.sent(dm, 3+9)
	equal(t, "rich messages", st.Count("sendRichMessage"), 1)
	st.well()
}

// Refused, the same goes out as HTML, in order and once, also where that is held up in between.
// After anything else the rich message is tried again.
func TestRichRefused(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.Rich, st.cfg.tune.call = true, 3*time.Second
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "sendRichMessage", Status: 502}, botapi.Fault{Method: "sendRichMessage", Kind: botapi.Hang},
		botapi.Fault{Method: "sendRichMessage", RetryAfter: 1},
		botapi.Fault{Method: "sendRichMessage", Status: 400, Description: "Bad Request: can't parse rich message"},
		botapi.Fault{Method: "sendMessage", Skip: 1, RetryAfter: 1})
	st.answers("dev", "**one**\n\n"+strings.Repeat("x", 4095)+"\n\n**end**")
	got := st.sent(dm, 3)
	if got[0] != "one" || !strings.HasPrefix(got[1], "xxx") || got[2] != "end" {
		t.Errorf("%.20q", got)
	}
	for i, m := range st.Sent(dm) {
		if (m.ReplyToMessage != nil) != (i == 0) || i != 1 && len(m.Entities) != 1 {
			t.Errorf("message %d quotes %v, entities %v", i, m.ReplyToMessage, m.Entities)
		}
	}
	if want := append(slices.Repeat([]string{"sendRichMessage"}, 4), slices.Repeat([]string{"sendMessage"}, 4)...); !slices.Equal(st.methods(), want) {
		t.Errorf("methods %q", st.methods())
	}
	st.Fault(botapi.Fault{Method: "sendRichMessage", Status: 404, Description: "Not Found: method not found"})
	st.answers("dev", "two")
	st.answers("dev", "*three*")
	equalAll(t, "chat", st.sent(dm, 5)[3:], "two", "*three*")
	st.well()
}
