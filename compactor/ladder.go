package compactor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind"
)

// ladder is the past of a state on its way down: summary, gist, card, card of
// cards.
type ladder struct {
	mind.Context
	epoch int // that is to come
	turn  int
	set   Settings
	meter Meter
	put   Put
	read  Read
	lines []Line
}

// perCard is how many ranges one card lists. With it each ref more reaches 32
// times as far.
const perCard = 32

func (l *ladder) budget(share float64) int { return int(float64(l.set.Limit) * share) }

func (l *ladder) cost(r mind.Range) int { return l.meter(r.String() + "\n") }

// total is what the ranges of one level cost.
func (l *ladder) total(level string) int {
	n := 0
	for _, r := range l.Faded {
		if r.Level == level {
			n += l.cost(r)
		}
	}
	return n
}

// decay brings each level into its budget, the highest first, since what falls
// out of one goes into the next.
func (l *ladder) decay(chosen []Fade) error {
	l.decaySummaries(chosen)
	if err := l.written(chosen); err != nil {
		return err
	}
	if err := l.gather(mind.Gist, l.budget(l.set.Gists)); err != nil {
		return err
	}
	return l.gather(mind.Card, l.budget(l.set.Cards))
}

// decaySummaries makes bare refs of the summaries that matter least.
func (l *ladder) decaySummaries(chosen []Fade) {
	most := l.budget(l.set.Summaries)
	total := l.total(mind.Summary)
	if total <= most {
		return
	}
	var at []int
	for i, r := range l.Faded {
		if r.Level == mind.Summary {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(l.worth(l.Faded[a]), l.worth(l.Faded[b])) })
	fresh := map[int]bool{}
	for _, f := range chosen {
		fresh[f.From] = true
	}
	for _, i := range at {
		if total <= most/2 {
			return
		}
		total -= l.cost(l.Faded[i])
		l.bare(i, fresh[l.Faded[i].From])
	}
}

// A summary that was opened lately is worth more than its relevance says.
const (
	openedTurns = 30
	openedWorth = 6
)

// worth says how long a summary should stay: it sinks with each epoch.
func (l *ladder) worth(r mind.Range) int {
	n := r.Relevance - (l.epoch - r.Epoch)
	if l.opened(r) {
		n += openedWorth
	}
	return n
}

func (l *ladder) opened(r mind.Range) bool { return r.Opened > 0 && l.turn-r.Opened < openedTurns }

// bare takes the summary of a range away. Of a new range nothing has been
// written yet, so there is no line to be written about it.
func (l *ladder) bare(i int, fresh bool) {
	r := &l.Faded[i]
	r.Level, r.Text, r.Summary, r.Epoch = mind.Gist, "", nil, l.epoch
	if !fresh {
		l.lines = append(l.lines, Line{From: r.From, To: r.To, Level: r.Level, Relevance: r.Relevance, Original: r.Original})
	}
}

// gather puts the oldest ranges of a level on cards when the level exceeds most
// tokens, until it has half of that, or until nothing is left to gather. A card
// costs as much as a gist, so of cards the lowest tier is gathered first.
func (l *ladder) gather(level string, most int) error {
	if l.total(level) <= most {
		return nil
	}
	for tier := 0; tier <= l.highest(); tier++ {
		if (tier == 0) != (level == mind.Gist) {
			continue
		}
		for {
			over := l.total(level) - most/2
			if over <= 0 {
				return nil
			}
			from, to, ok := l.group(tier, over)
			if !ok {
				break
			}
			if err := l.card(from, to, tier+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// tier is 0 for a gist, 1 for a card of gists, and so on; a summary has none.
func tier(r mind.Range) int {
	switch r.Level {
	case mind.Gist:
		return 0
	case mind.Card:
		return max(1, r.Tier)
	}
	return -1
}

func (l *ladder) highest() int {
	n := 0
	for _, r := range l.Faded {
		n = max(n, tier(r))
	}
	return n
}

// group finds the oldest adjacent ranges of a tier that are to go on one card:
// a full one, or fewer when the level is so small that half of it suffices. A
// range alone joins the card before it, when that has room. They are
// Faded[from:to].
func (l *ladder) group(t, over int) (from, to int, ok bool) {
	count := 0
	for _, r := range l.Faded {
		if tier(r) == t {
			count++
		}
	}
	for i := 0; i < len(l.Faded); i++ {
		if tier(l.Faded[i]) != t {
			continue
		}
		room, least := perCard, 2
		if i > 0 && l.tops(l.Faded[i-1], l.Faded[i], t+1) {
			room, least = perCard-l.Faded[i-1].Count, 1
		}
		end, freed := i, 0
		for end < len(l.Faded) && end-i < room && l.joins(i, end, t) {
			if freed >= over && end-i >= least && count-(end-i) < perCard {
				break
			}
			if tier(l.Faded[end]) == t {
				freed += l.cost(l.Faded[end])
			}
			end++
		}
		for tier(l.Faded[end-1]) != t { // no summary goes without need
			end--
		}
		if end-i >= least {
			return i, end, true
		}
	}
	return 0, 0, false
}

// joins reports whether range end can stand on one card with those from i on. A
// summary among old gists goes with them, unless it was opened lately.
func (l *ladder) joins(i, end, t int) bool {
	r := l.Faded[end]
	if end > i && r.From != l.Faded[end-1].To+1 {
		return false // something live is between
	}
	return tier(r) == t || t == 0 && r.Level == mind.Summary && !l.opened(r)
}

// tops reports whether r can be added to card c of tier t.
func (l *ladder) tops(c, r mind.Range, t int) bool {
	return c.Level == mind.Card && tier(c) == t && c.Count < perCard && c.To+1 == r.From
}

// card replaces Faded[from:to] by one card, or adds them to the card before
// them.
func (l *ladder) card(from, to, t int) error {
	for i := from; i < to; i++ {
		if l.Faded[i].Level == mind.Summary {
			l.bare(i, false)
		}
	}
	c := mind.Range{From: l.Faded[from].From, Level: mind.Card, Tier: t}
	var list []mind.Listing
	first := from
	if from > 0 && l.tops(l.Faded[from-1], l.Faded[from], t) {
		if has, ok := l.listed(l.Faded[from-1]); ok {
			first, c, list = from-1, l.Faded[from-1], has
		}
	}
	for _, r := range l.Faded[from:to] {
		list = append(list, mind.Listing{Ref: blobs.Ref{Hash: r.Original.Short, Gist: r.Original.Gist}, From: r.From, To: r.To, At: r.At})
		c.Relevance, c.Opened = max(c.Relevance, r.Relevance), max(c.Opened, r.Opened)
	}
	c.To, c.At, c.Count, c.Epoch = l.Faded[to-1].To, l.Faded[to-1].At, len(list), l.epoch
	ref, err := l.put(cardGist(list, t), cardBody(list))
	if err != nil {
		return err
	}
	c.Original = ref
	l.Faded = slices.Replace(l.Faded, first, to, c)
	l.lines = append(l.lines, Line{From: c.From, To: c.To, Level: mind.Card, Relevance: c.Relevance, Replacement: ref})
	return nil
}

// listed reads what a card lists. One that cannot be read stays as it is.
func (l *ladder) listed(c mind.Range) ([]mind.Listing, bool) {
	body, err := l.read(c.Original.Hash)
	if err != nil {
		return nil, false
	}
	list := mind.ReadCard(body)
	return list, len(list) == c.Count
}

func cardBody(list []mind.Listing) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%d parts of the faded past, oldest first. Open one by its hash.\n", len(list))
	for _, item := range list {
		b.WriteString(item.String() + "\n")
	}
	return []byte(b.String())
}

// cardGist says what a card holds: how much, from when, and its commonest words.
func cardGist(list []mind.Listing, t int) string {
	what := "gists"
	if t > 1 {
		what = "cards"
	}
	var words strings.Builder
	for _, item := range list {
		gist := item.Ref.Gist
		if _, after, ok := strings.Cut(gist, ": "); ok && t > 1 { // its own count and dates
			gist = after
		}
		words.WriteString(gist + "\n")
	}
	names := identifiers(words.String(), 3)
	for _, k := range keywords(words.String(), 12) {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), k) }) {
			names = append(names, k)
		}
	}
	return blobs.Gist(fmt.Sprintf("%d %s%s: %s", len(list), what, dates(list), strings.Join(names, ", ")))
}

func dates(list []mind.Listing) string {
	from, to := list[0].At, list[len(list)-1].At
	if from.IsZero() || to.IsZero() {
		return ""
	}
	a, b := from.UTC().Format("2006-01-02"), to.UTC().Format("2006-01-02")
	if a == b {
		return " of " + a
	}
	return " " + a + " to " + b
}
