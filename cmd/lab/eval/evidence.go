package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lab/replay"
	"lethe/compactor/recall"
)

// Looks is how often the reader looks something up before it answers: one RECALL, then UNCOMPACT of the best matches.
const Looks = 3

// Evidence says which of the words that answer a life's questions stood in the request, and how large that was.
type Evidence struct {
	Life   string         `json:"life"`
	Limit  int            `json:"limit"` // tokens
	Lines  int            `json:"lines"`
	Found  [Looks + 1]int `json:"found"`  // of Lines, in the request after so many calls
	Tokens [Looks + 1]int `json:"tokens"` // of that request, on average
	Rules  int            `json:"rules"`  // lines that no search finds
	Kept   int            `json:"kept"`   // of Rules, in the request before any call
}

// faults spoil a life, to show that its figures fall.
type faults struct {
	emptySummaries bool                  // the model of the compactor keeps nothing
	noPins         bool                  // or only no rules and promises
	unindexed      func(blobs.Blob) bool // the index leaves these originals out
	noHints        bool
}

// Faults lists what of a life of Shapes is worse than it may be.
func (e Evidence) Faults(life Life) (list []string) {
	check := func(what string, n, of, least int) {
		if 100*n < least*of {
			list = append(list, fmt.Sprintf("%s: %d of %d lines, at least %d %%", what, n, of, least))
		}
	}
	check("without a call", e.Found[0], e.Lines, life.Unasked)
	check("after all calls", e.Found[Looks], e.Lines, 90)
	check("rules", e.Kept, e.Rules, 100)
	return list
}

// Examine plays a life, and puts each question to a fork of it whose model is a script: it searches as the prompt
// tells it to, for the question's own words.
func Examine(ctx context.Context, life Life) (e Evidence, err error) {
	dir, err := os.MkdirTemp("", "lethe-evidence-")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(dir)
	s, err := lived(ctx, dir, life, faults{})
	if err != nil {
		return e, err
	}
	return s.quiz(ctx, life, faults{})
}

// lived plays a life.
func lived(ctx context.Context, dir string, life Life, broken faults) (*stage, error) {
	s, err := newStage(dir, life.Limit)
	if err != nil {
		return nil, err
	}
	s.config.MaxAgentTurns = len(life.Portions) + 1
	s.config.Model = script{broken, obey}
	for name, text := range life.Files {
		if err := os.WriteFile(filepath.Join(s.id.Dir, "workspace", name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := s.live(ctx, life.Portions...); err != nil {
		return nil, fmt.Errorf("play %s: %w", life.Name, err)
	}
	return s, nil
}

func (s *stage) quiz(ctx context.Context, life Life, broken faults) (Evidence, error) {
	e := Evidence{Life: life.Name, Limit: life.Limit}
	then, err := home.At(s.id, s.store, home.Moment{Text: "now"})
	if err != nil {
		return e, err
	}
	for _, asked := range life.Asked {
		r := &reader{question: asked.Text, evidence: asked.Evidence}
		if err := s.ask(ctx, then, r, broken); err != nil {
			return e, fmt.Errorf("ask %s %q: %w", life.Name, asked.Text, err)
		}
		e.count(asked, r)
	}
	for i := range e.Tokens {
		e.Tokens[i] /= max(1, len(life.Asked))
	}
	return e, nil
}

// count adds what a reader has seen. A reader that has ended early sees no more.
func (e *Evidence) count(asked Asked, r *reader) {
	last := len(r.seen) - 1
	for i := range e.Tokens {
		e.Tokens[i] += r.seen[min(i, last)].tokens
	}
	if asked.Rule {
		e.Rules += len(asked.Evidence)
		e.Kept += r.seen[0].lines
		return
	}
	e.Lines += len(asked.Evidence)
	for i := range e.Found {
		e.Found[i] += r.seen[min(i, last)].lines
	}
}

// ask puts a question to a fork, in a room of its own. The index is up to date before.
func (s *stage) ask(ctx context.Context, then home.Then, r *reader, broken faults) error {
	s.forks++
	name := fmt.Sprintf("ask-%d", s.forks)
	fork, _, err := home.Fork(s.config.Home, s.store, s.id, then, home.BootOptions{Name: name, Rooms: []string{name}})
	if err != nil {
		return err
	}
	defer os.RemoveAll(fork.Dir)
	state, err := home.Fold(fork, s.store)
	if err != nil {
		return err
	}
	owns := func(b blobs.Blob) bool {
		isLeftOut := broken.unindexed != nil && broken.unindexed(b)
		return state.Owns(b) && !isLeftOut
	}
	if _, err := recall.Open(fork.RecallPath(), owns, s.config.Log).Sync(ctx, s.store, fork.LIFE()); err != nil {
		return err
	}
	exam := *s
	exam.id, exam.room = fork, chat.Path(s.config.Home.Dir, name)
	exam.config.Model = script{broken, r.answer}
	exam.config.ContextLimit *= 2 // nothing more is forgotten while it reads
	exam.config.Recall = agent.Recall{NoHints: broken.noHints, HintTime: patience}
	question := Line{Speaker: "examiner", At: then.At.Add(time.Hour), Text: r.question}
	return exam.live(ctx, []Line{question})
}

// script is a model that does as the compactor asks as the offline model does, and acts by itself otherwise.
type script struct {
	faults
	act func(llm.Request) llm.Reply
}

func (s script) Complete(ctx context.Context, q llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	messages := make([]rehearsal.Message, len(q.Messages))
	for i, m := range q.Messages {
		messages[i] = replay.Wire(m)
	}
	answer, isTask := rehearsal.Task(messages, replay.SummaryRatio)
	switch {
	case rehearsal.TaskOf(messages) == "segment", isTask && s.emptySummaries:
		return listener{}.Complete(ctx, q, show)
	case isTask:
		return llm.Reply{Finish: "stop", Model: q.Model, Text: s.dropped(answer.Text)}, nil
	}
	reply := s.act(q)
	reply.Model, reply.Finish = q.Model, "stop"
	if len(reply.Calls) > 0 {
		reply.Finish = "tool_calls"
	}
	return reply, nil
}

// dropped leaves the pins of a summary out.
func (f faults) dropped(answer string) string {
	var parts map[string]any
	if !f.noPins || json.Unmarshal([]byte(answer), &parts) != nil {
		return answer
	}
	delete(parts, "pins")
	text, _ := json.Marshal(parts) // texts and numbers
	return string(text)
}

func call(tool string, arguments map[string]any) llm.Reply {
	raw, _ := json.Marshal(arguments) // texts and numbers
	return llm.Reply{Calls: []llm.ToolCall{{ID: "c1", Name: tool, Arguments: string(raw)}}}
}

var readFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bread (\S+\.log)`) })

// obey reads the file that the newest line names, and else notes what was said.
func obey(q llm.Request) llm.Reply {
	last := q.Messages[len(q.Messages)-1]
	if m := readFile().FindAllStringSubmatch(last.Content.String(), -1); last.Role == "user" && m != nil {
		return call("READ_FILE", map[string]any{"path": m[len(m)-1][1]})
	}
	return llm.Reply{Text: "Noted."}
}

// reader looks up a question, and remembers of each request how much of the evidence stood there.
type reader struct {
	question string
	evidence []string
	matches  [][]string
	seen     []sight
}

type sight struct{ lines, tokens int }

// matched finds the hash and the offset of each match in a result of RECALL.
var matched = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^◱?hash=([0-9a-f]+) .* offset=(\d+)$`)
})

func (r *reader) answer(q llm.Request) llm.Reply {
	r.look(q)
	n := len(r.seen) - 1
	if n == 0 {
		return call("RECALL", map[string]any{"query": r.question})
	}
	if n == 1 {
		result := q.Messages[len(q.Messages)-1].Content.String()
		r.matches = matched().FindAllStringSubmatch(result, Looks-1)
	}
	if n > len(r.matches) {
		return llm.Reply{Text: "That is all."}
	}
	m := r.matches[n-1]
	return call("UNCOMPACT", map[string]any{"hash": m[1], "offset": json.Number(m[2])})
}

func (r *reader) look(q llm.Request) {
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString(m.Content.String() + "\n")
	}
	text, now := flatten(blobs.Unescape(b.String())), sight{}
	for _, line := range r.evidence {
		if strings.Contains(text, flatten(line)) {
			now.lines++
		}
	}
	now.tokens = llm.Estimator{}.Tokens(q.Weight())
	r.seen = append(r.seen, now)
}
