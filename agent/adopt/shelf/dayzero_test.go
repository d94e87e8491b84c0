package shelf_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/compactor/recall"
	"lethe/internal/test/lethetest"
)

type turn struct {
	Speaker, Text string
	ID            string `json:"dia_id"`
}

type asked struct {
	Question string
	Evidence []string
	Category int
}

// layouts write the session of a day as an agent does. who is user or assistant.
var layouts = map[string]func(w *world, n int, at time.Time, who []string, turns []turn){
	"claude-code": func(w *world, n int, at time.Time, who []string, turns []turn) {
		var rows string
		for i, t := range turns {
			rows += fmt.Sprintf(`{"type":%q,"uuid":"u%d.%d","timestamp":%q,"message":{"id":"m%[2]d.%[3]d","role":%[1]q,"content":%[5]s}}`,
				who[i], n, i, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), text(t)) + "\n"
		}
		lethetest.Write(w, filepath.Join(w.dir, fmt.Sprintf("projects/p/s%d.jsonl", n)), rows)
	},
	"codex": func(w *world, n int, at time.Time, who []string, turns []turn) {
		id := fmt.Sprintf("01a21fb4-a7de-78e2-99ff-b65a6b%06d", n)
		rows := fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q}}`+"\n", at.Format(time.RFC3339), id)
		for i, t := range turns {
			rows += fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":%q,`+
				`"content":[{"type":"input_text","text":%s}]}}`+"\n",
				at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), who[i], text(t))
		}
		lethetest.Write(w, filepath.Join(w.dir, "sessions/2023/rollout-2023-01-01T00-00-00-"+id+".jsonl"), rows)
	},
	"qwen-code": func(w *world, n int, at time.Time, who []string, turns []turn) {
		var rows string
		for i, t := range turns {
			rows += fmt.Sprintf(`{"uuid":"u%d.%d","type":%q,"timestamp":%q,"message":{"parts":[{"text":%s}]}}`+"\n",
				n, i, who[i], at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), text(t))
		}
		lethetest.Write(w, filepath.Join(w.dir, fmt.Sprintf("projects/p/chats/s%d.jsonl", n)), rows)
	},
}

func text(t turn) string {
	coded, _ := json.Marshal(t.Speaker + ": " + strings.Join(strings.Fields(t.Text), " "))
	return string(coded)
}

// Day zero: what was adopted a minute ago is found by the questions of LoCoMo as often as by plain BM25 over the same
// originals, in three layouts. LETHE_LOCOMO names the directory of the conversations.
func TestDayZero(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("LETHE_LOCOMO"), "*.json"))
	if os.Getenv("LETHE_LOCOMO") == "" || len(files) == 0 {
		t.Skip("LETHE_LOCOMO names no conversations")
	}
	for agent, lay := range layouts {
		var ours, plain [3]int
		questions := 0
		var took []time.Duration
		for _, file := range files {
			w := newWorld(t)
			raw := map[string]json.RawMessage{}
			data, err := os.ReadFile(file)
			lethetest.Must(t, errors.Join(err, json.Unmarshal(data, &raw)))
			said := map[string]string{}
			for n := 1; raw[fmt.Sprint("session_", n)] != nil; n++ {
				var turns []turn
				lethetest.Must(t, json.Unmarshal(raw[fmt.Sprint("session_", n)], &turns))
				var when string
				_ = json.Unmarshal(raw[fmt.Sprintf("session_%d_date_time", n)], &when)
				at, err := time.Parse("3:04 pm on 2 January, 2006", when)
				lethetest.Must(t, err)
				var who []string
				for _, one := range turns {
					said[one.ID] = strings.Join(strings.Fields(one.Text), " ")
					who = append(who, map[bool]string{true: "user", false: "assistant"}[one.Speaker == turns[0].Speaker])
				}
				lay(w, n, at, who, turns)
			}
			w.adopt(agent, w.dir)
			bodies, _ := w.originals()
			ranks := newBM25(bodies)
			index := recall.Open(filepath.Join(w.dir, "recall.db"), w.state().Owns, slog.New(slog.DiscardHandler))
			_, err = index.Sync(t.Context(), w.store, w.id.LIFE())
			lethetest.Must(t, err)
			var all []asked
			lethetest.Must(t, json.Unmarshal(raw["qa"], &all))
			for _, q := range all {
				if len(q.Evidence) == 0 || q.Category == 5 { // nothing holds the answer
					continue
				}
				holds := func(body string) bool {
					return slices.ContainsFunc(q.Evidence, func(id string) bool {
						return said[id] != "" && strings.Contains(body, said[id])
					})
				}
				questions++
				began := time.Now()
				found, err := index.Search(t.Context(), w.store, recall.Query{Text: q.Question, Limit: 50, Now: time.Now()})
				took = append(took, time.Since(began))
				lethetest.Must(t, err)
				for k, most := range []int{1, 5, 50} {
					for i, hit := range found.Hits {
						blob, err := w.store.Get(hit.Hash)
						lethetest.Must(t, err)
						if i < most && holds(string(blob.Body)) {
							ours[k]++
							break
						}
					}
					for _, body := range ranks.best(q.Question, most) {
						if holds(body) {
							plain[k]++
							break
						}
					}
				}
			}
		}
		slices.Sort(took)
		share := func(n int) float64 { return 100 * float64(n) / float64(questions) }
		t.Logf("%s, %d questions: hit@1/5/50 %.1f %.1f %.1f, BM25 %.1f %.1f %.1f, p50 %v", agent, questions,
			share(ours[0]), share(ours[1]), share(ours[2]), share(plain[0]), share(plain[1]), share(plain[2]), took[len(took)/2])
		for k := range ours {
			if ours[k] < plain[k] {
				t.Errorf("%s: BM25 finds more: %v, %v", agent, plain, ours)
			}
		}
	}
}

// bm25 is plain BM25 over whole originals.
type bm25 struct {
	bodies []string
	counts []map[string]int
	sizes  []float64
	in     map[string]int
	mean   float64
}

var words = regexp.MustCompile(`[\p{L}\p{N}]+`)

func newBM25(bodies []string) *bm25 {
	r := &bm25{bodies: bodies, in: map[string]int{}}
	for _, body := range bodies {
		counts := map[string]int{}
		all := words.FindAllString(strings.ToLower(body), -1)
		for _, word := range all {
			if counts[word]++; counts[word] == 1 {
				r.in[word]++
			}
		}
		r.counts, r.sizes = append(r.counts, counts), append(r.sizes, float64(len(all)))
		r.mean += float64(len(all)) / float64(len(bodies))
	}
	return r
}

func (r *bm25) best(question string, most int) (out []string) {
	scores, order := make([]float64, len(r.bodies)), make([]int, len(r.bodies))
	for i := range r.bodies {
		order[i] = i
		for _, word := range words.FindAllString(strings.ToLower(question), -1) {
			f := float64(r.counts[i][word])
			n, in := float64(len(r.bodies)), float64(r.in[word])
			scores[i] += math.Log(1+(n-in+0.5)/(in+0.5)) * f * 2.2 / (f + 1.2*(0.25+0.75*r.sizes[i]/r.mean))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order[:min(most, len(order))] {
		out = append(out, r.bodies[i])
	}
	return out
}
