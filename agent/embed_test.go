package agent

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/llm/rehearsal"
	"lethe/recall"
)

// With an endpoint for embeddings, RECALL finds what shares no word with the
// query; when it hangs, turns and a stop go on.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	w, r, answered := forgotten(t,
		rehearsal.Step{Contains: "please search", Answer: calls("RECALL", `{"query":"quamish zorble","limit":2}`)})
	r.stop()
	entered, hang := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}
		select {
		case <-hang:
			entered <- struct{}{}
			<-in.Context().Done()
			return
		default:
		}
		var asked struct{ Input []string }
		if json.Unmarshal(body, &asked) != nil {
			return
		}
		var data []map[string]any
		for i, text := range asked.Input {
			v := []float64{0, 1}
			if strings.Contains(text, "lighthouse") || strings.Contains(text, "quamish") {
				v = []float64{1, 0.1}
			}
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		json.NewEncoder(out).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	embed := func(c *Config) { c.Recall.Embed = &recall.Embedder{URL: server.URL, Model: "m"} }

	r = w.run(r.id, embed)
	r.indexed()
	w.eventually("there are vectors", func() bool {
		added, err := r.agent.memory.index.Load().Vectors(t.Context(), w.store)
		return added == 0 && err == nil
	})
	w.say("dev", "ann", "please search")
	answered++
	w.answered("dev", answered)
	r.settled()
	results := w.events(r.id, "result")
	equal(t, "results", len(results), 1)
	contains(t, w.body(results[0], 0), "Bosun")
	r.stop()

	close(hang)
	r = w.run(r.id, embed)
	r.indexed()
	w.filler(&answered, 25) // more fades, and so more is sent
	<-entered
	r.stop()
}
