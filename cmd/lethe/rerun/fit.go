package rerun

import (
	"fmt"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/mind"
)

// fitter gives the states of a span, one after the other, the contexts that they would have with another limit. The
// first one begins as it was. Its compactions ask no model, and what they make is kept nowhere else.
type fitter struct {
	*blobs.Store
	people []string // whose words may be pinned
	made   map[blobs.Hash][]byte
	was    *mind.State // the newest
}

func (f *fitter) fit(state *mind.State, limit int, at time.Time) error {
	if f.was != nil {
		next := f.was.Context
		next.Live = slices.Clone(next.Live)
		for _, e := range state.Live {
			if e.N >= f.was.Next {
				next.Live = append(next.Live, e)
			}
		}
		joined := state.Forget(next, state.LastBlob)
		if _, err := joined.Conserved(); err == nil {
			joined.Stable.Past = f.was.Stable.Past
			state.Become(joined)
		}
	}
	f.was = state
	estimate := prompt.Estimator(state)
	size := func() int { return new(prompt.Rendering).Tokens(state, state.Confided(), estimate) }
	isListed := func(name string) bool { return slices.Contains(f.people, name) }
	compact := func(set compactor.Settings, share float64) error {
		job, _ := compactor.Plan(state, compactor.Input{Settings: set, Meter: estimate.Tokens, Share: share,
			Tail: state.Confided(), People: isListed})
		out, err := compactor.Swap(state, job.Mechanical(), set, estimate.Tokens, f.put, f.read)
		if err != nil || len(out.Lines) == 0 {
			return err
		}
		stable := state.Stable
		state.Become(state.Forget(out.Context, state.LastBlob))
		state.Renew(mind.Inputs{System: stable.System, Tools: []byte(stable.Tools), Params: stable.Params, Spare: stable.Spare})
		state.Open(stable.Memory(), nil, at)
		return nil
	}
	window := prompt.Window(estimate, state.Stable, limit)
	fits, err := window.MakeRoom(window.Settings(), size, compact)
	if err == nil && !fits {
		err = fmt.Errorf("its request has %d tokens, however much is forgotten: --limit is too small", size())
	}
	return err
}

func (f *fitter) put(m blobs.Meta, body []byte) (mind.Ref, error) {
	hash := blobs.Sum(blobs.Encode(m, body))
	f.made[hash] = body
	return mind.Ref{Hash: hash, Short: hash.String()[:16], Gist: blobs.Gist(m.Gist)}, nil
}

func (f *fitter) read(hash blobs.Hash) ([]byte, error) {
	if body, ok := f.made[hash]; ok {
		return body, nil
	}
	return home.BodiesOf(f.Store)(hash)
}
