// Package eval measures whether what a life has forgotten is found again.
//
//	talks, err := eval.Load(dir)
//	report, err := eval.Run(ctx, talks, eval.Small, progress)
//
// Each conversation is played into a room of a home of its own, before a real
// agent with a small limit that only listens. It forgets as any agent does,
// through the real compactor, until all of the conversation has faded. Then each
// question is put to the index as it stands, and an answer is a hit when a
// faded original that is returned holds a line that the data set names as
// evidence. Nothing of this needs a model or a network: the offline model's
// summariser does what the compactor asks for.
//
// Then all conversations are played into one life, by their times, and measured
// again: of a few originals, chance alone finds many, and among many people it
// matters who said something.
//
// Equal conversations give equal reports. A home is a temporary directory and goes
// when its conversation has been measured.
package eval

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"lethe/agent/llm"
)

// Report is what an evaluation found.
type Report struct {
	Conversations []Result `json:"conversations"`
	All           Result   `json:"all"`
	OneLife       *Result  `json:"one_life,omitempty"` // all conversations in one life; nil if there is but one
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
	Plain      Found            `json:"bm25"` // to compare: BM25 over what originals say, with the same stems and stop words
	Chance     Chance           `json:"chance"`
	Categories map[string]Found `json:"categories"` // recall's, by the data set's categories
	False      FalseHints       `json:"false_hints"`
	Curve      []Trade          `json:"curve"`

	tokens int
}

// Found counts questions.
type Found struct {
	Questions int `json:"questions"`
	At1       int `json:"hit_at_1"` // an original with evidence came first
	At5       int `json:"hit_at_5"`
	At10      int `json:"hit_at_10"`
	All10     int `json:"all_at_10"`  // the first ten had all evidence
	Hint      int `json:"hint"`       // the automatic hint alone had an original with evidence
	Shown1    int `json:"shown_at_1"` // what is shown of the first one has a line of evidence
	Shown5    int `json:"shown_at_5"`
	Shown10   int `json:"shown_at_10"`
	Tokens    int `json:"tokens_at_5"` // of what is shown of the first five, by four characters each
}

// Chance is how many questions a ranking by lot is expected to find.
type Chance struct {
	At1  float64 `json:"hit_at_1"`
	At5  float64 `json:"hit_at_5"`
	At10 float64 `json:"hit_at_10"`
}

// Trade is what hints would be with another threshold: the more of those that are
// wanted, the more that are not.
type Trade struct {
	Least float64 `json:"least_confidence"`
	Hint  int     `json:"hint"`
	Talk  int     `json:"small_talk_hinted"`
	Other int     `json:"other_questions_hinted"`
}

// thresholds are those of the curve.
func thresholds() []Trade {
	var out []Trade
	for least := 0.20; least < 0.505; least += 0.02 {
		out = append(out, Trade{Least: math.Round(100*least) / 100})
	}
	return out
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
	f.All10 += o.All10
	f.Hint += o.Hint
	f.Shown1 += o.Shown1
	f.Shown5 += o.Shown5
	f.Shown10 += o.Shown10
	f.Tokens += o.Tokens
}

func (c *Chance) plus(o Chance) {
	c.At1 += o.At1
	c.At5 += o.At5
	c.At10 += o.At10
}

// count adds questions of a category.
func (r *Result) count(category string, f Found) {
	r.Recall.plus(f)
	sum := r.Categories[category]
	sum.plus(f)
	r.Categories[category] = sum
}

// Run plays and measures conversations one by one, with originals of a size. progress is told
// what goes on, in a line each time. An error says which conversation it is about.
func Run(ctx context.Context, talks []Conversation, size Size, progress func(string)) (Report, error) {
	r := Report{All: Result{Name: "all", Categories: map[string]Found{}, Curve: thresholds()}}
	for i, talk := range talks {
		var others []Question
		for j, o := range talks {
			if j != i {
				others = append(others, o.Questions...)
			}
		}
		one, err := measure(ctx, talk, others, size, progress)
		if err != nil {
			return r, err
		}
		r.Conversations = append(r.Conversations, one)
		r.All.plus(one)
	}
	r.All.MeanTokens = mean(r.All.tokens, r.All.Originals)
	if len(talks) > 1 {
		one, err := measure(ctx, together(talks), nil, size, progress)
		if err != nil {
			return r, err
		}
		r.OneLife = &one
	}
	return r, nil
}

// together makes one conversation of several, in order of time.
func together(talks []Conversation) Conversation {
	all := Conversation{Name: "one life"}
	for _, talk := range talks {
		all.Skipped += talk.Skipped
		for _, l := range talk.Lines {
			l.ID = talk.Name + " " + l.ID
			all.Lines = append(all.Lines, l)
		}
		for _, q := range talk.Questions {
			q.Evidence = slices.Clone(q.Evidence)
			for i, id := range q.Evidence {
				q.Evidence[i] = talk.Name + " " + id
			}
			all.Questions = append(all.Questions, q)
		}
	}
	slices.SortStableFunc(all.Lines, func(a, b Line) int { return a.At.Compare(b.At) })
	return all
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
	r.Plain.plus(o.Plain)
	r.Chance.plus(o.Chance)
	for i, t := range o.Curve {
		r.Curve[i].Hint += t.Hint
		r.Curve[i].Talk += t.Talk
		r.Curve[i].Other += t.Other
	}
}

func mean(sum, n int) float64 { return float64(sum) / float64(max(1, n)) }

// measure plays one conversation and puts its questions.
func measure(
	ctx context.Context, talk Conversation, others []Question, size Size, progress func(string),
) (_ Result, err error) {
	dir, err := os.MkdirTemp("", "lethe-eval-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	defer func() {
		switch {
		case ctx.Err() != nil: // where in it is of no use to anybody
			err = fmt.Errorf("evaluate %s: interrupted: %w", talk.Name, ctx.Err())
		case err != nil:
			err = fmt.Errorf("evaluate %s: %w", talk.Name, err)
		}
	}()
	out := Result{Name: talk.Name, Lines: len(talk.Lines), Questions: len(talk.Questions), Skipped: talk.Skipped,
		Categories: map[string]Found{}, Curve: thresholds()}
	progress(fmt.Sprintf("%s: playing %d lines", talk.Name, out.Lines))
	s, err := play(ctx, dir, talk, size)
	if err != nil {
		return out, err
	}
	e, err := s.examine(ctx, talk)
	if err != nil {
		return out, err
	}
	var estimate llm.Estimator
	for _, o := range e.originals {
		if len(o.lines) > 0 {
			out.Originals++
			out.tokens += estimate.Tokens(llm.Weight(o.body))
		}
	}
	out.MeanTokens = mean(out.tokens, out.Originals)
	progress(
		fmt.Sprintf("%s: %d originals of %.0f tokens, %d questions", talk.Name, out.Originals, out.MeanTokens, out.Questions),
	)
	for _, q := range talk.Questions {
		if err := e.ask(ctx, q, &out); err != nil {
			return out, err
		}
	}
	return out, e.mislead(ctx, others, &out)
}
