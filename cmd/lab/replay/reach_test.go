package replay

import (
	"math"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// lived is a run after a trace, for looking at its end.
func lived(t *testing.T, items []Item, opts Options) *run {
	t.Helper()
	r, err := begin(opts)
	lethetest.Must(t, err)
	for st, err := range steps(of(items)) {
		lethetest.Must(t, err)
		lethetest.Must(t, r.step(t.Context(), st))
	}
	return r
}

// A short life: all of it is in the context, but a result that is cut in the middle
// is one ref away.
func TestReachOfAShortLife(t *testing.T) {
	long := strings.Repeat("all work and no play\n", 1000)
	r := lived(t, []Item{{User, "go"}, {Asst, "I run it."}, {Tool, long}, {Asst, "done"}}, small())
	reach := r.finish().Reach
	if reach.Bytes < len(long) || reach.Unreachable != 0 || math.Abs(sum(reach.Refs)-1) > 1e-9 {
		t.Errorf("%+v", reach)
	}
	if shown := reach.Refs[0] * float64(reach.Bytes); shown < 10 || shown > 1000 || reach.Refs[2] != 0 {
		t.Errorf("%.0f bytes verbatim: %+v", shown, reach)
	}
}

func sum(refs [4]float64) float64 { return refs[0] + refs[1] + refs[2] + refs[3] }

// When blobs are lost, the walk notices: it opens refs, it does not believe them.
func TestReachNoticesLoss(t *testing.T) {
	r := lived(t, history(90, 640, 5), small())
	if r.report.Compactions == 0 {
		t.Fatal("nothing has faded")
	}
	if reach := r.finish().Reach; reach.Unreachable != 0 || reach.Near() < 0.9999 {
		t.Errorf("%+v", reach)
	}
	gone := r.id.state.Faded[0] // so old that the end of LIFE has no refs to its parts
	if gone.Level == mind.Card {
		t.Fatal("the oldest range has no original of its own")
	}
	size := len(r.id.store.bodies[gone.Original.Hash])
	r.id.store.bodies[gone.Original.Hash] = nil
	reach := r.finish().Reach
	if lost := reach.Unreachable * float64(reach.Bytes); lost < float64(size)/2 || lost > float64(size) {
		t.Errorf("an original of %d bytes is gone, and %.0f bytes cannot be reached", size, lost)
	}
}
