package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/agent/llm"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// gauge measures requests on their way.
type gauge struct {
	Model
	limit int               // tokens of a request and its answer; 0: any number
	tell  func(llm.Request) // called before each; may be nil

	mu   sync.Mutex
	over []string
}

func (g *gauge) Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	if g.tell != nil {
		g.tell(r)
	}
	r.Patience = 0 // tests of package llm have it
	reply, err := g.Model.Complete(ctx, r, on)
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := reply.Usage.Input + r.MaxTokens; n > g.limit && g.limit > 0 {
		g.over = append(g.over, fmt.Sprintf("a request counted %d tokens", n))
	}
	return reply, err
}

// held checks that no request was larger than the limit.
func (g *gauge) held(t testing.TB) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.over) > 0 {
		t.Errorf("the limit is %d, and %d requests were over it: %q", g.limit, len(g.over), g.over[:min(5, len(g.over))])
	}
}

func isTask(r llm.Request) bool {
	return strings.Contains(r.Messages[len(r.Messages)-1].Content.String(), "<task name=")
}

// asked is a request as it came in, in parts.
type asked struct {
	messages []byte            // as bytes, without the closing bracket
	rest     map[string]string // every other field
	task     string            // segment, summarise, or "" for one of a turn
	first    []byte            // the system message and the past
	head     []byte            // the messages without the task
	last     string            // the content of the last message
}

// asked returns the requests so far.
func (w *world) asked() []rehearsal.Recorded { return w.model.Requests() }

// prompt is the newest request's messages, as text.
func (w *world) prompt() string {
	w.Helper()
	asked := w.asked()
	return string(w.parse(asked[len(asked)-1].Body).messages)
}

// requests reads all that the server was asked and did not refuse.
func (w *world) requests() []asked {
	w.Helper()
	var out []asked
	for _, q := range w.asked() {
		if q.Refused == "" {
			out = append(out, w.parse(q.Body))
		}
	}
	return out
}

// parse reads a request once, however often it is looked at.
func (w *world) parse(body []byte) asked {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	a, known := w.known[&body[0]]
	if !known {
		a = parseRequest(w, body)
		w.known[&body[0]] = a
	}
	return a
}

func parseRequest(t testing.TB, body []byte) asked {
	t.Helper()
	var fields map[string]json.RawMessage
	lethetest.Must(t, json.Unmarshal(body, &fields))
	var messages []json.RawMessage
	lethetest.Must(t, json.Unmarshal(fields["messages"], &messages))
	a := asked{messages: bytes.TrimSuffix(fields["messages"], []byte("]")), rest: map[string]string{}}
	delete(fields, "messages")
	for k, v := range fields {
		a.rest[k] = string(v)
	}
	var last struct{ Content any }
	lethetest.Must(t, json.Unmarshal(messages[len(messages)-1], &last))
	a.last = fmt.Sprint(last.Content)
	a.first = a.messages[:len("[")+len(messages[0])+len(",")+len(messages[1])]
	a.head = a.messages
	if i := strings.LastIndex(a.last, "<task name="); i >= 0 {
		a.task, _, _ = strings.Cut(a.last[i+len(`<task name="`):], `"`)
		a.head = a.messages[:len(a.messages)-len(messages[len(messages)-1])-len(",")]
	}
	return a
}

// newest is the last request of a turn. One of a compaction may have come later.
func (w *world) newest() asked {
	w.Helper()
	turns := slices.DeleteFunc(w.requests(), func(a asked) bool { return a.task != "" })
	return turns[len(turns)-1]
}

// tasks are the last messages of the requests for a task that were made so far; "" is any.
func (w *world) tasks(task string) (texts []string) {
	w.Helper()
	for _, q := range w.asked() { // one that was asked is in no later request
		if bytes.Contains(q.Body, []byte(`task name=\"`+task)) {
			texts = append(texts, w.parse(q.Body).last)
		}
	}
	return texts
}

func (a asked) alone() bool { return a.task != "" && a.rest["tools"] == "" }

// stable checks that requests of one epoch differ only at their ends, forks
// included, and that nothing but messages differs in a whole life. It returns the
// number of different beginnings, and of forks.
func (w *world) stable(requests []asked) (epochs, forks int) {
	w.Helper()
	turns, tasks := map[string][]asked{}, map[string][]asked{} // by how they begin
	var rest map[string]string
	for _, r := range requests {
		if r.alone() {
			continue
		}
		if rest == nil {
			rest = r.rest
		}
		if !maps.Equal(r.rest, rest) {
			w.Errorf("what stands beside the messages changed from %v to %v", rest, r.rest)
		}
		first := string(r.first)
		if r.task != "" {
			tasks[first] = append(tasks[first], r)
			forks++
			continue
		}
		if group := turns[first]; len(group) > 0 {
			if before := group[len(group)-1]; !bytes.HasPrefix(r.messages, before.messages) {
				w.Errorf("a request does not begin with the one before it:\n%s", firstDifference(string(r.messages), string(before.messages)))
			}
		}
		turns[first] = append(turns[first], r)
	}
	for first, list := range tasks {
		for _, f := range list {
			for _, r := range turns[first] {
				if !bytes.HasPrefix(f.head, r.messages) && !bytes.HasPrefix(r.messages, f.head) {
					w.Errorf("a fork is not a request of its epoch with one message more:\n%s", firstDifference(string(f.head), string(r.messages)))
				}
			}
		}
	}
	return len(turns), forks
}
