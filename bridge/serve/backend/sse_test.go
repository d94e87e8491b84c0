package backend_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/serve/backend"
	"lethe/internal/lethetest"
	"lethe/internal/servetest"
)

// What a client reads of a stream, and that the stream ends with it and with the server.
func TestStream(t *testing.T) {
	ended := make(chan error, 2)
	s := servetest.Start(t, t.TempDir(), func(mux *http.ServeMux, b *backend.Backend) {
		mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
			s := b.Stream(w, r)
			defer s.Close()
			_ = s.Send("17", "said", map[string]string{"text": "<a>\nb\r\u2028"})
			_ = s.Send("", "part", "a\nid: 5")
			<-s.Context().Done()
			ended <- s.Send("18", "late", 1)
		})
	})
	resp := s.Do(t, "GET", "/stream", "")
	want := "retry: 2000\n\n" + "id: 17\nevent: said\ndata: {\"text\":\"<a>\\nb\\r\\u2028\"}\n\n" +
		"event: part\ndata: \"a\\nid: 5\"\n\n"
	got := make([]byte, len(want))
	_, err := io.ReadFull(bufio.NewReader(resp.Body), got)
	lethetest.Must(t, err)
	if string(got) != want || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream is %q", got)
	}
	resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("a stream without a client goes on")
	}
}

// A stream on which nothing happens says so every 15 seconds, until the server stops.
func TestStreamPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		b := &backend.Backend{Done: done}
		w := httptest.NewRecorder()
		s := b.Stream(w, httptest.NewRequest("GET", "/", nil))
		time.Sleep(10 * time.Second)
		lethetest.Must(t, s.Send("1", "x", 1))
		time.Sleep(44 * time.Second)
		close(done)
		<-s.Context().Done()
		s.Close()
		time.Sleep(time.Minute)
		if text := w.Body.String(); strings.Count(text, ":\n\n") != 2 || !strings.HasPrefix(text, "retry: 2000\n\nid: 1\n") {
			t.Errorf("it says %q", text)
		}
	})
}
