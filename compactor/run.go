package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"lethe/mind"
)

// maxFailures is the number of failed calls that end a job. The rest of it is done
// without a model.
const maxFailures = 3

// Run has a model do the job: a SEGMENT call if chunks are not plain, then SUMMARISE calls, some at a time, for chunks
// that fade and have no summary yet. After an unusable answer it asks once more. Chunks without a usable answer are
// summarised mechanically, as are all once the context has ended or the provider has failed three times. Run does not
// ask about chunks that stay live, since later entries may overtake them. Each eligible entry is in exactly one of the
// fades, which are in the order of entries.
//
// failure says why the model is not worth asking again soon; it is nil if nothing was asked.
func (j Job) Run(ctx context.Context, model Model) (fades []Fade, failure error) {
	w := &worker{Job: j.render(), model: model}
	sw := swap{Context: mind.Context{Live: j.request.Live}, set: j.in.Settings, meter: j.in.Meter}
	made, stays := sw.pick(ordered(slices.Concat(j.kept, w.cut(ctx))), false)
	var calls errgroup.Group // its goroutines end with their calls, which end with ctx
	calls.SetLimit(max(1, j.in.Settings.Parallel))
	for i, f := range made {
		calls.Go(func() error {
			made[i] = w.summarise(ctx, f)
			return nil
		})
	}
	_ = calls.Wait() // nothing returns an error
	return ordered(append(made, stays...)), w.failure()
}

// worker asks the model and counts failures and summaries.
type worker struct {
	Job
	model Model

	mu       sync.Mutex
	failures int
	last     error // the last failure
	asked    int   // summaries that were asked for
	made     int   // summaries that came
}

// failure says why the job has failed, or nil.
func (w *worker) failure() error {
	tried := w.asked > 0 || w.last != nil
	brought := w.made > 0 || !tried
	if w.failures < maxFailures && brought {
		return nil
	}
	if w.last != nil {
		return w.last
	}
	return errors.New("none of its answers could be used")
}

// call makes one request. A failure of the provider counts; garbage does not.
func (w *worker) call(ctx context.Context, ask Ask) (string, error) {
	w.mu.Lock()
	failed := w.failures
	w.mu.Unlock()
	if failed >= maxFailures {
		return "", errors.New("the provider has failed too often")
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	answer, err := w.model.Ask(ctx, ask)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !errors.Is(err, ErrGarbage) {
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
		ask, fits := w.ask(name, units, err)
		if !fits {
			return errors.New("no request for it fits into the limit")
		}
		var answer string
		if answer, err = w.call(ctx, ask); err == nil {
			err = use(answer)
		}
		if !errors.Is(err, ErrGarbage) {
			break
		}
	}
	return err
}

// cut cuts the runs into chunks, with a relevance each: one call cuts those whose chunks are not plain, and says what
// stays of brief ones.
func (w *worker) cut(ctx context.Context) (chunks []Fade) {
	most := w.in.Settings.maxChunk()
	var unclear []unit
	for _, run := range w.runs {
		if plainChunks(run, w.in.Settings) == nil {
			unclear = append(unclear, run...)
		}
	}
	var ranges []entryRange
	if len(unclear) > 0 {
		_ = w.try(ctx, Segment, unclear, func(answer string) (err error) { // what it does not name is cut by size and turns
			if ranges, err = readSegments(answer); err == nil {
				_, err = cutAt(unclear, ranges, most)
			}
			return err
		})
	}
	for _, run := range w.runs {
		cut := plainChunks(run, w.in.Settings)
		if cut == nil {
			cut, _ = cutAt(run, ranges, most)
		}
		if cut == nil {
			cut = mechanicalChunks(run, most)
		}
		for _, c := range cut {
			fade, said := relevant(c), c[0].begins
			if brief(c) && said.from == fade.From && said.to == fade.To {
				w.bind(&fade, fade.read(said.remarks))
			}
			chunks = append(chunks, fade)
		}
	}
	return chunks
}

// relevant begins the fade of a chunk, with the greatest relevance that a model gave to a part of it.
func relevant(units []unit) Fade {
	fade := chunk(units)
	for _, u := range units {
		fade.Relevance = max(fade.Relevance, min(relevance(u.begins.remarks.Relevance), 9))
	}
	if fade.Relevance == 0 {
		fade.Relevance = mechanicalRelevance(units)
	}
	return fade
}

// summarise asks for the summary of a chunk, unless it has one or is only a few words that were heard.
func (w *worker) summarise(ctx context.Context, before Fade) Fade {
	fewWords := before.Tokens < aloneChunk && !brief(before.units)
	if fewWords || !before.unread() || echo(before.units) != "" {
		return w.unasked(before)
	}
	var fade Fade
	err := w.try(ctx, Summarise, before.units, func(answer string) (err error) {
		if fade, err = w.accept(before.units, answer); err == nil && w.in.Answered != nil {
			w.in.Answered(Earlier{From: fade.From, To: fade.To, Of: w.about(fade.units), Topics: fade.topics, Text: answer})
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if err != nil {
		made := w.unasked(before)
		made.Garbage = errors.Is(err, ErrGarbage)
		return made
	}
	w.made++
	fade.stays = before.stays
	return fade
}
