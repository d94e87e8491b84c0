package botapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"
)

func TestListenRefuses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "nowhere"} {
		if url, err := New(Options{}).Listen(addr); err == nil {
			t.Errorf("listens on %s: %s", addr, url)
		}
	}
	if err := New(Options{}).Serve(t.Context()); err == nil {
		t.Error("serves without Listen")
	}
}

func TestServeTwice(t *testing.T) {
	f := start(t, Options{})
	if _, err := f.Listen("127.0.0.1:0"); err == nil {
		t.Error("listens twice at a time")
	}
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.Say(dm, ada, "before")
	addr := strings.TrimPrefix(f.url, "http://")
	f.stop()
	if a, err := f.try(t.Context(), "getMe", nil); err == nil {
		t.Errorf("a stopped server answers: %s", a.Body)
	}
	f.serve(addr)
	if got := f.updates(object{}); len(got) != 1 || got[0].Message.Text != "before" {
		t.Errorf("after a restart: %+v", got)
	}
}

// Serve ends at once although a poll waits and an answer hangs.
func TestServeEnds(t *testing.T) {
	f := start(t, Options{})
	f.Fault(Fault{Method: "getMe", Kind: Hang}, Fault{Method: "getWebhookInfo", Kind: Slow, Hold: make(chan struct{})},
		Fault{Method: "getMyCommands", Kind: Slow, Wait: time.Hour})
	failed := make(chan error, 4)
	for method, params := range map[string]object{"getUpdates": {"timeout": 50}, "getMe": {}, "getWebhookInfo": {}, "getMyCommands": {}} {
		go func() {
			_, err := f.try(context.Background(), method, params)
			failed <- err
		}()
	}
	f.until(func() bool { return f.Polling() && f.FaultsLeft() == 0 })
	f.stop()
	for range 4 {
		select {
		case err := <-failed:
			if err == nil {
				t.Error("answered")
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a client still waits")
		}
	}
}

func TestHTTPTest(t *testing.T) {
	s := New(Options{Token: "42:abc", Username: "crew_bot"})
	web := httptest.NewServer(s)
	defer web.Close()
	b, err := bot.New("42:abc", bot.WithServerURL(web.URL))
	if err != nil {
		t.Fatal(err)
	}
	me, err := b.GetMe(t.Context())
	if err != nil || me.ID != 42 || me.Username != "crew_bot" || !me.IsBot || !me.CanReadAllGroupMessages {
		t.Errorf("getMe: %+v, %v", me, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestTokens(t *testing.T) {
	f := start(t, Options{})
	get := func(path string) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	f.refused(get("/bot1:wrong/getMe"), 401, "Unauthorized")
	f.refused(get("/bot"+f.Token()+"x/getMe"), 401, "Unauthorized")
	f.refused(get("/file/bot1:wrong/documents/file_0"), 401, "Unauthorized")
	f.refused(get("/bot"+f.Token()), 404, "Not Found")
	f.refused(get("/getMe"), 404, "Not Found")
	f.refused(get("/"), 404, "Not Found")
	f.well()
	if a := get("/bot" + f.Token() + "/GETME"); !a.OK {
		t.Errorf("methods have a case: %s", a.Body)
	}
	f.refused(get("/bot"+f.Token()+"/sendPlane"), 404, "Not Found: method not found")
	f.blamed("sendPlane")
	wrong, err := bot.New("1:wrong", bot.WithServerURL(f.url), bot.WithHTTPClient(time.Minute, f.client))
	if wrong != nil {
		t.Error("a wrong token is taken")
	}
	errorIs(t, err, bot.ErrorUnauthorized)
}

func TestNewRefusesTokens(t *testing.T) {
	for _, token := range []string{"abc", "abc:def", ":x", "1:", "0:x", "1:a/b", "-1:x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("token %q is taken", token)
				}
			}()
			New(Options{Token: token})
		}()
	}
}

// The token is in nothing that a test prints.
func TestNoTokenInRecords(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.ask("sendMessage", object{"chat_id": dm.ID, "text": "x", "wrong": 1})
	f.ask("sendPlane", object{})
	f.ask("getUpdates", object{"limit": 1000})
	f.ask("x/bot"+f.Token()+"/getMe", object{})
	shown := fmt.Sprintf("%+v %+v", f.Calls(), f.Violations())
	if strings.Contains(shown, f.Token()) || strings.Contains(shown, strings.Split(f.Token(), ":")[1]) {
		t.Errorf("the token is in %s", shown)
	}
}

func TestCalls(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := start(t, Options{Now: func() time.Time { return now }, Record: 3})
	dm := f.Private(f.User("Ada", "ada"))
	f.ask("sendMessage", object{"chat_id": dm.ID, "text": "one"})
	f.ask("sendMessage", object{"chat_id": dm.ID, "text": ""})
	f.Fault(Fault{Kind: HTML, Status: 502})
	f.ask("sendChatAction", object{"chat_id": dm.ID, "action": "typing"})
	calls := f.Calls()
	if len(calls) != 3 {
		t.Fatalf("%+v", calls)
	}
	want := []Call{
		{At: now, Method: "sendMessage", Params: map[string]string{"chat_id": "5000000001", "text": "one"}, Status: 200},
		{At: now, Method: "sendMessage", Params: map[string]string{"chat_id": "5000000001", "text": ""}, Status: 400, Error: "Bad Request: message text is empty"},
		{At: now, Method: "sendChatAction", Params: map[string]string{"chat_id": "5000000001", "action": "typing"}, Status: 502, Faulted: true, Fault: HTML},
	}
	for i := range want {
		if fmt.Sprint(calls[i]) != fmt.Sprint(want[i]) {
			t.Errorf("got %+v, want %+v", calls[i], want[i])
		}
	}
	f.ask("getMe", nil)
	if calls = f.Calls(); len(calls) != 3 || calls[2].Method != "getMe" || calls[2].Status != 200 || calls[0].Error == "" {
		t.Errorf("three newest: %+v", calls)
	}
	if f.Count("sendMessage") != 1 {
		t.Error("count")
	}
}

func TestWait(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	done := make(chan error, 1)
	go func() {
		done <- f.Wait(context.Background(), func() bool { return len(f.Sent(dm)) == 2 })
	}()
	f.ask("sendMessage", object{"chat_id": dm.ID, "text": "one"})
	f.ask("sendMessage", object{"chat_id": dm.ID, "text": "two"})
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Wait does not see it")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Wait(ctx, func() bool { return false }); err != context.Canceled {
		t.Errorf("a wait that ends with ctx: %v", err)
	}
}

// The same calls make the same world.
func TestDeterministic(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	build := func() string {
		s := New(Options{Now: func() time.Time { return now }})
		ada, bob := s.User("Ada", "ada"), s.User("Bob", "bob")
		dm, crew := s.Private(ada), s.Supergroup("Crew", ada, bob)
		s.Say(dm, ada, "hello")
		topic := s.Topic(crew, "builds")
		s.Say(topic, bob, "/start@offline_bot now")
		s.SendPhoto(dm, ada, []byte("jpeg"), "me")
		s.Edit(dm, 1, "hullo")
		b, err := json.Marshal(s.updates.batch(100))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one := build()
	if two := build(); one != two || !strings.Contains(one, `"update_id":100001,`) {
		t.Errorf("%s\n%s", one, two)
	}
}
