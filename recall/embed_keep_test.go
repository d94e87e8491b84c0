package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A process that ends in the middle goes on there.
func TestVectorsGoOn(t *testing.T) {
	w := newWorld(t)
	for i := range embedBatch + 8 {
		w.says(fmt.Sprintf("Number %d of the zorbles.", i))
	}
	e := newEndpoint(t)
	e.answers(func(w http.ResponseWriter, _ *http.Request, texts []string) bool {
		if len(texts) == embedBatch {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	x := w.open()
	x.Embed(e.embedder("m"))
	w.sync(x)
	if n, err := x.Vectors(context.Background(), w.store); n != embedBatch || err == nil {
		t.Fatal(n, err)
	}
	if texts, _ := e.sent(); !strings.Contains(texts[0], fmt.Sprintf("Number %d ", embedBatch+7)) {
		t.Errorf("the newest is not first: %q", texts[0])
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	e.answers(nil)
	x = w.open()
	x.Embed(e.embedder("m"))
	if n := w.vectors(x); n != 8 {
		t.Errorf("%d vectors after a restart", n)
	}
	if texts, calls := e.sent(); len(texts) != 8 || calls != 1 {
		t.Errorf("%d texts, %d requests", len(texts), calls)
	}
	w.says("One more.")
	w.sync(x)
	if n := w.vectors(x); n != 1 {
		t.Errorf("%d vectors of one", n)
	}
}

func TestVectorsOfAnotherModel(t *testing.T) {
	w := newWorld(t)
	far := w.says("The zorble is in the attic.")
	e := newEndpoint(t)
	x := w.embedded(e)
	w.finds(x, "quamish", far)
	x.Embed(e.embedder("another"))
	e.sent()
	if hits := w.search(x, Query{Text: "quamish"}); len(hits) != 0 {
		t.Errorf("compared with vectors of another model: %s", show(hits))
	}
	if _, calls := e.sent(); calls != 0 {
		t.Error("asked for nothing")
	}
	if n := w.vectors(x); n != 1 {
		t.Errorf("%d vectors made anew", n)
	}
	w.finds(x, "quamish", far)

	// The same name, and vectors of another size: they cannot be compared.
	e.answers(func(w http.ResponseWriter, _ *http.Request, texts []string) bool {
		reply(w, [][]float64{{1, 2, 3}})
		return true
	})
	bread := w.says("Bread is baked at dawn.")
	w.sync(x)
	if n, err := x.Vectors(context.Background(), w.store); n != 0 || err == nil || !strings.Contains(err.Error(), "3 numbers") {
		t.Error(n, err)
	}
	w.finds(x, "bread", bread)
	e.answers(nil)
	if n := w.vectors(x); n != 1 {
		t.Errorf("%d vectors", n)
	}
}

// One text that an endpoint refuses does not hold up the others, nor is it sent
// for ever.
func TestVectorsOfRefusedTexts(t *testing.T) {
	w := newWorld(t)
	w.says("The zorble is in the attic.")
	w.says("poison " + strings.Repeat("and more of it ", 100))
	w.says("long " + strings.Repeat("and more of it ", 100))
	w.fades(fmt.Sprintf("◆ e%d hint\nnothing of its own\n", w.next))
	e := newEndpoint(t)
	e.answers(func(w http.ResponseWriter, _ *http.Request, texts []string) bool {
		for _, text := range texts {
			if strings.Contains(text, "poison") || len(text) > 1000 {
				w.WriteHeader(http.StatusBadRequest)
				return true
			}
		}
		return false
	})
	x := w.open()
	x.Embed(e.embedder("m"))
	w.sync(x)
	if n := w.vectors(x); n != 2 {
		t.Errorf("%d vectors", n)
	}
	e.sent()
	if n := w.vectors(x); n != 0 {
		t.Errorf("%d vectors", n)
	}
	if texts, _ := e.sent(); len(texts) != 0 {
		t.Errorf("sent again: %q", texts)
	}
	// Now alone, so that the endpoint is tried with another text.
	w.says("poison again")
	w.sync(x)
	w.vectors(x)
	if texts, _ := e.sent(); texts[len(texts)-1] != "hello" {
		t.Errorf("sent %q", texts)
	}
	w.vectors(x)
	if texts, _ := e.sent(); len(texts) != 0 {
		t.Errorf("sent again: %q", texts)
	}
	w.search(x, Query{Text: "zorble poison"})
	w.silent(testKey)
}

// A long original is cut for the endpoint.
func TestVectorsOfLongOriginals(t *testing.T) {
	w := newWorld(t)
	w.says(strings.Repeat("日本語 ", 20_000))
	w.fades(w.worked("é", "BASH", "{}", strings.Repeat("a line of output\n", 5000)))
	e := newEndpoint(t)
	w.embedded(e)
	texts, _ := e.sent()
	for _, text := range texts {
		if n := len([]rune(text)); n > embedRunes || n < embedRunes/2 || strings.Contains(text, "\uFFFD") {
			t.Errorf("%d characters", n)
		}
	}
}

func TestDamagedVectors(t *testing.T) {
	w := newWorld(t)
	far := w.says("The zorble is in the attic.")
	w.says("Bread is baked at dawn.")
	e := newEndpoint(t)
	for _, statement := range []string{
		"UPDATE vectors SET vector = x'00'",
		"UPDATE vectors SET vector = zeroblob(68)",
		"UPDATE embedder SET size = -1",
		"UPDATE embedder SET size = 1",
		"DELETE FROM embedder",
		"DELETE FROM vectors",
		"DROP TABLE embedder",
		"DROP TABLE vectors",
		"UPDATE vectors SET id = id + 100",
	} {
		x := w.embedded(e)
		db, err := x.current()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.write.Exec(statement); err != nil {
			t.Fatal(err)
		}
		_, serr := x.Search(context.Background(), w.store, Query{Text: "zorble"})
		if serr != nil && !errors.Is(serr, ErrRebuilding) {
			t.Errorf("%s: %v", statement, serr)
		}
		for range 3 { // what finds the damage first says so
			w.sync(x)
			if _, err = x.Vectors(context.Background(), w.store); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v", statement, err)
		}
		hits, err := x.Search(context.Background(), w.store, Query{Text: "zorble"})
		if err != nil || len(hits) == 0 || hits[0].Hash != far {
			t.Errorf("%s: %s, %v", statement, show(hits), err)
		}
		x.Close()
		remove(t, w.indexPath())
	}
}

// What making vectors finds first, it says.
func TestVectorsFindDamage(t *testing.T) {
	w := newWorld(t)
	far := w.says("The zorble is in the attic.")
	x := w.embedded(newEndpoint(t))
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.write.Exec("DELETE FROM vectors; UPDATE docs SET hash = x'00'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rebuilding, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		x.KeepVectors(ctx, w.store, nil, func() { close(rebuilding) })
	}()
	<-rebuilding
	cancel()
	<-done
	w.sync(x)
	if n := w.vectors(x); n != 1 {
		t.Errorf("%d vectors", n)
	}
	w.finds(x, "quamish", far)
}

// roundTrip is an endpoint without a network.
type roundTrip func() (int, string)

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := f()
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A failing endpoint is asked again after 1, 2, 4 … 60 seconds, and told of once.
func TestKeepVectors(t *testing.T) {
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
		var at []time.Duration
		good := false
		began := time.Now()
		x.embedding.client.Transport = roundTrip(func() (int, string) {
			at = append(at, time.Since(began).Round(time.Second))
			if good = good || len(at) == 9; !good {
				return http.StatusServiceUnavailable, ""
			}
			return http.StatusOK, `{"data":[{"index":0,"embedding":[1,2]}]}`
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		news := make(chan struct{}, 1)
		go func() {
			defer close(done)
			x.KeepVectors(ctx, w.store, news, func() { t.Error("the index is not damaged") })
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(at); got != "[0s 1s 3s 7s 15s 31s 1m3s 2m3s 3m3s]" {
			t.Errorf("asked at %s", got)
		}
		at = nil
		w.says("Bread is baked at dawn.")
		w.sync(x)
		news <- struct{}{}
		synctest.Wait()
		cancel()
		<-done
		if len(at) != 1 {
			t.Errorf("asked %d times for what is new", len(at))
		}
	})
	log := w.said.String()
	if strings.Count(log, "no embeddings now") != 1 || strings.Count(log, "answers again") != 1 {
		t.Errorf("told:\n%s", log)
	}
	w.silent(testKey)
}

// A stored vector is nearly what it was.
func TestPackedVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "dims")
		draw := func(name string) []float32 {
			v := rapid.SliceOfN(rapid.Float64Range(-1e30, 1e30), n, n).Draw(t, name)
			v[0] += 1e-3
			out, ok := normal(v)
			if !ok {
				t.Skip("no direction")
			}
			return out
		}
		a, b := draw("a"), draw("b")
		want := 0.0
		for i := range a {
			want += float64(a[i]) * float64(b[i])
		}
		got, ok, err := cosine(pack(a), b)
		if !ok || err != nil || math.Abs(got-want) > 0.004*math.Sqrt(float64(n))+1e-4 {
			t.Fatalf("%v, want %v: %v", got, want, err)
		}
	})
	for _, v := range [][]float64{{0}, {0, 0}, {math.NaN()}, {1, math.Inf(-1)}, {}} {
		if _, ok := normal(v); ok {
			t.Errorf("%v has a direction", v)
		}
	}
}

func TestCheckEmbedder(t *testing.T) {
	for url, good := range map[string]bool{
		"https://host/v1": true, "http://127.0.0.1:11434/v1/": true, "": false, "host/v1": false, "ftp://host": false, "https://": false,
		"https://user:pass@host/v1": false, "https://host/v1?key=1": false, "https://host/v1#a": false, "http://%zz": false,
	} {
		err := (&Embedder{URL: url, Model: "m"}).Check()
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if (&Embedder{URL: "https://host", Model: " "}).Check() == nil {
		t.Error("no model")
	}
}
