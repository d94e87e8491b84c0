// Package eval measures whether what a life has forgotten is found again.
//
//	talks, err := eval.Load(dir)
//	report, err := eval.Run(ctx, talks, progress)
//
// Each conversation is played into a room of a home of its own, before a real
// agent with a small limit that only listens. It forgets as any agent does,
// through the real compactor, until all of the conversation has faded. Then each
// question is put to the index as it stands, and an answer is a hit when a
// faded original that is returned holds a line that the data set names as
// evidence. Nothing of this needs a model or a network: the offline model's
// summariser does what the compactor asks for.
//
// Equal conversations give equal reports. A home is a temporary directory and goes
// when its conversation has been measured.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"lethe/llm"
)

// Report is what an evaluation found.
type Report struct {
	Conversations []Result `json:"conversations"`
	All           Result   `json:"all"`
}

// Result is about one conversation, or all of them.
type Result struct {
	Name       string           `json:"name"`
	Lines      int              `json:"lines"`
	Originals  int              `json:"originals"`            // blobs that hold lines of the conversation
	MeanTokens float64          `json:"mean_original_tokens"` // of those, by the estimate that the agent goes by
	Questions  int              `json:"questions"`
	Skipped    int              `json:"skipped_questions"` // no evidence that is in the conversation
	Recall     Found            `json:"recall"`
	Categories map[string]Found `json:"categories"` // recall's, by the data set's categories
	False      FalseHints       `json:"false_hints"`

	tokens int
}

// Found counts questions.
type Found struct {
	Questions int `json:"questions"`
	At1       int `json:"hit_at_1"` // an original with evidence came first
	At5       int `json:"hit_at_5"`
	At10      int `json:"hit_at_10"`
	Hint      int `json:"hint"` // the automatic hint alone had one
}

// FalseHints counts texts that have nothing to do with a conversation, and those
// of them that got a hint all the same.
type FalseHints struct {
	Talk      int `json:"small_talk"`
	TalkHints int `json:"small_talk_hinted"`
	Other     int `json:"other_questions"` // those of the other conversations
	OtherHint int `json:"other_questions_hinted"`
}

func (f *Found) plus(o Found) {
	f.Questions += o.Questions
	f.At1 += o.At1
	f.At5 += o.At5
	f.At10 += o.At10
	f.Hint += o.Hint
}

// foundAt counts a question whose first hit with evidence has this place, from 0;
// less than 0 is none.
func foundAt(place int) Found {
	within := func(most int) int {
		if place >= 0 && place < most {
			return 1
		}
		return 0
	}
	return Found{Questions: 1, At1: within(1), At5: within(5), At10: within(10)}
}

// count adds questions of a category.
func (r *Result) count(category string, f Found) {
	r.Recall.plus(f)
	sum := r.Categories[category]
	sum.plus(f)
	r.Categories[category] = sum
}

// Run plays and measures conversations one by one. progress is told what goes on,
// in a line each time. An error says which conversation it is about.
func Run(ctx context.Context, talks []Conversation, progress func(string)) (Report, error) {
	r := Report{All: Result{Name: "all", Categories: map[string]Found{}}}
	for i, talk := range talks {
		var others []Question
		for j, o := range talks {
			if j != i {
				others = append(others, o.Questions...)
			}
		}
		one, err := measure(ctx, talk, others, progress)
		if ctx.Err() != nil { // where in it is of no use to anybody
			return r, fmt.Errorf("evaluate %s: interrupted: %w", talk.Name, ctx.Err())
		}
		if err != nil {
			return r, fmt.Errorf("evaluate %s: %w", talk.Name, err)
		}
		r.Conversations = append(r.Conversations, one)
		r.All.plus(one)
	}
	r.All.MeanTokens = mean(r.All.tokens, r.All.Originals)
	return r, nil
}

func (r *Result) plus(o Result) {
	r.Lines += o.Lines
	r.Originals += o.Originals
	r.tokens += o.tokens
	r.Questions += o.Questions
	r.Skipped += o.Skipped
	for name, f := range o.Categories {
		r.count(name, f)
	}
	r.False.Talk += o.False.Talk
	r.False.TalkHints += o.False.TalkHints
	r.False.Other += o.False.Other
	r.False.OtherHint += o.False.OtherHint
}

func mean(sum, n int) float64 { return float64(sum) / float64(max(1, n)) }

// measure plays one conversation and puts its questions.
func measure(ctx context.Context, talk Conversation, others []Question, progress func(string)) (_ Result, err error) {
	dir, err := os.MkdirTemp("", "lethe-eval-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	out := Result{Name: talk.Name, Lines: len(talk.Lines), Questions: len(talk.Questions), Skipped: talk.Skipped, Categories: map[string]Found{}}
	progress(fmt.Sprintf("%s: playing %d lines", talk.Name, out.Lines))
	s, err := play(ctx, dir, talk)
	if err != nil {
		return out, err
	}
	e, err := s.examine(ctx, talk)
	if err != nil {
		return out, err
	}
	defer func() { err = cmp.Or(err, e.index.Close()) }()
	var estimate llm.Estimator
	for _, o := range e.originals {
		if len(o.lines) > 0 {
			out.Originals++
			out.tokens += estimate.Tokens(llm.Weight(o.body))
		}
	}
	out.MeanTokens = mean(out.tokens, out.Originals)
	progress(fmt.Sprintf("%s: %d originals of %.0f tokens, %d questions", talk.Name, out.Originals, out.MeanTokens, out.Questions))
	for _, q := range talk.Questions {
		if err := e.ask(ctx, q, &out); err != nil {
			return out, err
		}
	}
	return out, e.mislead(ctx, others, &out.False)
}
