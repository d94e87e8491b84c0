package eval

import (
	"bytes"
	"cmp"
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
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/mind"
)

// Arms lists what answers.
func Arms() []string { return []string{"lethe", "full", "bm25", "none"} }

const (
	ask = "Answer in as few words as you can, from what was said. " +
		"If it was not said, answer: I do not know.\nQuestion: "
	judgeAsk = "Does the answer say what the right answer says? An answer that does not know abstains; where the right " +
		"answer is empty, only that is right. Reply with one word: RIGHT, WRONG or ABSTAINED.\n"
	answerTokens = 1024
	plainTokens  = 4000 // of BM25 where Lethe does not answer beside it
	secondJudge  = 100  // answers of an arm that all judges read
)

// Examiner puts the questions of a file to each arm.
type Examiner struct {
	Model  agent.Model
	Known  llm.Known // prices
	Name   string    // of the model that answers
	Judges []string  // the first one counts, the others show how far to trust it
	Arms   []string
	Budget budget.USD
	Dir    string // of what is kept; made
	Say    func(string)
}

// Answer is one answer of an arm and its cost.
type Answer struct {
	Arm      string     `json:"arm"`
	Question int        `json:"question"` // of the file, from 0
	Text     string     `json:"text"`
	Calls    int        `json:"calls"`
	Opened   int        `json:"opened"` // originals
	Usage    llm.Usage  `json:"tokens"`
	USD      budget.USD `json:"usd"`
	Seconds  float64    `json:"seconds"`
	Found    bool       `json:"found"`  // a request named an original with evidence, or showed evidence
	Shown    bool       `json:"shown"`  // a line of evidence stood in a request
	Read     bool       `json:"read"`   // an original with evidence was opened
	Verdicts []string   `json:"judged"` // by each judge
}

// add counts a call.
func (a *Answer) add(r row) {
	u := r.Reply.Usage
	a.Calls++
	a.Usage.Input += u.Input
	a.Usage.Cached += u.Cached
	a.Usage.Written += u.Written
	a.Usage.Output += u.Output
	a.USD += r.USD
	a.Seconds += r.Seconds
	a.Text = r.Reply.Text
	for _, c := range r.Reply.Calls {
		if c.Name == "UNCOMPACT" {
			a.Opened++
		}
	}
}

func (x *Examiner) request(system, text string) llm.Request {
	return llm.Request{Model: x.Name, MaxTokens: answerTokens, Messages: []llm.Message{
		{Role: "user", Content: llm.Text(system)}, {Role: "user", Content: llm.Text(text)},
	}}
}

// Price returns the most that an examination may cost, by arm and for the judges.
func (x *Examiner) Price(e Examination) (map[string]budget.USD, error) {
	out, n := map[string]budget.USD{}, budget.USD(len(e.Asked))
	size := llm.Weight(transcript(e.Talk.Lines))
	steps := budget.USD(len(portions(e.Talk, Small.portion)))
	for arm, tokens := range map[string]int{"lethe": Small.limit, "full": llm.Estimator{}.Tokens(size),
		"bm25": plainTokens, "none": 100} {
		if !slices.Contains(x.Arms, arm) {
			continue
		}
		each, err := x.worst(x.Name, tokens)
		if err != nil {
			return nil, err
		}
		out[arm] = each * n
		if arm == "lethe" {
			out[arm] = each * (2*steps + 2*n*(Looks+1)) // compactions read what was heard once more
		}
	}
	for i, judge := range x.Judges {
		each, err := x.worst(judge, 500)
		if err != nil {
			return nil, err
		}
		read := n
		if i > 0 {
			read = min(n, secondJudge)
		}
		out["judges"] += each * read * budget.USD(len(x.Arms))
	}
	return out, nil
}

// worst is the most that a call with so many tokens of input may cost.
func (x *Examiner) worst(model string, tokens int) (budget.USD, error) {
	dollars, known := x.Known.Worst(model, tokens, answerTokens, time.Now())
	if !known {
		return 0, fmt.Errorf("%w: %s", budget.ErrUnpriced, model)
	}
	return budget.Ceil(dollars), nil
}

func transcript(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "[%s %s] %s\n", l.Speaker, l.At.UTC().Format(time.RFC3339), l.Text)
	}
	return b.String()
}

// Run asks and judges what the file of the directory does not have yet. Beside an error it returns the scores so far.
func (x *Examiner) Run(ctx context.Context, e Examination) (Scores, error) {
	p, err := x.open()
	if err != nil {
		return Scores{}, err
	}
	answers, err := x.run(ctx, p, e)
	out := e.score(answers, Arms(), "full", p.cost("play"))
	out.Spent, out.Lost = p.spent, p.lost()
	return out, err
}

// open opens the directory.
func (x *Examiner) open() (*paid, error) {
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return nil, err
	}
	p := &paid{Model: x.Model, known: x.Known, budget: x.Budget, path: filepath.Join(x.Dir, "calls.jsonl"), told: x.Say}
	return p, p.open()
}

func (x *Examiner) run(ctx context.Context, p *paid, e Examination) (out []Answer, err error) {
	tokens := plainTokens
	for _, arm := range Arms() {
		if !slices.Contains(x.Arms, arm) {
			continue
		}
		answers, err := x.arm(ctx, p, e, arm, tokens)
		out = append(out, answers...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", arm, err)
		}
		if arm == "lethe" {
			sum, calls := 0, 0
			for _, a := range answers {
				sum, calls = sum+a.Usage.Input, calls+a.Calls
			}
			tokens = sum / max(1, calls)
		}
	}
	return out, nil
}

func (x *Examiner) arm(ctx context.Context, p *paid, e Examination, arm string, tokens int) ([]Answer, error) {
	put := func(i int) (Answer, error) { return x.plain(ctx, p, e, arm, tokens, i) }
	if arm == "lethe" {
		s, err := x.played(ctx, p, e)
		if err != nil {
			return nil, err
		}
		put = func(i int) (Answer, error) { return x.fork(ctx, p, s, e, i) }
	}
	return x.judged(ctx, p, len(e.Asked), put, judgeAsk, func(a Answer) string {
		q := e.Asked[a.Question]
		return fmt.Sprintf("Question: %s\nRight answer: %s\nAnswer: %s", q.Question, q.Answer, a.Text)
	})
}

// judged has n questions be put, and judges read the brief of each answer behind what they are asked.
func (x *Examiner) judged(
	ctx context.Context, p *paid, n int, put func(int) (Answer, error), asked string, brief func(Answer) string,
) (out []Answer, err error) {
	for i := range n {
		answer, err := put(i)
		if err != nil {
			return out, err
		}
		for n, judge := range x.Judges {
			if n > 0 && i >= secondJudge {
				break
			}
			request := x.request(asked, brief(answer))
			request.Model = judge
			reply, _, err := p.ask(ctx, key(request), request)
			if err != nil {
				return out, err
			}
			answer.Verdicts = append(answer.Verdicts, verdict(reply.Text))
		}
		out = append(out, answer)
	}
	return out, nil
}

// verdict is the first of a judge's words that is one; "" if there is no such word.
func verdict(text string) string {
	for _, word := range strings.Fields(strings.ToUpper(text)) {
		word = strings.Trim(word, ".*:,\"'`")
		if word == "RIGHT" || word == "WRONG" || word == "ABSTAINED" {
			return word
		}
	}
	return ""
}

// plain asks with all lines before the question, the best by BM25, or nothing.
func (x *Examiner) plain(
	ctx context.Context, p *paid, e Examination, arm string, tokens, i int,
) (Answer, error) {
	q, lines := e.Asked[i], e.Talk.Lines
	switch arm {
	case "none":
		lines = nil
	case "bm25":
		lines = best(lines, q.Question, tokens)
	}
	request := x.request(transcript(lines), ask+q.Question)
	reply, r, err := p.ask(ctx, key(request), request)
	if err != nil {
		return Answer{}, err
	}
	r.Reply = &reply
	a := Answer{Arm: arm, Question: i}
	a.add(r)
	a.Shown = slices.ContainsFunc(lines, func(l Line) bool { return slices.Contains(q.Evidence, l.ID) })
	return a, nil
}

// best returns lines that match a question, as many as fit into tokens, in their own order.
func best(lines []Line, question string, tokens int) (out []Line) {
	all := make([]*original, len(lines))
	of := map[*original]Line{}
	for i, l := range lines {
		raw, err := format(l)
		if err != nil {
			continue
		}
		all[i] = &original{body: mind.Heard(raw, nil)}
		of[all[i]] = l
	}
	all = slices.DeleteFunc(all, func(o *original) bool { return o == nil })
	for _, o := range newPlain(all).rank(question) {
		more := append(slices.Clone(out), of[o])
		if (llm.Estimator{}).Tokens(llm.Weight(transcript(more))) > tokens {
			break
		}
		out = more
	}
	slices.SortStableFunc(out, func(a, b Line) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return out
}

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
