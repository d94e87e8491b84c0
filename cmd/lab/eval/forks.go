package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/mind"
)

// played returns the life that has heard all lines; it is played once and kept. One that was cut off goes on.
func (x *Examiner) played(ctx context.Context, p *paid, e Examination) (*stage, error) {
	s, err := newStage(filepath.Join(x.Dir, "life-"+hashOf(x.Name, e.Talk.Lines)[:16]), Small.limit)
	if err != nil {
		return nil, err
	}
	parts := portions(e.Talk, Small.portion)
	s.config.Thinking = x.thinking(p)
	s.config.MaxAgentTurns = len(parts) + 1
	said, err := os.ReadFile(s.room)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for len(parts) > 0 {
		first, err := format(parts[0][0])
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(said, first) {
			break
		}
		parts = parts[1:]
	}
	p.part = "play"
	if err := s.live(ctx, parts...); err != nil {
		return nil, fmt.Errorf("play: %w", err)
	}
	p.part = ""
	return s, ctx.Err()
}

func (x *Examiner) thinking(p *paid) agent.Thinking {
	return agent.Thinking{Model: p, DefaultModel: x.Name, Known: x.Known,
		Params: mind.Params{Endpoint: "examination", Model: x.Name, MaxTokens: answerTokens}}
}

// watched is a model that counts what a question costs.
type watched struct {
	*paid
	evidence []string
	hashes   []string // of originals with evidence
	mu       sync.Mutex
	key      string // of what was asked before
	tells    bool   // the answer is all that was said in its room
	answer   Answer
	err      error
}

// volatile finds what differs in a request that is asked again of another fork of the same life: the fork's name and
// hash, those of its own texts.
var volatile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(ask-[0-9]+-[0-9]+|[0-9a-f]{16,64})\b`) })

// next is the key of a request behind those before it. A question that was cut off is put to a new fork, and finds the
// replies to the same requests.
func (w *watched) next(q llm.Request) string {
	text := ""
	for _, m := range q.Messages {
		text += m.Role + volatile().ReplaceAllString(m.Content.String(), "#")
	}
	return hashOf(w.key, q.Model, text, q.Tools, q.MaxTokens)
}

func (w *watched) Complete(ctx context.Context, q llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key = w.next(q)
	reply, r, err := w.ask(ctx, w.key, q)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return llm.Reply{}, &llm.Error{Kind: llm.Permanent, Model: q.Model, Message: err.Error(), Err: err}
	}
	w.key = hashOf(w.key, reply.Text, reply.Calls)
	eye := reader{evidence: w.evidence}
	eye.look(q)
	w.answer.Shown = w.answer.Shown || eye.seen[0].lines > 0
	w.answer.Found = w.answer.Found || w.answer.Shown
	for _, m := range q.Messages {
		for _, found := range named().FindAllStringSubmatch(m.Content.String(), -1) {
			w.answer.Found = w.answer.Found || w.isEvidence(found[1])
		}
	}
	for _, c := range reply.Calls {
		var arguments struct{ Hash string }
		isOpened := c.Name == "UNCOMPACT" && json.Unmarshal([]byte(c.Arguments), &arguments) == nil
		w.answer.Read = w.answer.Read || isOpened && w.isEvidence(arguments.Hash)
	}
	r.Reply = &reply
	w.answer.add(r)
	return reply, nil
}

// named finds the hashes of originals in a request.
var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bhash="?([0-9a-f]{6,})`) })

func (w *watched) isEvidence(hash string) bool {
	return len(hash) >= 6 && slices.ContainsFunc(w.hashes, func(h string) bool { return strings.HasPrefix(h, hash) })
}

// fork puts a question to a fork of the life.
func (x *Examiner) fork(ctx context.Context, p *paid, s *stage, e Examination, i int) (Answer, error) {
	q := e.Asked[i]
	w := &watched{paid: p, key: hashOf("lethe", x.Name, e.Talk.Lines, q), answer: Answer{Arm: "lethe", Question: i}}
	for _, l := range e.Talk.Lines {
		if slices.Contains(q.Evidence, l.ID) {
			w.evidence = append(w.evidence, l.Text)
		}
	}
	faded := &exam{store: s.store, byHash: map[blobs.Hash]*original{}}
	if err := faded.collect(s.id.LIFE()); err != nil {
		return w.answer, err
	}
	for hash, o := range faded.byHash {
		body := flatten(blobs.Unescape(o.body))
		if slices.ContainsFunc(w.evidence, func(l string) bool { return strings.Contains(body, flatten(l)) }) {
			w.hashes = append(w.hashes, hash.String())
		}
	}
	asked := Line{Speaker: "examiner", At: end(e.Talk).Add(time.Hour), Text: ask + q.Question}
	err := s.put(ctx, w, []Line{asked})
	return w.answer, err
}

// put has a fork hear lines, one portion behind the answer to the one before, unless the answer is known.
func (s *stage) put(ctx context.Context, w *watched, portions ...[]Line) error {
	whole := w.key
	if r := w.rows[whole]; r.Answer != nil {
		w.answer = *r.Answer
		return nil
	}
	then, err := home.At(s.id, s.store, home.Moment{Text: "now"})
	if err != nil {
		return err
	}
	then.At = portions[0][0].At // which its first note tells
	name := fmt.Sprintf("ask-%d-%d", w.answer.Question, time.Now().UnixNano())
	said, err := s.putTo(ctx, then, name, w, portions)
	if err := errors.Join(w.err, err, ctx.Err()); err != nil {
		return err
	}
	if w.tells {
		w.answer.Text = said
	}
	w.paid.mu.Lock()
	defer w.paid.mu.Unlock()
	return w.write(row{Hash: whole, Answer: &w.answer})
}

// putTo has a fork with another model hear lines in a room of its own, and answer. The index is up to date before.
func (s *stage) putTo(
	ctx context.Context, then home.Then, name string, model agent.Model, portions [][]Line,
) (said string, err error) {
	fork, _, err := home.Fork(s.config.Home, s.store, s.id, then, home.BootOptions{Name: name, Rooms: []string{name}})
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fork.Dir)
	state, err := home.Fold(fork, s.store)
	if err != nil {
		return "", err
	}
	owns := func(b blobs.Blob) bool { return state.Owns(b) }
	if _, err := recall.Open(fork.RecallPath(), owns, s.config.Log).Sync(ctx, s.store, fork.LIFE()); err != nil {
		return "", err
	}
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(fork.Dir, "workspace", name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	exam := *s
	exam.id, exam.room = fork, chat.Path(s.config.Home.Dir, name)
	exam.config.Model = model
	exam.config.ContextLimit *= 2 // nothing more is forgotten while it reads
	exam.config.Recall = agent.Recall{HintTime: patience}
	err = exam.live(ctx, portions...)
	text, _ := os.ReadFile(exam.room)
	return string(text), err
}
