package rehearsal

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

type summaryOut struct {
	Summary   string   `json:"summary"`
	Gist      string   `json:"gist"`
	Relevance int      `json:"relevance"`
	Keep      []string `json:"keep"`
}

var (
	promiseRE  = regexp.MustCompile(`(?i)\b(?:always|never|i will|i'll|we will|promise|remember|don'?t forget|must not|standing rule|from now on)\b`)
	decisionRE = regexp.MustCompile(`(?i)\b(?:decided?|agreed?|chose|choose|deadline|because|therefore|fixed|deployed|released|failed|error|works|done|plan|need|must|should|prefer|favou?rite)\b`)
	// Identifiers: addresses, paths, snake or dotted or dashed names, hex, versions, numbers.
	identRE = regexp.MustCompile(`https?://[^\s"'<>)]+|[\w.+-]+@[\w-]+\.[\w.]+|(?:[\w.-]*/)+[\w.-]+|\b[\w]+(?:[._-][\w]+)+\b|\b[A-Z]{2,}\w*\b|\b[0-9a-f]{7,64}\b|\b\d[\d.,:]*\d\b`)
)

const maxKeep = 12

// A scored sentence is one that may enter the summary.
type scored struct {
	text    string
	at      int // its place in the source
	score   int
	promise bool
}

// summarise takes the sentences that matter most out of the entries, in their
// own words and order, until the summary is ratio of its source.
func summarise(entries []entry, ratio float64) summaryOut {
	source := join(entries, func(e entry) string { return e.text })
	own := join(entries, func(e entry) string { return e.own })
	list := score(entries)
	out := summaryOut{Relevance: relevance(own), Keep: keep(source, own)}
	out.Summary = extract(list, budget(len(source), ratio), len(source)/2)
	out.Gist = gist(entries)
	if out.Summary == "" {
		out.Summary = clip(oneLine(source), max(1, utf8.RuneCountInString(source)/2))
	}
	if strings.TrimSpace(out.Summary) == "" {
		out.Summary = "(nothing was said)"
	}
	return out
}

func join(entries []entry, part func(entry) string) string {
	var b []string
	for _, e := range entries {
		if s := strings.TrimSpace(part(e)); s != "" {
			b = append(b, s)
		}
	}
	return strings.Join(b, "\n")
}

// budget is the length of a summary in bytes. A short source gets a larger
// share, since a summary of a few words helps nobody.
func budget(source int, ratio float64) int {
	return max(int(ratio*float64(source)), min(160, source*6/10))
}

// score weighs the sentences of the entries: promises before decisions, people's
// words before results, what has identifiers before what has none.
func score(entries []entry) []scored {
	var out []scored
	for _, e := range entries {
		first := true
		for _, line := range strings.Split(strings.TrimSpace(e.text), "\n") {
			said := strings.Contains("\n"+e.own+"\n", "\n"+line+"\n")
			who, rest := "", line
			if m := saidLine.FindStringSubmatch(line); m != nil && said {
				who, rest = m[1]+m[2]+": ", m[3]
			}
			for _, s := range sentences(plainRefs(rest)) {
				sc := scored{text: who + s, at: len(out), promise: said && promiseRE.MatchString(s)}
				sc.score = weigh(s, said, first, sc.promise)
				first = false
				out = append(out, sc)
			}
		}
	}
	return out
}

func weigh(s string, said, first, promise bool) int {
	n := 0
	if promise {
		n += 100
	}
	if said {
		n += 10
	}
	if first && said {
		n += 8
	}
	if decisionRE.MatchString(s) {
		n += 6
	}
	n += 3 * min(4, len(identRE.FindAllString(s, 4)))
	if len(keywords(s)) == 0 || strings.HasSuffix(s, "?") {
		n -= 8
	}
	return n
}

// extract takes the best sentences that fit into size bytes, and promises up to
// most bytes, each text once, in the order of the source.
func extract(list []scored, size, most int) string {
	byScore := slices.Clone(list)
	slices.SortStableFunc(byScore, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var taken []scored
	seen := map[string]bool{}
	n := 0
	for _, s := range byScore {
		limit := size
		if s.promise {
			limit = max(size, most)
		}
		if seen[s.text] || n+len(s.text)+1 > limit {
			continue
		}
		seen[s.text] = true
		n += len(s.text) + 1
		taken = append(taken, s)
	}
	slices.SortFunc(taken, func(a, b scored) int { return a.at - b.at })
	var b []string
	for _, s := range taken {
		b = append(b, s.text)
	}
	return strings.Join(b, "\n")
}

// relevance is 10 for standing rules and promises, else it grows with decisions
// and identifiers in what people said.
func relevance(own string) int {
	if promiseRE.MatchString(own) {
		return 10
	}
	n := 2 + min(3, len(decisionRE.FindAllString(own, 3)))
	return n + min(2, len(identRE.FindAllString(own, 20))/4)
}

// keep lists identifiers of the source, those that people used first.
func keep(source, own string) []string {
	out := []string{}
	for _, id := range append(identRE.FindAllString(own, -1), identRE.FindAllString(source, -1)...) {
		if id = strings.TrimRight(id, ".,:"); utf8.RuneCountInString(id) < 2 || utf8.RuneCountInString(id) > 80 {
			continue
		}
		if len(out) < maxKeep && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// topic names the words that the entries use most.
func topic(entries []entry) string {
	text := join(entries, func(e entry) string { return e.own })
	if strings.TrimSpace(text) == "" {
		text = join(entries, func(e entry) string { return e.text })
	}
	count := map[string]int{}
	var order []string
	for _, w := range words(text) {
		if k := stem(w); !stopwords[strings.ToLower(w)] && utf8.RuneCountInString(w) > 2 {
			if count[k]++; count[k] == 1 {
				order = append(order, k)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	if len(order) == 0 {
		return "small talk"
	}
	return strings.Join(spelled(text, order[:min(4, len(order))]), " ")
}
