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
	all := r.Conversations
	if r.OneLife != nil {
		all = append(slices.Clone(all), r.All, *r.OneLife)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight) // anew after each Flush
	fmt.Fprintln(w, "conversation\tlines\toriginals\ttokens each\tquestions\thit@1\thit@5\thit@10\thint\t"+
		"shown@1\tshown@5\tshown@10\ttokens@5\t")
	for _, c := range all {
		f := c.Recall
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%d\t%s%s\t%s\t%s\t%s\t%.0f\t\n", c.Name, c.Lines, c.Originals, c.MeanTokens,
			c.Questions, f.hits(), f.share(f.Hint), f.share(f.Shown1), f.share(f.Shown5), f.share(f.Shown10),
			mean(f.Tokens, f.Questions))
	}
	w.Flush()
	b.WriteByte('\n')
	fmt.Fprintln(w, "ranking\thit@1\thit@5\thit@10\tall@10\t")
	for _, c := range all[len(all)-min(2, len(all)):] {
		fmt.Fprintf(w, "recall, %s\t%s\nBM25, %[1]s\t%[3]s\n", c.Name, c.Recall.everything(), c.Plain.everything())
		n := float64(max(1, c.Questions)) / 100
		fmt.Fprintf(w, "chance, %s\t%.1f %%\t%.1f %%\t%.1f %%\t\t\n", c.Name, c.Chance.At1/n, c.Chance.At5/n, c.Chance.At10/n)
	}
	w.Flush()
	b.WriteByte('\n')
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
	b.WriteString("\n\n")
	fmt.Fprintln(w, "least confidence\thint\tsmall talk\tother questions\t")
	for _, t := range r.All.Curve {
		fmt.Fprintf(w, "%.2f\t%s\t%.1f %%\t%.1f %%\t\n", t.Least, r.All.Recall.share(t.Hint), 100*mean(t.Talk, f.Talk), 100*mean(t.Other, f.Other))
	}
	w.Flush()
	if r.All.Skipped > 0 {
		fmt.Fprintf(&b, "questions without evidence, not counted: %d\n", r.All.Skipped)
	}
	return b.String()
}

// hits renders the three shares, each with a tab behind it.
func (f Found) hits() string {
	return f.share(f.At1) + "\t" + f.share(f.At5) + "\t" + f.share(f.At10) + "\t"
}

// everything renders all shares but that of hints.
func (f Found) everything() string {
	return f.hits() + f.share(f.All10) + "\t"
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
