package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// forgetful is a world whose identities have a small limit, with a model that
// measures each request against it.
func forgetful(t testing.TB, limit int, script ...rehearsal.Step) (*world, *gauge) {
	t.Helper()
	w := newWorld(t, script...)
	w.conf.ContextLimit = limit
	g := &gauge{Model: w.conf.Model, limit: limit}
	w.conf.Model = g
	return w, g
}

// reserve puts another server in the place of the world's.
func (w *world) reserve(o rehearsal.Options) {
	w.Helper()
	o.Record = 10_000
	w.model = rehearsal.New(o)
	server := httptest.NewServer(w.model)
	w.Cleanup(server.Close)
	w.url = server.URL
	w.conf.Model = w.client(llm.Config{})
}

// gauge measures requests on their way.
type gauge struct {
	Model
	limit int

	mu      sync.Mutex
	agent   *Agent // whose estimate is looked at
	largest int    // tokens of a request and its answer, as the server counted it
	over    []string
}

func (g *gauge) Complete(ctx context.Context, r llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	g.mu.Lock()
	if a := g.agent; a != nil && !isTask(r) {
		// The agent's goroutine waits for this one.
		if n := a.estimate.Tokens(r.Weight()) + r.MaxTokens; n > g.limit {
			g.over = append(g.over, fmt.Sprintf("a request is estimated at %d tokens", n))
		}
	}
	g.mu.Unlock()
	reply, err := g.Model.Complete(ctx, r, on)
	g.mu.Lock()
	defer g.mu.Unlock()
	n := reply.Usage.Input + r.MaxTokens
	if g.largest = max(g.largest, n); n > g.limit {
		g.over = append(g.over, fmt.Sprintf("a request counted %d tokens", n))
	}
	return reply, err
}

func isTask(r llm.Request) bool {
	return strings.Contains(r.Messages[len(r.Messages)-1].Content, "<task name=")
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

// measured runs an identity under the gauge.
func (w *world) measured(g *gauge, id Identity, change ...func(*Config)) *running {
	w.Helper()
	r := w.run(id, append(change, func(c *Config) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.agent = nil
	})...)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.agent = r.agent
	return r
}

// checked waits until nothing is due, stops the identity, and checks that its bound
// held and that all of it can be reached.
func (r *running) checked(g *gauge) {
	r.w.Helper()
	r.finish()
	g.held(r.w)
	r.w.conserved(r.id)
}

// asked is a request as it came in.
type asked struct {
	sent
	task  string // segment, summarise, or "" for one of a turn
	first []byte // the system message and the past
	// head are the messages without the task.
	head []byte
	last string
}

// requests reads all that the server was asked and not refused.
func (w *world) requests() []asked {
	w.Helper()
	var out []asked
	for _, q := range w.asked() {
		if q.Refused != "" {
			w.Errorf("a request was refused: %s", q.Refused)
			continue
		}
		out = append(out, w.parse(q.Body))
	}
	return out
}

func (w *world) parse(body []byte) asked {
	w.Helper()
	a := asked{sent: sentOf(w, body)}
	var messages []json.RawMessage
	lethetest.Must(w, json.Unmarshal(append(bytes.Clone(a.messages), ']'), &messages))
	var last struct{ Content string }
	lethetest.Must(w, json.Unmarshal(messages[len(messages)-1], &last))
	a.last = last.Content
	a.first = a.messages[:len("[")+len(messages[0])+len(",")+len(messages[1])]
	a.head = a.messages
	if i := strings.LastIndex(last.Content, "<task name="); i >= 0 {
		a.task, _, _ = strings.Cut(last.Content[i+len(`<task name="`):], `"`)
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

func (a asked) alone() bool { return a.task != "" && a.rest["tools"] == "" }

// stable checks that requests of one epoch differ only at their ends, forks
// included, and that nothing but messages differs in a whole life. It returns the
// number of epochs, and of forks.
func (w *world) stable() (epochs, forks int) {
	w.Helper()
	turns, tasks := map[string][]asked{}, map[string][]asked{} // by how they begin
	var rest map[string]string
	for _, r := range w.requests() {
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

// rested waits until the identity is idle and no compaction is under way.
func (r *running) rested() {
	r.w.Helper()
	r.w.eventually(r.id.Name+" has rested", func() bool {
		s, err := status.Read(r.id.Dir)
		return r.ended() || r.idle() && err == nil && !s.Compacting
	})
}

// tasks counts the requests of a task that were made so far; "" counts all.
func (w *world) tasks(task string) int {
	w.Helper()
	n := 0
	for _, q := range w.asked() { // one that was asked is in no later request
		if bytes.Contains(q.Body, []byte(`task name=\"`+task)) {
			n++
		}
	}
	return n
}

// chained checks that from the newest blob each one's parent can be read, down to
// the boot blob, and that LIFE names all of them.
func (w *world) chained(id Identity) {
	w.Helper()
	named := map[blobs.Hash]bool{}
	for _, e := range w.life(id) {
		for _, r := range e.Refs {
			h, err := w.store.Resolve(r.Hash)
			lethetest.Must(w, err)
			named[h] = true
		}
		want := map[string]int{mind.Summary: 2, mind.Gist: 1, mind.Card: 1}[e.Get("to")]
		if e.Kind == "fade" && len(e.Refs) != want {
			w.Errorf("%s to=%s names %d blobs", e.Arg(0), e.Get("to"), len(e.Refs))
		}
	}
	for h := w.fold(id).LastBlob; h.String() != id.Self; {
		if !named[h] {
			w.Errorf("LIFE does not name %s, which is in its chain", h)
		}
		b, err := w.store.Get(h)
		if err != nil || b.Parent.IsZero() {
			w.Errorf("the chain of blobs ends at %s: %v", h, err)
			return
		}
		h = b.Parent
	}
}

// conserved checks that each entry is live or in exactly one faded range, that
// what each said can be read by following refs, and returns how many refs that
// takes at most, and how many ranges there are.
func (w *world) conserved(id Identity) (refs, ranges int) {
	w.Helper()
	w.chained(id)
	s := w.fold(id)
	texts := map[int]string{}
	claim := func(n int, text string) {
		if _, twice := texts[n]; twice {
			w.Errorf("e%d is in two places", n)
		}
		texts[n] = text
	}
	for _, e := range s.Live {
		claim(e.N, e.Original(w.bodyOf))
	}
	for _, r := range s.Faded {
		refs = max(refs, w.open(r.From, r.To, r.Original.Short, r.Level == mind.Card, claim))
	}
	for n := 1; n < s.Next; n++ {
		if _, there := texts[n]; !there {
			w.Errorf("e%d is neither live nor faded", n)
		}
	}
	for _, e := range w.life(id) {
		n, _, err := mind.ParseID(e.Arg(0))
		if err != nil || len(e.Refs) == 0 {
			continue
		}
		want, has := "", texts[n]
		switch e.Kind {
		case mind.Inbound:
			for raw := range strings.Lines(w.body(e, 0)) {
				if l := chat.Parse([]byte(raw)); !l.Agent && !l.Blank() {
					want = blobs.Escape(firstWord(l.Text))
					if !strings.Contains(texts[n], want) {
						w.Errorf("what e%d heard cannot be reached: %.60q in %.200q", n, l.Text, texts[n])
					}
				}
			}
			continue
		case "result":
			want = blobs.Escape(w.body(e, 0))
		case mind.Note, mind.Hint, mind.Position:
			want = blobs.Escape(w.body(e, 0))
		case mind.Reply:
			a, err := mind.DecodeAnswer([]byte(w.body(e, 0)))
			lethetest.Must(w, err)
			want = blobs.Escape(blobs.Unescape(a.Text))
			// A line that looks like the end of the reasoning is guarded.
			has = strings.ReplaceAll(has, "\n\\<", "\n<")
		}
		if !strings.Contains(has, want) {
			w.Errorf("what e%d holds cannot be reached: %d bytes, %.60q, in %.200q", n, len(want), want, has)
		}
	}
	return refs, len(s.Faded)
}

// firstWord is a text up to where it would be shown on another line.
func firstWord(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (w *world) bodyOf(h blobs.Hash) ([]byte, error) {
	b, err := w.store.Get(h)
	return b.Body, err
}

// open follows one ref down to the originals, and hands the text of each entry
// to claim.
func (w *world) open(from, to int, short string, card bool, claim func(int, string)) (refs int) {
	w.Helper()
	h, err := w.store.Resolve(short)
	lethetest.Must(w, err)
	body, err := w.bodyOf(h)
	lethetest.Must(w, err)
	list := mind.ReadCard(body)
	if card && len(list) > 0 {
		at := from
		for _, l := range list {
			if l.From != at {
				w.Errorf("a card of e%d..e%d goes on with e%d after e%d", from, to, l.From, at-1)
			}
			inner, err := w.store.Resolve(l.Ref.Hash)
			lethetest.Must(w, err)
			text, err := w.bodyOf(inner)
			lethetest.Must(w, err)
			refs = max(refs, 1+w.open(l.From, l.To, l.Ref.Hash, bytes.HasPrefix(text, []byte(fmt.Sprint(len(mind.ReadCard(text)), " parts"))), claim))
			at = l.To + 1
		}
		return refs
	}
	rest := string(body)
	for n := from; n <= to; n++ {
		head := fmt.Sprintf("◆ e%d ", n)
		if !strings.HasPrefix(rest, head) {
			w.Errorf("the original of e%d..e%d has no e%d", from, to, n)
			return 1
		}
		end := len(rest)
		if i := strings.Index(rest, fmt.Sprintf("\n◆ e%d ", n+1)); i >= 0 && n < to {
			end = i + 1
		}
		claim(n, rest[:end])
		rest = rest[end:]
	}
	return 1
}

// epochsFor counts the epochs that began for a reason.
func (w *world) epochsFor(id Identity, why string) int {
	w.Helper()
	n := 0
	for _, e := range w.events(id, "epoch") {
		if e.Get("why") == why {
			n++
		}
	}
	return n
}

// errorsOf returns the texts of a kind of error in a life.
func (w *world) errorsOf(id Identity, what string) []string {
	w.Helper()
	var out []string
	for _, e := range w.events(id, "error") {
		if e.Get("what") == what {
			out = append(out, e.Get("text"))
		}
	}
	return out
}
