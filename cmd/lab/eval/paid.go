package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"lethe/agent"
	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/internal/durable"
)

// ErrBudget ends an examination whose next call might cost more than is left.
var ErrBudget = errors.New("the budget is used up; run it again with a larger one to go on")

// paid is a model that asks each request once in its life: its file has the reply to each, and what that cost. A call
// that was cut off counts as dear as it may have been.
type paid struct {
	agent.Model
	known  llm.Known
	budget budget.USD
	path   string
	told   func(string)

	mu    sync.Mutex
	rows  map[string]row
	part  string     // of the calls from now on
	spent budget.USD // with what calls under way may cost
}

// row is a line of the file.
type row struct {
	Hash    string     `json:"hash"`              // of the request, or of the question and how it was asked
	Lost    budget.USD `json:"lost_usd,omitzero"` // that calls of it which were cut off may have cost
	Model   string     `json:"model,omitempty"`
	Part    string     `json:"part,omitempty"`     // play, for what a life costs before its questions
	Worst   budget.USD `json:"worst_usd,omitzero"` // alone: the call begins
	USD     budget.USD `json:"usd,omitzero"`
	Seconds float64    `json:"seconds,omitzero"`
	Reply   *llm.Reply `json:"reply,omitempty"`
	Answer  *Answer    `json:"answer,omitempty"`
}

func (p *paid) open() error {
	p.rows = map[string]row{}
	text, err := os.ReadFile(p.path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1 // a kill may have cut the last line
	if whole < len(text) {
		if err := os.Truncate(p.path, int64(whole)); err != nil {
			return err
		}
	}
	for line := range bytes.Lines(text[:whole]) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read %s: %w", p.path, err)
		}
		p.keep(r)
	}
	return nil
}

// keep counts a row in place of the one with its hash.
func (p *paid) keep(r row) {
	if r.Answer == nil { // the costs of an answer are in the rows of its calls
		was := p.rows[r.Hash]
		p.spent += r.USD + r.Worst + r.Lost - was.USD - was.Worst - was.Lost
	}
	p.rows[r.Hash] = r
}

func (p *paid) write(r row) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.keep(r)
	_, _, err = durable.Append(p.path, append(raw, '\n'), 0o600)
	return err
}

func hashOf(of ...any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		panic(err) // texts and numbers
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

// key is the hash of a request.
func key(q llm.Request) string {
	return hashOf(q.Model, q.Messages, q.Tools, q.MaxTokens, q.Thinking, q.Effort)
}

// begin returns the row of a request, or notes that its call begins.
func (p *paid) begin(hash string, q llm.Request) (r row, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r = p.rows[hash]; r.Reply != nil {
		return r, nil
	}
	dollars, priced := p.known.Worst(q.Model, llm.Most(q.Weight(), 0, 0), q.MaxTokens, time.Now())
	if !priced {
		return r, fmt.Errorf("%w: %s", budget.ErrUnpriced, q.Model)
	}
	worst := budget.Ceil(dollars)
	if p.spent+worst > p.budget {
		return r, ErrBudget
	}
	r = row{Hash: hash, Model: q.Model, Part: p.part, Worst: worst, Lost: r.Lost + r.Worst}
	return r, p.write(r)
}

// Complete returns the reply of the file, or asks.
func (p *paid) Complete(ctx context.Context, q llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	reply, _, err := p.ask(ctx, key(q), q)
	if err != nil {
		var known *llm.Error
		if !errors.As(err, &known) {
			err = &llm.Error{Kind: llm.Permanent, Model: q.Model, Message: err.Error(), Err: err}
		}
		return llm.Reply{Waste: reply.Waste}, err
	}
	if show != nil {
		show(llm.Delta{Text: reply.Text})
	}
	return reply, nil
}

func (p *paid) ask(ctx context.Context, hash string, q llm.Request) (llm.Reply, row, error) {
	r, err := p.begin(hash, q)
	if err != nil {
		return llm.Reply{}, r, err
	}
	if r.Reply != nil {
		return *r.Reply, r, nil
	}
	began := time.Now()
	reply, err := p.Model.Complete(ctx, q, nil)
	if err != nil {
		return reply, r, err // what it may have cost stays counted
	}
	reply = reply.Redacted()
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := r.Worst * budget.USD(reply.Waste.Calls+reply.Waste.Unanswered) // attempts before it
	dollars, _ := p.known.Cost(q.Model, reply.Usage, time.Now())
	done := row{Hash: r.Hash, Lost: r.Lost, Model: q.Model, Part: r.Part, Reply: &reply, Seconds: time.Since(began).Seconds()}
	done.USD = budget.Ceil(dollars) + lost
	if err := p.write(done); err != nil {
		return reply, done, err
	}
	p.told(fmt.Sprintf("%s USD of %s", p.spent, p.budget))
	return reply, done, nil
}

// cost is what the calls of a part have cost.
func (p *paid) cost(part string) (sum budget.USD) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rows {
		if r.Part == part && r.Answer == nil {
			sum += r.USD
		}
	}
	return sum
}

// lost is what calls that were cut off may have cost.
func (p *paid) lost() (sum budget.USD) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rows {
		sum += r.Worst + r.Lost
	}
	return sum
}
