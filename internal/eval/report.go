package eval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// String renders a report as tables for people.
func (r Report) String() string {
	var b strings.Builder
	all := append(slices.Clone(r.Conversations), r.All)
	if len(r.Conversations) == 1 {
		all = r.Conversations
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "conversation\tlines\toriginals\ttokens each\tquestions\thit@1\thit@5\thit@10\thint\t")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%d\t%s%s\t\n", c.Name, c.Lines, c.Originals, c.MeanTokens, c.Questions,
			c.Recall.hits(), c.Recall.share(c.Recall.Hint))
	}
	w.Flush()
	b.WriteByte('\n')
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "category\tquestions\thit@1\thit@5\thit@10\thint\t")
	for _, name := range slices.Sorted(maps.Keys(r.All.Categories)) {
		f := r.All.Categories[name]
		fmt.Fprintf(w, "%s\t%d\t%s%s\t\n", name, f.Questions, f.hits(), f.share(f.Hint))
	}
	w.Flush()
	f := r.All.False
	fmt.Fprintf(&b, "\nhints where there is nothing to find: %d of %d lines of small talk", f.TalkHints, f.Talk)
	if f.Other > 0 {
		fmt.Fprintf(&b, ", %d of %d questions about other conversations", f.OtherHint, f.Other)
	}
	b.WriteByte('\n')
	if r.All.Skipped > 0 {
		fmt.Fprintf(&b, "questions without evidence, not counted: %d\n", r.All.Skipped)
	}
	return b.String()
}

// hits renders the three shares, each with a tab behind it.
func (f Found) hits() string {
	return f.share(f.At1) + "\t" + f.share(f.At5) + "\t" + f.share(f.At10) + "\t"
}

func (f Found) share(n int) string { return fmt.Sprintf("%.1f %%", 100*mean(n, f.Questions)) }

// categoryName is what the data set's authors call a category.
func categoryName(n int) string {
	names := []string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
	if n < 1 || n >= len(names) {
		return strconv.Itoa(n)
	}
	return names[n]
}
