package audience_test

import (
	"testing"

	"lethe/mind/audience"
)

// Nobody stands for settings that make no sense: such an audience is told only what is open.
func TestMayRead(t *testing.T) {
	open, nobody := audience.Readers(nil), audience.Readers{}
	ann, both, all := audience.Readers{"ann"}, audience.Readers{"Ben", "ann"}, audience.Readers{"*", "ann"}
	for _, c := range []struct {
		room, audience audience.Readers
		may            bool
	}{
		{open, open, true}, {open, nobody, true}, {open, ann, true}, {all, both, true}, {ann, open, false},
		{ann, nobody, false}, {nobody, nobody, false}, {nobody, ann, false}, {ann, ann, true}, {both, ann, true}, {ann, both, false},
	} {
		if c.room.MayRead(c.audience) != c.may {
			t.Errorf("%v may read %v: %t", c.audience, c.room, !c.may)
		}
	}
	if !audience.Same(nobody, nobody) || !audience.Same(all, open) || !audience.Same(both, audience.Readers{"ann", "ben"}) {
		t.Error("the same are not the same")
	}
	if audience.Same(nobody, open) || audience.Same(ann, both) {
		t.Error("others are the same")
	}
}
