package compactor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/mind"
)

// swap is a context while chunks of it fade, and its past decays from summaries to
// gists, cards, and cards of cards.
type swap struct {
	mind.Context
	fresh map[int]bool // by their first entries, the ranges that this swap makes
	epoch int          // that is to come
	set   Settings
	meter Meter
	put   Put
	read  Read
	lines []Line
}

// perCard is how many ranges one card lists. With it each ref more reaches 32
// times as far.
const perCard = 32

func (sw *swap) cost(r mind.Range) int { return sw.meter.of(sw.Line(r) + "\n") }

// total returns the cost of the ranges of one level.
func (sw *swap) total(level string) int {
	n := 0
	for _, r := range sw.Faded {
		if r.Level == level {
			n += sw.cost(r)
		}
	}
	return n
}

// decay brings each level into its budget, the highest first: a range that leaves
// one level enters the next.
func (sw *swap) decay() error {
	sw.decaySummaries()
	if err := sw.written(); err != nil {
		return err
	}
	if err := sw.gather(mind.Gist, 0, sw.set.budget(gistsShare)); err != nil {
		return err
	}
	return sw.gather(mind.Card, 1, sw.set.budget(cardsShare))
}

// decaySummaries makes bare refs of the summaries that matter least. A new one is shown as
// long as it fits.
func (sw *swap) decaySummaries() {
	most := sw.set.budget(summariesShare)
	total := sw.total(mind.Summary)
	for full := total > most; full && total > most/2; {
		least := -1
		for i, r := range sw.Faded {
			if r.Level != mind.Summary {
				continue
			}
			if least < 0 || sw.worth(r) < sw.worth(sw.Faded[least]) {
				least = i
			}
		}
		r := sw.Faded[least]
		fresh := sw.fresh[r.From]
		if total <= most && fresh {
			return
		}
		total -= sw.cost(r)
		sw.bare(least, fresh)
	}
}

// worth says how long a summary should stay: its relevance counts one less with each epoch, so that nothing
// stands for ever.
func (sw *swap) worth(r mind.Range) int { return r.Relevance - (sw.epoch - r.Epoch) }

// bare takes the summary of a range away. A new range has no line yet, so none is
// written about the change.
func (sw *swap) bare(i int, fresh bool) {
	r := &sw.Faded[i]
	r.Level, r.Text, r.Summary, r.Epoch = mind.Gist, "", nil, sw.epoch
	if !fresh {
		sw.lines = append(sw.lines, Line{Fade: r.Fade(), Original: r.Original})
	}
}

// gather puts the oldest ranges of a level on cards when the level exceeds most
// tokens, until it has half of that, or until nothing is left to gather. A card
// costs as much as a gist, so of cards the lowest tier, from t on, is gathered first.
func (sw *swap) gather(level string, t, most int) error {
	total := sw.total(level)
	for full := total > most; full && total > most/2 && t < len(sw.Faded); total = sw.total(level) {
		from, to, ok := sw.group(t, total-most/2)
		switch {
		case ok:
			if err := sw.card(from, to, t+1); err != nil {
				return err
			}
		case level == mind.Gist:
			return nil
		default:
			t++
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

// group finds the oldest adjacent ranges of a tier that are to go on one card:
// a full one, or fewer when the level is so small that half of it suffices. A
// range alone joins the card before it, when that has room. They are
// Faded[from:to].
func (sw *swap) group(t, over int) (from, to int, ok bool) {
	count := 0
	for _, r := range sw.Faded {
		if tier(r) == t {
			count++
		}
	}
	for i := 0; i < len(sw.Faded); i++ {
		if tier(sw.Faded[i]) != t {
			continue
		}
		room, least := perCard, 2
		if i > 0 && sw.tops(sw.Faded[i-1], sw.Faded[i], t+1) {
			room, least = perCard-sw.Faded[i-1].Count, 1
		}
		end, freed := i, 0
		for end < len(sw.Faded) && end-i < room && sw.joins(i, end, t) {
			enough := freed >= over && end-i >= least
			if enough && count-(end-i) < perCard {
				break
			}
			if tier(sw.Faded[end]) == t {
				freed += sw.cost(sw.Faded[end])
			}
			end++
		}
		for tier(sw.Faded[end-1]) != t { // no summary goes without need
			end--
		}
		if end-i >= least {
			return i, end, true
		}
	}
	return 0, 0, false
}

// joins reports whether range end can stand on one card with those from i on. A
// summary among old gists goes with them.
func (sw *swap) joins(i, end, t int) bool {
	r := sw.Faded[end]
	if end > i && r.From != sw.Faded[end-1].To+1 {
		return false // something live is between
	}
	amongGists := t == 0 && r.Level == mind.Summary
	return amongGists || tier(r) == t
}

// tops reports whether r can be added to card c of tier t.
func (sw *swap) tops(c, r mind.Range, t int) bool {
	hasRoom := tier(c) == t && c.Count < perCard
	return hasRoom && c.To+1 == r.From
}

// card replaces Faded[from:to] by one card, or adds them to the card before
// them.
func (sw *swap) card(from, to, t int) error {
	for i := from; i < to; i++ {
		if sw.Faded[i].Level == mind.Summary {
			sw.bare(i, false)
		}
	}
	c := mind.Range{From: sw.Faded[from].From, Level: mind.Card, Tier: t}
	var list []mind.Listing
	first := from
	if from > 0 && sw.tops(sw.Faded[from-1], sw.Faded[from], t) {
		if body, err := sw.read(sw.Faded[from-1].Original.Hash); err == nil { // one that is lost stays as it is
			first, c, list = from-1, sw.Faded[from-1], mind.ReadCard(body)
		}
	}
	for _, r := range sw.Faded[from:to] {
		ref := blobs.Ref{Hash: r.Original.Short, Gist: r.Original.Gist}
		list = append(list, mind.Listing{Ref: ref, From: r.From, To: r.To, At: r.At, Overtaken: sw.Overtaken[r.Name()]})
		c.Relevance = max(c.Relevance, r.Relevance)
	}
	c.To, c.At, c.Count, c.Epoch = sw.Faded[to-1].To, sw.Faded[to-1].At, len(list), sw.epoch
	ref, err := sw.put(blobs.Meta{Gist: cardGist(list, t)}, cardBody(list))
	if err != nil {
		return err
	}
	c.Original = ref
	sw.Faded = slices.Replace(sw.Faded, first, to, c)
	sw.lines = append(sw.lines, Line{Fade: c.Fade(), Replacement: ref})
	return nil
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
	return gist(fmt.Sprintf("%d %s%s: %s", len(list), what, dates(list), strings.Join(keywords(words.String(), 12), ", ")))
}

func dates(list []mind.Listing) string {
	from, to := list[0].At, list[len(list)-1].At
	if from.IsZero() || to.IsZero() {
		return ""
	}
	days := []string{from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)}
	return " of " + strings.Join(slices.Compact(days), " to ")
}
