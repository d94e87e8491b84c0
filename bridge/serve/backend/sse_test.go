package backend_test

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/serve/backend"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// What a client reads of a stream, and that the stream ends with it and with the server.
func TestStream(t *testing.T) {
	ended := make(chan error, 2)
	s := servetest.Start(t, t.TempDir(), func(mux *http.ServeMux, b *backend.Backend) {
		mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
			s, err := b.Stream(w, r)
			lethetest.Must(t, err)
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

// There are so many streams at once, and one that ends makes room.
func TestMostStreams(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), func(mux *http.ServeMux, b *backend.Backend) {
		mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
			s, err := b.Stream(w, r)
			if err != nil {
				backend.WriteError(w, err)
				return
			}
			defer s.Close()
			<-s.Context().Done()
		})
	})
	var first *http.Response
	for range backend.MostStreams {
		resp := s.Do(t, "GET", "/stream", "")
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		first = cmp.Or(first, resp)
	}
	lethetest.Words(t, servetest.Text(t, s.Do(t, "GET", "/stream", ""), 503), "100 streams of events are open")
	first.Body.Close()
	lethetest.Eventually(t, "there is room", func() bool { return s.Do(t, "GET", "/stream", "").StatusCode == 200 })
}

// A stream on which nothing happens says so every 15 seconds, until the server stops.
func TestStreamPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		b := &backend.Backend{Done: done}
		w := httptest.NewRecorder()
		s, err := b.Stream(w, httptest.NewRequest("GET", "/", nil))
		lethetest.Must(t, err)
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
