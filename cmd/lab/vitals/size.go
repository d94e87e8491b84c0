package vitals

import (
	"context"
	"fmt"

	"lethe/cmd/lab/size"
)

func sizes(_ context.Context, o Options) (s Section, err error) {
	tree, err := size.Count(o.Tree)
	row := func(name string, sum size.Sum) {
		s.Table = append(s.Table, []string{name, fmt.Sprint(sum.Tokens), fmt.Sprint(sum.Lines), fmt.Sprint(sum.TestTokens)})
	}
	s.Table = [][]string{{"", "tokens", "lines", "tokens of tests"}}
	row(fmt.Sprintf("all %d packages", len(tree.Packages)), tree.Sum)
	for _, p := range tree.Packages {
		row(p.Name, p.Sum)
	}
	return s, err
}
