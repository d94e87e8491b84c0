package rehearsal_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"lethe/agent/llm/rehearsal"
	"lethe/internal/test/lethetest"
)

func TestListenAndServe(t *testing.T) {
	s := rehearsal.New(rehearsal.Options{Pace: time.Hour})
	url, err := s.Listen("127.0.0.1:0")
	lethetest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	stalled, err := http.Post(url+"v1/chat/completions", "application/json", bytes.NewReader(body(t, request(user("hello")))))
	lethetest.Must(t, err) // with its header it has begun
	defer stalled.Body.Close()
	cancel()
	select {
	case err := <-served:
		lethetest.Must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("Serve does not end while a stream hangs")
	}
	if g := read(t, stalled); g.done {
		t.Error("the stalled stream was finished")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestRefusesOtherRoutes(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	for _, path := range []string{"", "/v1/embeddings", "/chat/completions"} {
		res, err := http.Get(strings.TrimSuffix(url, "/chat/completions") + path)
		lethetest.Must(t, err)
		g := read(t, res)
		res.Body.Close()
		if message, _ := g.error(t); g.status != 404 || !strings.Contains(message, "Not Found: GET /") {
			t.Errorf("%s: %d %s", path, g.status, g.raw)
		}
	}
}

func TestRefusesWhatItCannotAnswer(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	for name, r := range map[string]any{
		"prose": "hello", "no messages": request(), "no stream": with(request(user("x")), obj{"stream": false}),
	} {
		g := send(t, url, r)
		if message, kind := g.error(t); g.status != 400 || message == "" || kind != "invalid_request_error" {
			t.Errorf("%s: %d %s", name, g.status, g.raw)
		}
	}
}
