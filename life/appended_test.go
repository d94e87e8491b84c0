package life

import "testing"

// What counts by the line that ends its append is nothing without it; other lines stand alone.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		kinds []string
		whole bool
	}{
		{nil, true},
		{[]string{"reply", "call"}, true},
		{[]string{"reply"}, true},
		{[]string{"note"}, true},
		{[]string{"epoch"}, true}, // of a program that did not seal
		{[]string{"fade", "fade", "epoch"}, true},
		{[]string{"fade", "note"}, false},
		{[]string{"result", "erased", "note", "epoch"}, false},
		{[]string{"erased", "note", "epoch", "sealed"}, true},
		{[]string{"moved", "epoch"}, false},
		{[]string{"joined", "received", "epoch"}, false},
		{[]string{"joined"}, true},
	} {
		var a Append
		a.Add(made("moved", nil), false)
		for i, kind := range c.kinds {
			a.Add(made(kind, nil), i > 0)
		}
		if c.kinds != nil && a.Whole() != c.whole {
			t.Errorf("%q is whole: %v", c.kinds, a.Whole())
		}
	}
	if !(Append{}).Whole() {
		t.Error("nothing is not whole")
	}
}
