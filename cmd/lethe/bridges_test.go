package main

import (
	"strings"
	"testing"
	"time"

	"lethe/bridge/health"
)

// What a monitor and a person see of each way in which a bridge can be: one word in the
// table, and an error unless it is well.
func TestBridgesShow(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		h     health.Health
		shown string
		sick  string
	}{
		{health.Health{State: health.Running}, "running", ""},
		{health.Health{State: health.Late}, "late", "bridges: pager is late: errors hold up its lines"},
		{health.Health{State: health.Deaf}, "deaf", "bridges: pager is deaf"},
		{health.Health{State: health.Unknown}, "unknown", "bridges: pager is in an unknown state"},
		{health.Health{State: health.Dead}, "dead", "bridges: pager is dead"},
		{health.Health{State: health.Stopped}, "stopped", ""},
		{health.Health{State: health.Stopped, Out: 1}, "stopped", "bridges: pager is stopped with lines waiting"},
	} {
		c.h.Name, c.h.PID = "pager", 4711
		var out strings.Builder
		p := &program{out: &out}
		if err := p.printBridges([]health.Health{c.h}, now); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(out.String(), "\n")
		if cells := strings.Fields(row); len(cells) < 3 || cells[1] != c.shown || (cells[2] == "4711") != c.h.Runs() {
			t.Errorf("%+v is shown as %s", c.h, row)
		}
		said := ""
		if err := sick([]health.Health{c.h}); err != nil {
			said = err.Error()
		}
		if said != c.sick || c.h.Healthy() != (said == "") {
			t.Errorf("%+v: %q", c.h, said)
		}
		p.json = true
		out.Reset()
		if err := p.printBridges([]health.Health{c.h}, now); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), `"healthy": true`) != c.h.Healthy() {
			t.Errorf("%+v is %s", c.h, &out)
		}
	}
}
