package main_test

import (
	"strings"
	"testing"

	"lethe/bridge"
	program "lethe/cmd/lethe"
	"lethe/cmd/lethe/cli"
)

// What a monitor and a person see of each way in which a bridge can be: one word in the
// table, and an error unless it is well.
func TestBridgesShow(t *testing.T) {
	for _, c := range []struct {
		h     bridge.Health
		shown string
		sick  string
	}{
		{bridge.Health{State: bridge.Running}, "running", ""},
		{bridge.Health{State: bridge.Late}, "late", "bridges: pager is late: an error goes on"},
		{bridge.Health{State: bridge.Deaf}, "deaf", "bridges: pager is deaf"},
		{bridge.Health{State: bridge.Unknown}, "unknown", "bridges: pager is in an unknown state"},
		{bridge.Health{State: bridge.Dead}, "dead", "bridges: pager is dead"},
		{bridge.Health{State: bridge.Stopped}, "stopped", ""},
		{bridge.Health{State: bridge.Stopped, Out: 1}, "stopped", "bridges: pager is stopped with lines waiting"},
	} {
		c.h.Name, c.h.PID = "pager", 4711
		var out strings.Builder
		program.WriteBridges(&out, new(cli.App), []bridge.Health{c.h})
		_, row, _ := strings.Cut(out.String(), "\n")
		if cells := strings.Fields(row); len(cells) < 3 || cells[1] != c.shown || (cells[2] == "4711") != c.h.Runs() {
			t.Errorf("%+v is shown as %s", c.h, row)
		}
		said := ""
		if err := program.Sick([]bridge.Health{c.h}); err != nil {
			said = err.Error()
		}
		if said != c.sick || (c.h.Ailment() == "") != (said == "") {
			t.Errorf("%+v: %q", c.h, said)
		}
	}
}
