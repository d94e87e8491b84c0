package telegram

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/internal/botapi"
)

// modes are the parse modes of the messages that the bridge has tried to send.
func (st *stage) modes() (list []string) {
	for _, c := range st.Calls() {
		if c.Method == "sendMessage" {
			list = append(list, c.Params["parse_mode"])
		}
	}
	return list
}

// Markup that Telegram refuses: the same text, plain, with the targets of its links.
func TestMarkupRefused(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: can't parse entities: unsupported entity"})
	st.answers("dev", "**bold** _words_ [here](https://a.example/)")
	equal(t, "text", st.sent(dm, 1)[0], "bold words here (https://a.example/)")
	m := st.Sent(dm)[0]
	if len(m.Entities) > 0 || m.ReplyToMessage == nil {
		t.Errorf("sent %+v", m)
	}
	equalAll(t, "modes", st.modes(), "HTML", "")
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: message is too ugly", Contains: "ugly"})
	st.answers("dev", "ugly")
	st.answers("dev", "after it")
	equal(t, "text", st.sent(dm, 2)[1], "after it")
	has(t, "log", st.log.String(), "too ugly")
	st.secret()
}

// Only a refusal takes the markup away: what may have arrived is not sent in another form.
func TestMarkupStays(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.call = 3 * time.Second
	st.greeted(dm, ada)
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 502}, botapi.Fault{Method: "sendMessage", Kind: botapi.Hang},
		botapi.Fault{Method: "sendMessage", Kind: botapi.Reset}, botapi.Fault{Method: "sendMessage", RetryAfter: 1})
	st.answers("dev", "**bold**")
	equalAll(t, "chat", st.sent(dm, 1), "bold")
	equalAll(t, "modes", st.modes(), "HTML", "HTML", "HTML", "HTML", "HTML")
	st.well()
}

// Parts that an earlier program has cut and recorded are sent as they were cut.
func TestRecordedParts(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.stop(st.greeted(dm, ada))
	path := st.file("peers/" + id(dm.ID) + ".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	first = strings.TrimSuffix(first, "}") + `,"line":{"room":"dev","from":0,"to":0,"parts":[{"data":{"text":"gone"},"state":"sent","receipt":"7"},` +
		`{"data":{"text":"an <b> & old","html":"<b>an</b> &lt;b&gt; &amp; old"}},{"data":{"text":"end"}}]}}` + "\n"
	if err := os.WriteFile(path, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	st.start()
	equalAll(t, "chat", st.sent(dm, 2), "an <b> & old", "end")
	if m := st.Sent(dm)[0]; len(m.Entities) != 1 || m.Entities[0].Type != models.MessageEntityTypeBold {
		t.Errorf("entities %+v", m.Entities)
	}
	st.well()
}
