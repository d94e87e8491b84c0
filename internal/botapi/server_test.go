package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fixture is a served Server with a client, and a person with a chat.
type fixture struct {
	*Server
	t      *testing.T
	url    string
	client *http.Client
	ada    User
	dm     Chat
}

func start(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{Server: New(o), t: t, client: &http.Client{Transport: &http.Transport{}}}
	f.ada = f.User("Ada", "ada")
	f.dm = f.Private(f.ada)
	url, end := f.Start()
	f.url = url
	t.Cleanup(func() {
		end()
		f.client.CloseIdleConnections()
	})
	return f
}

// A reply is an answer of the server.
type reply struct {
	HTTP        int
	Body        string
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
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
	if err != nil {
		f.t.Fatal(err)
	}
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
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// say is a sendMessage.
func (f *fixture) say(text string) (reply, error) {
	return f.try(f.t.Context(), "sendMessage", object{"chat_id": f.dm.ID, "text": text})
}

// updates is getUpdates, which has to succeed.
func (f *fixture) updates(offset int64, timeout int) (ids []int64) {
	f.t.Helper()
	a := f.ask("getUpdates", object{"offset": offset, "limit": 100, "timeout": timeout})
	var list []models.Update
	if err := json.Unmarshal(a.Result, &list); err != nil || !a.OK {
		f.t.Fatalf("getUpdates: %v: %s", err, a.Body)
	}
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

func (f *fixture) well() {
	f.t.Helper()
	for _, v := range f.Violations() {
		f.t.Errorf("violation: %s", v)
	}
}

// until waits for a state of the server.
func (f *fixture) until(ok func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := f.Wait(ctx, ok); err != nil {
		f.t.Fatalf("waited in vain: %v", err)
	}
}

func TestTokens(t *testing.T) {
	f := start(t, Options{})
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

// An update comes until an offset above it was given, and never after.
func TestUpdates(t *testing.T) {
	f := start(t, Options{FirstUpdate: 10})
	for range 130 {
		f.Say(f.dm, f.ada, "x")
	}
	for _, c := range []struct{ offset, first, last int64 }{{0, 10, 109}, {0, 10, 109}, {12, 12, 111}, {0, 12, 111}, {139, 139, 139}} {
		if got := f.updates(c.offset, 0); got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("offset %d: %v", c.offset, got)
		}
	}
	f.well()
	f.updates(11, 0)
	if v := f.Violations(); len(v) != 1 || !strings.Contains(v[0], "offset 11 after 139") {
		t.Errorf("violations %q", v)
	}
	f.updates(140, 0)
	f.Fault(Fault{Kind: Repeat})
	if got := f.updates(140, 0); len(got) != 100 || got[99] != 139 {
		t.Errorf("again: %v", got)
	}
	f.ResumeAt(3)
	f.Say(f.dm, f.ada, "x")
	if got := f.updates(0, 0); !slices.Equal(got, []int64{3}) {
		t.Errorf("resumed: %v", got)
	}
}

// A poll waits for an update, and a newer one ends it.
func TestPolls(t *testing.T) {
	f := start(t, Options{FirstUpdate: 10})
	answers := make(chan reply, 1)
	poll := func(timeout int) {
		answers <- f.ask("getUpdates", object{"limit": 100, "timeout": timeout, "allowed_updates": []string{"message"}})
	}
	go poll(50)
	f.until(f.Polling)
	go poll(49)
	if a := <-answers; a.HTTP != 409 || a.Description != otherPoll {
		t.Errorf("the older poll: %s", a.Body)
	}
	f.until(f.Polling)
	f.Block(f.ada) // of which the bot has not asked to be told
	f.Unblock(f.ada)
	f.Say(f.dm, f.ada, "wake up")
	if a := <-answers; !strings.Contains(a.Body, "wake up") || strings.Contains(a.Body, "chat_member") {
		t.Errorf("the newer poll: %s", a.Body)
	}
	f.Webhook("https://a.example")
	if a := f.ask("getUpdates", object{"limit": 1}); a.Description != webhookOn {
		t.Errorf("with a webhook: %s", a.Body)
	}
}

func TestSending(t *testing.T) {
	f := start(t, Options{})
	crew := f.Supergroup("Crew", f.ada)
	topic, closed := f.Topic(crew, "builds"), f.Topic(crew, "closed")
	f.CloseTopic(closed)
	asked := f.Say(f.dm, f.ada, "what?")
	in := func(chat Chat, text string, more object) object {
		p := object{"chat_id": chat.ID, "text": text}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	long := strings.Repeat("x", 4094) + "😀"
	for _, c := range []struct {
		params object
		want   string // in the description; "": taken
	}{
		{in(f.dm, "same", nil), ""}, {in(f.dm, "same", nil), ""},
		{in(f.dm, "😀 <b>bold</b> &lt;", object{"parse_mode": "HTML", "reply_parameters": object{"message_id": asked}}), ""},
		{in(f.dm, " "+long+" \n", nil), ""}, {in(f.dm, long+"x", nil), "message is too long"},
		{in(Chat{ID: 77}, "x", nil), "chat not found"}, {in(f.dm, " \n\t", nil), "text is empty"},
		{in(f.dm, "<b>x", object{"parse_mode": "HTML"}), "can't parse entities: can't find end tag"},
		{in(f.dm, "x", object{"colour": "red"}), "unknown field"},
		{in(f.dm, "x", object{"reply_parameters": object{"message_id": 99}}), "message to be replied not found"},
		{in(f.dm, "x", object{"reply_parameters": object{"message_id": 99, "allow_sending_without_reply": true}}), ""},
		{in(crew, "x", object{"message_thread_id": topic.Thread}), ""},
		{in(crew, "x", object{"message_thread_id": 999}), "message thread not found"},
		{in(crew, "x", object{"message_thread_id": closed.Thread}), "TOPIC_CLOSED"},
	} {
		if a := f.ask("sendMessage", c.params); a.OK != (c.want == "") || !strings.Contains(a.Description, c.want) {
			t.Errorf("%.60v: %s", c.params, a.Body)
		}
	}
	if m := f.Sent(f.dm)[2]; m.Text != "😀 bold <" || m.ReplyToMessage.ID != asked || len(m.Entities) != 1 || m.Entities[0].Offset != 3 {
		t.Errorf("%+v", m)
	}
	group := f.Group("Old", f.ada)
	super := f.Migrate(group)
	if a := f.ask("sendMessage", in(group, "x", nil)); a.Parameters.MigrateTo != super.ID {
		t.Errorf("migrated: %s", a.Body)
	}
}

// Faults match what they say, before or after the request takes effect.
func TestFaults(t *testing.T) {
	f := start(t, Options{})
	bob := f.Private(f.User("Bob", "bob"))
	f.Fault(Fault{Method: "sendMessage", Chat: bob.ID, Contains: "secret", Skip: 1, Times: 2, Status: 503})
	for i, want := range []int{200, 200, 503, 503, 200} {
		chat := map[bool]Chat{true: f.dm, false: bob}[i == 0]
		if a := f.ask("sendMessage", object{"chat_id": chat.ID, "text": "a secret"}); a.HTTP != want {
			t.Errorf("%d: %s", i, a.Body)
		}
	}
	for i, c := range []struct {
		fault Fault
		code  int // 0: the connection breaks
		begin string
		sent  int // so many more messages
	}{
		{Fault{Status: 403}, 403, `{"description":"Forbidden: bot was blocked`, 0},
		{Fault{Status: 400, Description: "Bad Request: no"}, 400, `{"description":"Bad Request: no"`, 0},
		{Fault{Kind: HTML, Status: 502}, 502, "<html>", 0},
		{Fault{Kind: Truncate}, 200, `{"ok":true,`, 1},
		{Fault{Kind: Shape}, 200, `{"ok":true,"result":{"message_id":"one"`, 1},
		{Fault{Kind: Slow, Wait: time.Millisecond}, 200, `{"ok":true`, 1},
		{Fault{Kind: Reset}, 0, "", 0},
		{Fault{Kind: Reset, After: true}, 0, "", 1},
	} {
		before := len(f.Sent(f.dm))
		f.Fault(c.fault)
		a, err := f.say("x")
		if broken := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF); broken != (c.code == 0) || a.HTTP != c.code ||
			!strings.HasPrefix(a.Body, c.begin) || len(f.Sent(f.dm)) != before+c.sent {
			t.Errorf("%d: %v %+v, %d messages", i, err, a, len(f.Sent(f.dm))-before)
		}
	}
	f.Fault(Fault{Kind: Hang})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		f.until(func() bool { return f.FaultsLeft() == 0 })
		cancel()
	}()
	if _, err := f.try(ctx, "getMe", object{}); !errors.Is(err, context.Canceled) {
		t.Errorf("hanging: %v", err)
	}
	f.Fault(Fault{Times: -1})
	f.ClearFaults()
	f.ask("getMe", object{})
	f.well()
}

// A retry_after that is not waited for is refused again, and noted, for that chat alone.
func TestRetryAfter(t *testing.T) {
	f := start(t, Options{})
	f.Fault(Fault{Method: "sendMessage", RetryAfter: 300})
	for range 2 {
		if a, err := f.say("x"); err != nil || a.HTTP != 429 || a.Parameters.RetryAfter != 300 {
			t.Errorf("%v %+v", err, a)
		}
	}
	if v := f.Violations(); len(v) != 1 || !strings.Contains(v[0], "before retry_after has passed") {
		t.Errorf("violations %q", v)
	}
	if a := f.ask("sendMessage", object{"chat_id": f.Private(f.User("Bob", "")).ID, "text": "x"}); !a.OK {
		t.Errorf("another chat: %s", a.Body)
	}
}
