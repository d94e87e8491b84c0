package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxFailures is how many failed calls end a job: the rest of it is done
// without a model.
const maxFailures = 3

// Run has the job done by a model: one SEGMENT call for each run of entries, then
// SUMMARISE calls for its chunks, some at a time. An answer that is garbage is
// asked for once more; what stays bad, and everything after the context has ended
// or the provider has failed three times, is done mechanically. A chunk that an earlier swap left
// live is summarised again, since what came after it may have overtaken it. Every eligible
// entry is in exactly one of the fades, which are in the order of entries.
//
// failure says why the model is not worth asking soon again; it is nil when
// nothing was asked.
func (j Job) Run(ctx context.Context, model Model) (fades []Fade, failure error) {
	w := &worker{Job: j.render(), model: model}
	chunks := slices.Clone(j.again)
	for _, run := range j.runs {
		chunks = append(chunks, w.segment(ctx, run)...)
	}
	made := make([]Fade, len(chunks))
	var g errgroup.Group // its goroutines end with their calls, which end with ctx
	g.SetLimit(max(1, j.in.Settings.Parallel))
	for i, c := range chunks {
		g.Go(func() error {
			made[i] = w.summarise(ctx, c)
			return nil
		})
	}
	_ = g.Wait() // nothing returns an error
	failure = w.failure(made)
	for i, before := range j.kept {
		if made[i].Mechanical {
			made[i] = before
		}
		made[i].stays = before.stays
	}
	fades = ordered(append(made, j.quiet...))
	for i := range fades {
		fades[i].original = fades[i].originals(j.in.Read)
	}
	return fades, failure
}

// worker asks the model and counts what comes of it.
type worker struct {
	Job
	model Model

	mu       sync.Mutex
	answered int // calls that brought an answer, usable or not
	failures int
	last     error // the last failure
}

// failure says why the job has failed, or nil.
func (w *worker) failure(made []Fade) error {
	switch {
	case w.answered == 0 || w.failures >= maxFailures:
		return w.last
	case !slices.ContainsFunc(made, func(f Fade) bool { return !f.Mechanical }):
		return errors.New("none of its answers could be used")
	}
	return nil
}

// call makes one request. A failure of the provider counts; garbage does not.
func (w *worker) call(ctx context.Context, a Ask) (string, error) {
	w.mu.Lock()
	failed := w.failures
	w.mu.Unlock()
	if failed >= maxFailures {
		return "", errors.New("the provider has failed too often")
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	answer, err := w.model.Ask(ctx, a)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, ErrGarbage) {
		w.answered++
	} else {
		w.failures++
		w.last = err
	}
	return answer, err
}

// try asks for a task until use takes the answer: once, and once more after
// garbage. A panic on the way is an error like any other: it would otherwise end
// the process, since no caller of a goroutine can recover it.
func (w *worker) try(ctx context.Context, name string, units []unit, use func(answer string) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	for range 2 {
		a, fits := w.ask(name, units, err)
		if !fits {
			return errors.New("no request for it fits into the limit")
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

// segment cuts one run into chunks. One piece, or what is no larger than two of the smallest
// chunks, is not worth a call.
func (w *worker) segment(ctx context.Context, run []unit) [][]unit {
	if len(pieces(run, w.in.Settings.maxChunk())) == 1 || size(run) <= 2*minChunk {
		return [][]unit{run}
	}
	var chunks [][]unit
	err := w.try(ctx, Segment, run, func(answer string) error {
		ranges, err := readSegments(answer)
		if err == nil {
			chunks, err = cutAt(run, ranges, w.in.Settings.maxChunk())
		}
		return err
	})
	if err != nil {
		return mechanicalChunks(run, w.in.Settings.maxChunk())
	}
	return chunks
}

func (w *worker) summarise(ctx context.Context, units []unit) Fade {
	if w.echo(units) != "" {
		return w.mechanical(units)
	}
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
