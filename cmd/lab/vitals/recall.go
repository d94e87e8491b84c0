package vitals

import (
	"context"
	"fmt"
	"path/filepath"

	"lethe/cmd/lab/eval"
)

// recalled puts the questions of the tree's own two conversations, and those of the data set.
func recalled(ctx context.Context, o Options) (s Section, err error) {
	s.Table = [][]string{{
		"", "questions", "hit@1", "hit@5", "hit@10", "shown@1", "shown@5", "shown@10", "hint",
		"hints in small talk", "for other questions",
	}}
	own := filepath.Join(o.Tree, "cmd", "lab", "eval", "testdata", "talks")
	for _, set := range []struct{ name, dir string }{{"own", own}, {"data", o.Data}} {
		if set.dir == "" {
			none := make([]string, len(s.Table[0]))
			none[0], none[1] = set.name, "no data"
			s.Table = append(s.Table, none)
			continue
		}
		talks, err := eval.Load(set.dir)
		if err != nil {
			return s, err
		}
		r, err := eval.Run(ctx, talks, eval.Small, o.Say)
		if err != nil {
			return s, err
		}
		s.Table = append(s.Table, recallRow(set.name+", each alone", r.All))
		if r.OneLife != nil {
			s.Table = append(s.Table, recallRow(set.name+", in one life", *r.OneLife))
		}
	}
	return s, nil
}

func recallRow(name string, r eval.Result) []string {
	f := r.Recall
	row := []string{name, fmt.Sprint(f.Questions)}
	for _, n := range []int{f.At1, f.At5, f.At10, f.Shown1, f.Shown5, f.Shown10, f.Hint} {
		row = append(row, percent(n, f.Questions))
	}
	return append(row, percent(r.False.TalkHints, r.False.Talk), percent(r.False.OtherHint, r.False.Other))
}

func percent(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
