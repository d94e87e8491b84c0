package compactor

import "testing"

// full is a life at a limit of 100k tokens that is due for a compaction.
func full(t failer) *world {
	w := newWorld(t, 100_000)
	w.turns(9, 500)
	w.ranges("gist", 150, nil)
	w.ranges("summary", 20, nil)
	for w.live() < 60_000 {
		w.turns(10, 700)
	}
	return w
}

func BenchmarkPlan(b *testing.B) {
	w := full(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Plan(w.state, w.input()); !ok {
			b.Fatal("nothing to do")
		}
	}
}

// The mechanical path is what stands between a full context and the next turn.
func BenchmarkMechanicalSwap(b *testing.B) {
	w := full(b)
	b.ReportAllocs()
	for b.Loop() {
		fades := w.plan().Mechanical()
		if _, err := Swap(w.state, fades, w.set, meter, w.put, w.read); err != nil {
			b.Fatal(err)
		}
	}
}
