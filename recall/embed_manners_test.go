package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An endpoint that answers one thing throughout is asked once a pass, or twice
// where the texts may be to blame.
func TestRequestsOfAPass(t *testing.T) {
	w := newWorld(t)
	for i := range embedBatch + 3 {
		w.says(fmt.Sprintf("Number %d of the zorbles.", i))
	}
	e := newEndpoint(t)
	x := w.open()
	x.Embed(e.embedder("m"))
	w.sync(x)
	for _, status := range []int{400, 413, 422, 302, 401, 403, 404, 409, 429, 500, 502, 503, 599} {
		e.answers(func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			w.WriteHeader(status)
			return true
		})
		e.sent()
		n, err := x.Vectors(context.Background(), w.store)
		texts, calls := e.sent()
		want, sent := 1, embedBatch
		if status == 400 || status == 413 || status == 422 {
			want, sent = 2, embedBatch+1
		}
		if n != 0 || err == nil || calls != want || len(texts) != sent {
			t.Errorf("%d: %d requests with %d texts, %d vectors, %v", status, calls, len(texts), n, err)
		}
	}
	e.answers(nil)
	if n := w.vectors(x); n != embedBatch+3 {
		t.Errorf("%d vectors", n)
	}
}

// What turns an endpoint against everything while single texts are sent is not
// held against those.
func TestEndpointThatTurns(t *testing.T) {
	w := newWorld(t)
	w.says("The zorble is in the attic.")
	w.says("Bread is baked at dawn.")
	e := newEndpoint(t)
	hello := 0
	e.answers(func(w http.ResponseWriter, _ *http.Request, texts []string) bool {
		if texts[0] == "hello" {
			if hello++; hello == 1 {
				return false
			}
		}
		w.WriteHeader(http.StatusBadRequest)
		return true
	})
	x := w.open()
	x.Embed(e.embedder("m"))
	w.sync(x)
	if n, err := x.Vectors(context.Background(), w.store); n != 0 || err == nil {
		t.Error(n, err)
	}
	if _, calls := e.sent(); calls != 5 { // both, hello, each, hello
		t.Errorf("asked %d times", calls)
	}
	e.answers(nil)
	if n := w.vectors(x); n != 2 {
		t.Errorf("%d vectors", n)
	}
}

// answering is an endpoint without a network.
type answering func() *http.Response

func (f answering) RoundTrip(*http.Request) (*http.Response, error) { return f(), nil }

// An endpoint that wants to be left alone is, by everyone, but not for ever.
func TestRetryAfter(t *testing.T) {
	w := newWorld(t)
	w.says("The zorble is in the attic.")
	synctest.Test(t, func(t *testing.T) {
		x, err := Open(w.indexPath(), slog.New(slog.NewTextHandler(&w.said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		w.sync(x)
		x.Embed(&Embedder{URL: "https://test/v1", Model: "m", Key: testKey})
		var mu sync.Mutex
		began, at, good := time.Now(), []time.Duration{}, false
		values := []string{"7", "0.5", "Sun, 06 Nov 1994 08:49:37 GMT", began.Add(40 * time.Second).UTC().Format(http.TimeFormat), "100000", "soon", "-3", "1e400", "NaN", ""}
		x.embedding.client.Transport = answering(func() *http.Response {
			r := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[{"index":0,"embedding":[1,2]}]}`))}
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began).Round(time.Second))
			if !good {
				r.StatusCode = http.StatusTooManyRequests
				r.Header.Set("Retry-After", values[0])
				values = values[1:]
				good = len(values) == 0
			}
			return r
		})
		times := func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(at)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done, news := make(chan struct{}), make(chan struct{}, 1)
		go func() {
			defer close(done)
			x.KeepVectors(ctx, w.store, news, func() { t.Error("the index is not damaged") })
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		// 7 s instead of 1; 2 and 4 by itself; until 40 s; five minutes; then by itself.
		if got := fmt.Sprint(times()); got != "[0s 7s 9s 13s 40s 5m40s 6m12s 7m12s 8m12s 9m12s 10m12s]" {
			t.Errorf("asked at %s", got)
		}

		mu.Lock()
		values, good, at = []string{"30"}, false, nil
		mu.Unlock()
		if hits := w.search(x, Query{Text: "quamish"}); len(hits) != 0 {
			t.Errorf("found %s", show(hits))
		}
		if n := len(times()); n != 1 {
			t.Fatalf("a search asked %d times", n)
		}
		w.says("Bread is baked at dawn.")
		w.sync(x)
		news <- struct{}{}
		time.Sleep(25 * time.Second)
		synctest.Wait()
		w.search(x, Query{Text: "quamish"})
		if n := len(times()); n != 1 {
			t.Errorf("asked %d times within 30 s", n)
		}
		if p := x.embedding.trouble.search.pause; p != firstPause {
			t.Errorf("a question that was not asked counts as a failure: a pause of %s", p)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(times()); n != 2 {
			t.Errorf("asked %d times in all", n)
		}
		cancel()
		<-done
	})
}

// An endpoint that sends back what it was sent, where an answer has its head,
// does not get it into an error or the log.
func TestEndpointThatEchoes(t *testing.T) {
	w := newWorld(t)
	w.says("The zorble is in the attic.")
	e := newEndpoint(t)
	for what, form := range map[string]string{
		"a header":  "HTTP/1.1 200 OK\r\nBad Header %[1]s\r\n\r\n",
		"a status":  "HTTP/1.1 %[1]s\r\n\r\n",
		"a reason":  "HTTP/1.1 400 %[1]s\r\nContent-Length: 0\r\n\r\n",
		"a version": "HTTP/%[1]s 200 OK\r\n\r\n",
		"a length":  "HTTP/1.1 200 OK\r\nContent-Length: %[1]s\r\n\r\n",
		"a coding":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: %[1]s\r\n\r\n",
		"a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%[1]s\r\n",
		"a wait":    "HTTP/1.1 429 Slow\r\nRetry-After: %[1]s\r\nContent-Length: 0\r\n\r\n",
		"a target":  "HTTP/1.1 307 Go\r\nLocation: %[1]s\r\nContent-Length: 0\r\n\r\n",
		"all of it": "%[1]s\r\n\r\n",
	} {
		e.answers(func(w http.ResponseWriter, r *http.Request, texts []string) bool {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return false
			}
			defer conn.Close()
			fmt.Fprintf(conn, form, r.Header.Get("Authorization")+" "+texts[0])
			return true
		})
		x := w.open()
		x.Embed(e.embedder(what))
		w.sync(x)
		_, err := x.Vectors(context.Background(), w.store)
		var failed *EmbedError
		if !errors.As(err, &failed) {
			t.Fatalf("%s: %v", what, err)
		}
		x.failed(err)
		for err := err; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, testKey) || strings.Contains(text, "zorble") || strings.Contains(text, "hello") {
				t.Errorf("%s: %s", what, text)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	w.silent(testKey)
	w.silent("zorble")
}

// Every failure below HTTP has its words.
func TestBrokenConnections(t *testing.T) {
	gone := newEndpoint(t)
	gone.Close()
	e := newEmbedding(*gone.embedder("m"))
	if _, err := e.embed(context.Background(), []string{"x"}); err == nil || !strings.HasSuffix(err.Error(), "it refuses connections") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.embed(ctx, []string{"x"}); !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "it was not waited for") {
		t.Error(err)
	}
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := e.embed(late, []string{"x"}); !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), "it did not answer in time") {
		t.Error(err)
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, errors.New(`malformed MIME header line: "secret"`)} {
		if got := e.broken(&url.Error{Op: "Post", URL: "http://secret", Err: err}); strings.Contains(got.Error(), "secret") {
			t.Error(got)
		}
	}
}
