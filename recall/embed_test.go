package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/blobs"
)

const testKey = "sk-very-secret-0123456789"

// meanings are words that share a dimension; all others have one by their hash.
var meanings = map[string]int{"zorble": 0, "quamish": 0, "frindle": 1, "plonketh": 1}

const testDims = 64

// meaning is a bag of words as a vector.
func meaning(text string) []float64 {
	v := make([]float64, testDims)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if i, ok := meanings[w]; ok {
			v[i] += 3
			continue
		}
		h := fnv.New32a()
		io.WriteString(h, w)
		v[8+h.Sum32()%(testDims-8)]++
	}
	v[7] = 0.01 // never nothing
	return v
}

// endpoint is an embeddings server that can be made to fail.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	texts  []string // all that it was sent
	calls  int
	keys   map[string]bool
	answer func(w http.ResponseWriter, r *http.Request, texts []string) bool // false: as usual
}

func newEndpoint(t testing.TB) *endpoint {
	e := &endpoint{keys: map[string]bool{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || asked.Model == "" {
		http.Error(w, "what?", http.StatusNotFound)
		return
	}
	e.mu.Lock()
	e.calls++
	e.texts = append(e.texts, asked.Input...)
	e.keys[r.Header.Get("Authorization")] = true
	answer := e.answer
	e.mu.Unlock()
	if answer == nil || !answer(w, r, asked.Input) {
		vectors := make([][]float64, len(asked.Input))
		for i, text := range asked.Input {
			vectors[i] = meaning(text)
		}
		reply(w, vectors)
	}
}

// reply answers with vectors, the last one first.
func reply(w http.ResponseWriter, vectors [][]float64) {
	var data []map[string]any
	for i := len(vectors) - 1; i >= 0; i-- {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vectors[i]})
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "m", "data": data})
}

func (e *endpoint) answers(f func(http.ResponseWriter, *http.Request, []string) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = f
}

// sent returns what it was sent since the last time.
func (e *endpoint) sent() (texts []string, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	texts, calls = e.texts, e.calls
	e.texts, e.calls = nil, 0
	return texts, calls
}

func (e *endpoint) embedder(model string) *Embedder {
	return &Embedder{URL: e.URL + "/v1/", Model: model, Key: testKey, Timeout: 20 * time.Second}
}

func (w *world) vectors(x *Index) int {
	w.t.Helper()
	n, err := x.Vectors(context.Background(), w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// embedded is an index that is up to date, with its vectors.
func (w *world) embedded(e *endpoint) *Index {
	w.t.Helper()
	x := w.open()
	x.Embed(e.embedder("m"))
	w.sync(x)
	w.vectors(x)
	return x
}

func (w *world) silent(secret string) {
	w.t.Helper()
	if strings.Contains(w.said.String(), secret) {
		w.t.Errorf("the log has %q:\n%s", secret, w.said.String())
	}
}

func TestVectorsFindWhatWordsDoNot(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWorld(t)
	far := w.says("The zorble is in the attic.")
	w.says("Bread is baked at dawn.")
	tool := w.fades(w.worked("I look at it.", "BASH", `{"command":"ls"}`, "frindle.txt frindle"))[0]
	both := w.says("A quamish harbour.")
	e := newEndpoint(t)
	x := w.embedded(e)
	texts, calls := e.sent()
	if len(texts) != 4 || calls != 1 || strings.Contains(strings.Join(texts, "\n"), "◆") || strings.Contains(strings.Join(texts, "\n"), "hash=") {
		t.Errorf("%d requests with %q", calls, texts)
	}
	if !e.keys["Bearer "+testKey] || len(e.keys) != 1 {
		t.Errorf("keys %v", e.keys)
	}
	hits := w.search(x, Query{Text: "quamish"})
	if len(hits) < 2 || hits[0].Hash != both || hits[1].Hash != far {
		t.Fatalf("%s", show(hits))
	}
	if h := hits[1]; !strings.HasPrefix(h.Passage, "[USER:ada ") || !strings.HasSuffix(h.Passage, "The zorble is in the attic.") || h.Confidence != 0 || h.Score >= hits[0].Score {
		t.Errorf("%+v", h)
	}
	if h := w.search(x, Query{Text: "plonketh"})[0]; h.Hash != tool || h.Passage != "I look at it." {
		t.Errorf("%+v", h)
	}
	if texts, _ := e.sent(); fmt.Sprint(texts) != "[quamish plonketh]" {
		t.Errorf("sent %q", texts)
	}
	for what, c := range map[string]struct {
		q    Query
		want int
	}{
		"not":   {Query{Text: "quamish", Not: []blobs.Hash{far}}, 0},
		"room":  {Query{Text: "quamish", Room: "ops"}, 0},
		"dev":   {Query{Text: "quamish", Room: "dev"}, 1},
		"tool":  {Query{Text: "quamish", Tool: "BASH"}, 0},
		"kind":  {Query{Text: "quamish", Kind: "reply"}, 0},
		"since": {Query{Text: "quamish", Since: w.now.Add(-time.Second)}, 0},
		"until": {Query{Text: "quamish", Until: w.now.Add(-time.Second)}, 1},
	} {
		n := 0
		for _, h := range w.search(x, c.q) {
			if h.Hash == far {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: found %d times, want %d", what, n, c.want)
		}
	}
	if n := w.vectors(x); n != 0 {
		t.Errorf("%d vectors made again", n)
	}
	e.Close()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// An index without an endpoint sends nothing, and is what it always was.
func TestVectorsAreOff(t *testing.T) {
	w := newWorld(t)
	w.says("The zorble is in the attic.")
	x := w.synced()
	x.Embed(nil)
	x.KeepVectors(context.Background(), w.store, nil, nil)
	if n := w.vectors(x); n != 0 {
		t.Errorf("%d vectors", n)
	}
	if hits := w.search(x, Query{Text: "quamish"}); len(hits) != 0 {
		t.Errorf("found %s", show(hits))
	}
	db, err := x.current()
	if err != nil {
		t.Fatal(err)
	}
	if have, err := hasVectors(context.Background(), db.read); have || err != nil {
		t.Error(have, err)
	}
	e := newEndpoint(t) // configured, but there are no vectors yet
	x.Embed(e.embedder("m"))
	w.search(x, Query{Text: "zorble"})
	if _, calls := e.sent(); calls != 0 {
		t.Errorf("a search without vectors has asked %d times", calls)
	}
}

// Whatever an endpoint does, words go on finding, and nobody learns the key.
func TestVectorsOfABadEndpoint(t *testing.T) {
	w := newWorld(t)
	zorble := w.says("The zorble is in the attic.")
	w.says("Bread is baked at dawn.")
	other := newEndpoint(t)
	text := func(body string) func(http.ResponseWriter, *http.Request, []string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ []string) bool { io.WriteString(w, body); return true }
	}
	status := func(n int) func(http.ResponseWriter, *http.Request, []string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ []string) bool {
			http.Error(w, "no, "+r.Header.Get("Authorization"), n)
			return true
		}
	}
	for what, answer := range map[string]func(http.ResponseWriter, *http.Request, []string) bool{
		"400": status(400), "401": status(401), "404": status(404), "429": status(429), "500": status(500), "503": status(503),
		"redirect": func(w http.ResponseWriter, r *http.Request, _ []string) bool {
			http.Redirect(w, r, other.URL+"/v1/embeddings", http.StatusTemporaryRedirect)
			return true
		},
		"nothing":   text(""),
		"garbage":   text("<html>" + testKey),
		"a list":    text("[]"),
		"none":      text(`{"data":[]}`),
		"too few":   text(`{"data":[{"index":0,"embedding":[1]}]}`),
		"too many":  text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`),
		"twice":     text(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`),
		"no index":  text(`{"data":[{"embedding":[1]},{"embedding":[1]}]}`),
		"far index": text(`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`),
		"NaN":       text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[NaN]}]}`),
		"infinite":  text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1e999]}]}`),
		"zero":      text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[0]}]}`),
		"empty":     text(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`),
		"ragged":    text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`),
		"text":      text(`{"data":[{"index":0,"embedding":["1"]},{"index":1,"embedding":[1]}]}`),
		"rest":      text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]} more`),
		"endless":   text(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}` + strings.Repeat(" ", mostAnswer)),
		"cut": func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data"`)
			return true
		},
		"echo": func(w http.ResponseWriter, r *http.Request, _ []string) bool {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, r.Header.Get("Authorization")+"\r\n\r\n")
				conn.Close()
			}
			return true
		},
		"gone": func(http.ResponseWriter, *http.Request, []string) bool { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			e := newEndpoint(t)
			e.answers(answer)
			x := w.open()
			defer x.Close()
			x.Embed(e.embedder(what))
			w.sync(x)
			n, err := x.Vectors(context.Background(), w.store)
			var failed *EmbedError
			if n != 0 || !errors.As(err, &failed) || failed.Host == "" || failed.Message == "" {
				t.Fatalf("%d vectors, %v", n, err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v %v", err, err, failed, errors.Unwrap(failed)), testKey) || strings.Contains(err.Error(), "zorble") {
				t.Errorf("the error tells too much: %v", err)
			}
			e.answers(nil)
			w.vectors(x)
			e.answers(answer)
			x.embedding.trouble.search.pause = lastPause // the next one is long, whatever the machine does
			w.finds(x, "zorble", zorble)
			e.sent()
			w.finds(x, "zorble", zorble)
			if _, calls := e.sent(); calls != 0 {
				t.Errorf("asked again at once")
			}
		})
	}
	w.silent(testKey)
	if _, calls := other.sent(); calls != 0 {
		t.Error("a redirect was followed")
	}
}
