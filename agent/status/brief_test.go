package status_test

import (
	"strings"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/status"
)

func TestBrief(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	next := func(in ...time.Duration) (s status.Beside) {
		for i, d := range in {
			s.Triggers = append(s.Triggers, status.Trigger{Name: "t" + string(rune('0'+i)), Next: now.Add(d)})
		}
		s.Triggers = append(s.Triggers, status.Trigger{Name: "on a path"})
		return s
	}
	for want, s := range map[string]status.Beside{
		"":                           {},
		"1 question, 1 job, 1 child": {Questions: make([]status.Question, 1), Jobs: make([]status.Job, 1), Children: 1},
		"2 questions":                {Questions: make([]status.Question, 2)},
		"$1.20 left today":           {Budget: []budget.Line{{Of: "turn", Limit: 1e6}, {Of: "day", Limit: 2e6, Spent: 500_000, Held: 300_000}}},
		"$0.00 left today":           {Budget: []budget.Line{{Of: "day", Limit: 2e6, Spent: 2_500_000}}},
		"next t1 12:30":              next(time.Hour, 30*time.Minute), "next t0 Sat 09:00": next(21 * time.Hour),
		"next t0 27 Nov": next(7 * 24 * time.Hour),
	} {
		if got := strings.Join(s.Brief(now), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
