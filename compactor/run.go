package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// patience is how many failures of the provider a job takes before the rest of
// it is done without.
const patience = 3

// Run has the job done by a model: one SEGMENT call for each run of entries, then
// SUMMARISE calls for its chunks, some at a time. An answer that is garbage is
// asked for once more; what stays bad, and everything after the context has ended
// or the provider has failed three times, is done mechanically. Every eligible
// entry is in exactly one of the fades, which are in the order of entries.
func (j Job) Run(ctx context.Context, model Model) []Fade {
	w := &worker{Job: j, model: model}
	var chunks [][]unit
	for _, run := range j.runs {
		chunks = append(chunks, w.segment(ctx, run)...)
	}
	fades := slices.Clone(j.known)
	need := j.needed(chunks)
	made := make([]Fade, len(chunks))
	var g errgroup.Group // its goroutines end with their calls, which end with ctx
	g.SetLimit(max(1, j.in.Settings.Parallel))
	for i, c := range chunks {
		if i >= need {
			made[i] = j.mechanical(c)
			made[i].spare = true
			continue
		}
		g.Go(func() error {
			made[i] = w.summarise(ctx, c)
			return nil
		})
	}
	_ = g.Wait() // nothing returns an error
	return ordered(append(fades, made...))
}

// needed is how many chunks have to be summarised. When the oldest fade first,
// it is known beforehand which ones stay.
func (j Job) needed(chunks [][]unit) int {
	if j.in.Settings.Order != Oldest {
		return len(chunks)
	}
	left := float64(j.tokens)
	for i, c := range chunks {
		if left <= j.in.Settings.Target*float64(j.tokens) {
			return i
		}
		f := chunk(c)
		f.Relevance = 10 // the longest summary that may come
		left -= float64(f.Tokens - j.longest(f))
	}
	return len(chunks)
}

// worker asks the model and counts its failures.
type worker struct {
	Job
	model Model

	mu       sync.Mutex
	failures int
}

var errTired = errors.New("the provider has failed too often")

// call makes one request. A failure of the provider counts; garbage does not.
func (w *worker) call(ctx context.Context, a Ask) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	w.mu.Lock()
	tired := w.failures >= patience
	w.mu.Unlock()
	if tired {
		return "", errTired
	}
	answer, err := w.model.Ask(ctx, a)
	if err != nil && !errors.Is(err, ErrGarbage) {
		w.mu.Lock()
		w.failures++
		w.mu.Unlock()
	}
	return answer, err
}

// try asks for a task until use takes the answer: once, and once more after
// garbage. A panic on the way is an error like any other: it would otherwise end
// the process, since no caller of a goroutine can recover it.
func (w *worker) try(ctx context.Context, name string, units []unit, use func(answer string) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s e%d..e%d: panic: %v", name, units[0].N, units[len(units)-1].N, p)
		}
	}()
	for range 2 {
		a, fits := w.ask(name, units, err)
		if !fits {
			return fmt.Errorf("%s e%d..e%d: no request for it fits into the limit", name, units[0].N, units[len(units)-1].N)
		}
		var answer string
		if answer, err = w.call(ctx, a); err == nil {
			err = use(answer)
		}
		if !errors.Is(err, ErrGarbage) {
			break
		}
	}
	return err
}

// segment cuts one run into chunks. What is no larger than two chunks of the
// least size is not worth a call.
func (w *worker) segment(ctx context.Context, run []unit) [][]unit {
	least := w.least()
	if len(run) == 1 || size(run) <= 2*least {
		return [][]unit{run}
	}
	var chunks [][]unit
	err := w.try(ctx, Segment, run, func(answer string) error {
		ranges, err := readSegments(answer)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(ranges, func(r span) bool {
			return max(r.from, r.to) >= run[0].N && min(r.from, r.to) <= run[len(run)-1].N
		}) {
			return fmt.Errorf("%w: it names none of the entries", ErrGarbage)
		}
		chunks = cutAt(run, ranges, least)
		return nil
	})
	if err != nil {
		return mechanicalChunks(run, least)
	}
	return chunks
}

func (w *worker) summarise(ctx context.Context, units []unit) Fade {
	var f Fade
	err := w.try(ctx, Summarise, units, func(answer string) (err error) {
		f, err = w.accept(units, answer)
		return err
	})
	if err != nil {
		return w.mechanical(units)
	}
	return f
}
