package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/go-telegram/bot/models"
	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a served Server with a client, and a person with a chat.
type fixture struct {
	*Server
	t      *testing.T
	url    string
	client *http.Client
	ada    models.User
	dm     Chat
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Server: New(""), t: t, client: &http.Client{Transport: &http.Transport{}}}
	f.ada = f.User("Ada")
	f.dm = f.Private(f.ada)
	url, end := f.Start()
	f.url = url
	t.Cleanup(func() {
		end()
		f.client.CloseIdleConnections()
	})
	return f
}

// reply is an answer of the server.
type reply struct {
	HTTP        int
	Body        string
	OK          bool            `json:"ok"`
	Result      []models.Update `json:"result"` // of getUpdates
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

type object map[string]any

func (f *fixture) try(ctx context.Context, method string, params any) (a reply, err error) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/bot"+f.Token()+"/"+method, bytes.NewReader(encode(params)))
	lethetest.Must(f.t, err)
	resp, err := f.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	_ = json.Unmarshal(body, &a) // a broken one leaves a as it is
	a.HTTP, a.Body = resp.StatusCode, string(body)
	return a, err
}

// ask makes a call that has to be answered.
func (f *fixture) ask(method string, params any) reply {
	f.t.Helper()
	a, err := f.try(f.t.Context(), method, params)
	lethetest.Must(f.t, err)
	return a
}

// violated checks that the newest violation says so, and that there are n.
func (f *fixture) violated(n int, what string) {
	f.t.Helper()
	if v := f.Violations(); len(v) != n || n > 0 && !strings.Contains(v[n-1], what) {
		f.t.Errorf("violations %q, not %d, the last with %q", v, n, what)
	}
}

func TestTokens(t *testing.T) {
	f := start(t)
	for path, want := range map[string]int{"/": 404, "/bot1:x/getMe": 401, "/file/bot1:x/a": 401, "/bot" + f.Token() + "/sendPlane": 404} {
		resp, err := f.client.Post(f.url+path, "application/json", strings.NewReader("{}"))
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v, %v", path, resp, err)
		}
		resp.Body.Close()
	}
	f.ask("x/bot"+f.Token()+"/getMe", object{})
	if shown := fmt.Sprintf("%+v %+v", f.Calls(), f.Violations()); strings.Contains(shown, strings.Split(f.Token(), ":")[1]) {
		t.Errorf("the token is in %s", shown)
	}
}

// An update comes until an offset above it was given, and never after; a poll waits for one.
func TestUpdates(t *testing.T) {
	f := start(t)
	updates := func(offset int64, timeout int) []models.Update {
		return f.ask("getUpdates", object{"offset": offset, "limit": 100, "timeout": timeout, "allowed_updates": []string{"message"}}).Result
	}
	for range 130 {
		f.Say(f.dm, f.ada, "x")
	}
	for _, c := range []struct{ offset, first, last int64 }{{0, 1, 100}, {0, 1, 100}, {3, 3, 102}, {0, 3, 102}, {130, 130, 130}} {
		if got := updates(c.offset+100_000*min(c.offset, 1), 0); got[0].ID != 100_000+c.first || got[len(got)-1].ID != 100_000+c.last {
			t.Errorf("offset %d: %d to %d", c.offset, got[0].ID, got[len(got)-1].ID)
		}
	}
	f.violated(0, "")
	updates(11, 0)
	f.violated(1, "offset 11 after 100130")
	updates(100_131, 0)
	f.Fault(Fault{Kind: Repeat})
	if got := updates(100_131, 0); len(got) != 100 || got[99].ID != 100_130 {
		t.Errorf("again: %v", got)
	}
	f.ResumeAt(3)
	got := make(chan []models.Update, 1)
	go func() { got <- updates(0, 50) }()
	lethetest.Eventually(t, "a poll waits", f.Polling)
	f.Bar(f.dm, true) // of which the bot has not asked to be told
	f.Bar(f.dm, false)
	f.Say(f.dm, f.ada, "wake up")
	if list := <-got; len(list) != 1 || list[0].ID != 3 || list[0].Message == nil || list[0].Message.Text != "wake up" {
		t.Errorf("resumed: %+v", list)
	}
}

func TestSending(t *testing.T) {
	f := start(t)
	crew := f.Group(models.ChatTypeSupergroup, "Crew")
	topic, closed := f.Topic(crew, "builds"), f.Topic(crew, "closed")
	f.CloseTopic(closed, true)
	asked := f.Say(f.dm, f.ada, "what?")
	group := f.Group(models.ChatTypeGroup, "Old")
	super := f.Migrate(group)
	long := strings.Repeat("x", 4094) + "😀"
	for _, c := range []struct {
		chat Chat
		text string
		more object
		want string // in the description; "": taken
	}{
		{f.dm, "same", nil, ""}, {f.dm, "same", nil, ""},
		{f.dm, "😀 <b>bold</b> &lt;", object{"parse_mode": "HTML", "reply_parameters": object{"message_id": asked}}, ""},
		{f.dm, " " + long + " \n", nil, ""}, {f.dm, long + "x", nil, "message is too long"},
		{Chat{ID: 77}, "x", nil, "chat not found"}, {f.dm, " \n\t", nil, "text is empty"},
		{f.dm, "<b>x", object{"parse_mode": "HTML"}, "can't parse entities"},
		{f.dm, "x", object{"colour": "red"}, "unknown field"},
		{f.dm, "x", object{"reply_parameters": object{"message_id": 99}}, "message to be replied not found"},
		{f.dm, "x", object{"reply_parameters": object{"message_id": 99, "allow_sending_without_reply": true}}, ""},
		{crew, "x", object{"message_thread_id": topic.Thread}, ""},
		{crew, "x", object{"message_thread_id": 999}, "message thread not found"},
		{crew, "x", object{"message_thread_id": closed.Thread}, "TOPIC_CLOSED"},
		{group, "x", nil, "upgraded"},
	} {
		params := object{"chat_id": c.chat.ID, "text": c.text}
		for k, v := range c.more {
			params[k] = v
		}
		a := f.ask("sendMessage", params)
		if a.OK != (c.want == "") || !strings.Contains(a.Description, c.want) || c.chat == group && a.Parameters.MigrateTo != super.ID {
			t.Errorf("%.60v: %s", params, a.Body)
		}
	}
	if m := f.Sent(f.dm)[2]; m.Text != "😀 bold <" || m.ReplyToMessage.ID != asked || len(m.Entities) != 1 || m.Entities[0].Offset != 3 {
		t.Errorf("%+v", m)
	}
}

// Faults match what they say, before or after the request takes effect.
func TestFaults(t *testing.T) {
	f := start(t)
	say := func(ctx context.Context, chat Chat) (reply, error) {
		return f.try(ctx, "sendMessage", object{"chat_id": chat.ID, "text": "x"})
	}
	bob := f.Private(f.User("Bob"))
	f.Fault(Fault{Method: "sendMessage", Chat: bob.ID, Times: 2, Status: 503})
	for i, want := range []int{200, 503, 503, 200} {
		if a, err := say(t.Context(), map[bool]Chat{true: f.dm, false: bob}[i == 0]); err != nil || a.HTTP != want {
			t.Errorf("%d: %v, %s", i, err, a.Body)
		}
	}
	for i, c := range []struct {
		fault Fault
		code  int // 0: the connection breaks
		begin string
		sent  int // so many more messages
	}{
		{Fault{Status: 403}, 403, `{"description":"Forbidden"`, 0},
		{Fault{Status: 400, Description: "Bad Request: no"}, 400, `{"description":"Bad Request: no"`, 0},
		{Fault{Kind: HTML, Status: 502}, 502, "<html>", 0},
		{Fault{Kind: Truncate}, 200, `{"ok":true,`, 1},
		{Fault{Kind: Shape}, 200, `{"ok":true,"result":{"message_id":"one"`, 1},
		{Fault{Kind: Slow}, 200, `{"ok":true`, 1},
		{Fault{Kind: Reset}, 0, "", 0},
		{Fault{Kind: Lost}, 0, "", 1},
	} {
		before := len(f.Sent(f.dm))
		f.Fault(c.fault)
		a, err := say(t.Context(), f.dm)
		if broken := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF); broken != (c.code == 0) || a.HTTP != c.code ||
			!strings.HasPrefix(a.Body, c.begin) || len(f.Sent(f.dm)) != before+c.sent {
			t.Errorf("%d: %v %+v, %d messages", i, err, a, len(f.Sent(f.dm))-before)
		}
	}
	f.Fault(Fault{Kind: Hang})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		lethetest.Eventually(t, "it hangs", func() bool { return f.FaultsLeft() == 0 })
		cancel()
	}()
	if _, err := f.try(ctx, "getMe", object{}); !errors.Is(err, context.Canceled) {
		t.Errorf("hanging: %v", err)
	}
	f.Fault(Fault{Times: -1})
	f.ClearFaults()
	f.violated(0, "")

	// A retry_after that is not waited for is refused again, and noted, for that chat alone.
	f.Fault(Fault{Method: "sendMessage", RetryAfter: 300})
	for range 2 {
		if a, err := say(t.Context(), f.dm); err != nil || a.HTTP != 429 || a.Parameters.RetryAfter != 300 {
			t.Errorf("%v %+v", err, a)
		}
	}
	f.violated(1, "before retry_after has passed")
	if a, err := say(t.Context(), bob); err != nil || !a.OK {
		t.Errorf("another chat: %v, %s", err, a.Body)
	}
}
