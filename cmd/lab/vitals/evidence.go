package vitals

import (
	"context"
	"fmt"
	"strings"

	"lethe/cmd/lab/eval"
)

// evidence has a scripted reader search lives of each shape, and those of the data set.
func evidence(ctx context.Context, o Options) (s Section, err error) {
	head := []string{"", "limit", "lines"}
	for calls := range eval.Looks + 1 {
		head = append(head, fmt.Sprintf("%d calls", calls), "tokens")
	}
	s.Table = [][]string{append(head, "rules kept", "not as meant")}
	lives := eval.Shapes()
	shapes := len(lives)
	if o.Data != "" {
		talks, err := eval.Load(o.Data)
		if err != nil {
			return s, err
		}
		for _, talk := range talks {
			lives = append(lives, talk.Life())
		}
	}
	for i, life := range lives {
		e, err := eval.Examine(ctx, life)
		if err != nil {
			return s, err
		}
		o.Say(fmt.Sprintf("%s: %d lines", life.Name, e.Lines))
		row := []string{life.Name, fmt.Sprint(e.Limit), fmt.Sprint(e.Lines)}
		for calls := range eval.Looks + 1 {
			row = append(row, percent(e.Found[calls], e.Lines), fmt.Sprint(e.Tokens[calls]))
		}
		row = append(row, percent(e.Kept, e.Rules), "")
		if i < shapes {
			row[len(row)-1] = strings.Join(e.Faults(life), ", ")
		}
		s.Table = append(s.Table, row)
	}
	return s, nil
}
