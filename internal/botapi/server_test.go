package botapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
	f.Fault(Fault{Method: "getMe", Kind: Hang}, Fault{Method: "getFile", Kind: Slow, Hold: make(chan struct{})},
		Fault{Method: "setMyCommands", Kind: Slow, Wait: time.Hour})
	failed := make(chan error, 4)
	for method, params := range map[string]object{"getUpdates": {"timeout": 50}, "getMe": {}, "getFile": {}, "setMyCommands": {}} {
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
	f.refused(f.ask("sendPlane", object{}), 404, "Not Found: method not found")
	f.blamed("sendPlane")
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
