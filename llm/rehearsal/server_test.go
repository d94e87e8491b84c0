package rehearsal

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestListenAndServe(t *testing.T) {
	s := New(Options{Script: []Step{{Contains: "stall", Fault: Stall}}})
	url, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("127.0.0.1:0"); err == nil {
		t.Error("listened twice")
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	if g := send(t, url+"v1/chat/completions", request(user("count to 1"))); g.text != "1" {
		t.Errorf("%+v", g)
	}
	stalled, err := http.Post(url+"chat/completions", "application/json", bytes.NewReader(body(t, request(user("stall")))))
	if err != nil { // with its header it has begun
		t.Fatal(err)
	}
	defer stalled.Body.Close()
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Serve does not end while a stream hangs")
	}
	if g := read(t, stalled); g.done {
		t.Error("the stalled stream was finished")
	}
	http.DefaultClient.CloseIdleConnections()
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		<-time.After(time.Millisecond)
	}
}

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

func TestRoutes(t *testing.T) {
	_, url := start(t, Options{})
	for _, path := range []string{"/", "/v1/embeddings", "/chat/completions"} {
		res, err := http.Get(strings.TrimSuffix(url, "/chat/completions") + path)
		if err != nil {
			t.Fatal(err)
		}
		g := read(t, res)
		res.Body.Close()
		if message, _ := g.error(t); g.status != 404 || !strings.Contains(message, "Not Found: GET /") {
			t.Errorf("%s: %d %s", path, g.status, g.raw)
		}
	}
}

func TestRecording(t *testing.T) {
	s, url := start(t, Options{Record: 2})
	for _, text := range []string{"a", "b", "c"} {
		send(t, url, request(user(text)))
	}
	recs := s.Requests()
	if len(recs) != 2 || !strings.Contains(string(recs[0].Body), `"content":"b"`) || !strings.Contains(string(recs[1].Body), `"content":"c"`) {
		t.Errorf("%d requests: %s", len(recs), recs)
	}
	if recs[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", recs[0].Header)
	}
	s, url = start(t, Options{})
	send(t, url, request(user("a")))
	if len(s.Requests()) != 0 || s.Usage().Calls != 1 {
		t.Error("recorded all the same, or not counted")
	}
}

func TestConcurrency(t *testing.T) {
	s, url := start(t, Options{Script: []Step{{Contains: "never", Times: 3}}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := range 8 {
				text := fmt.Sprintf("%d*%d = %d", i, k, i*k)
				r := with(request(user(fmt.Sprintf("what is %d*%d?", i, k))), obj{"user_id": fmt.Sprint(i % 4)})
				if g := send(t, url, r); g.text != text {
					t.Errorf("%q, want %q", g.text, text)
				}
				s.Push(Step{Contains: "not there"})
				_, _, _ = s.Pending(), s.Requests(), s.Usage()
			}
		})
	}
	wg.Wait()
	if u := s.Usage(); u.Calls != 128 {
		t.Errorf("%+v", u)
	}
}
