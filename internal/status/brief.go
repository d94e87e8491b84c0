package status

import (
	"fmt"
	"time"

	"lethe/budget"
)

// Brief says in a few words each what the identity does beside the talk, and what it waits for.
func (s Beside) Brief(now time.Time) (parts []string) {
	count := func(n int, one, more string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	count(len(s.Questions), "question", "questions")
	count(len(s.Jobs), "job", "jobs")
	count(s.Children, "child", "children")
	var next Trigger
	for _, t := range s.Triggers {
		if !t.Next.IsZero() && (next.Next.IsZero() || t.Next.Before(next.Next)) {
			next = t
		}
	}
	if !next.Next.IsZero() {
		at := next.Next.In(now.Location())
		form := "15:04"
		switch {
		case at.Sub(now) > 6*24*time.Hour:
			form = "2 Jan"
		case at.Sub(now) > 20*time.Hour:
			form = "Mon 15:04"
		}
		parts = append(parts, "next "+next.Name+" "+at.Format(form))
	}
	for _, m := range s.Budget {
		if m.Of == budget.Day {
			parts = append(parts, fmt.Sprintf("$%.2f left today", max(m.Limit-m.Spent-m.Held, 0).Dollars()))
		}
	}
	return parts
}
