package eval

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/agent/budget"
	"lethe/agent/llm"
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
