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
	apart bool         // the life knows private rooms: what fades says its room
	fresh map[int]bool // by their first entries, the ranges that this swap makes
	cut   map[int]bool // likewise the summaries of which it leaves a beginning
	epoch int          // that is to come
	set   Settings
	meter Meter
	put   Put
	read  Read
	lines []Line
}

// perCard bounds the ranges on one card. Each further ref reaches 32 times as far.
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

// decaySummaries makes bare refs of the summaries that matter least. A new one is shown as long as it fits. Of a long one
// a beginning stays, until all others have gone as far: it is bare in a later swap.
func (sw *swap) decaySummaries() {
	most := sw.set.budget(summariesShare)
	total := sw.total(mind.Summary)
	for full := total > most; full && total > most/2; {
		least := -1
		for i, faded := range sw.Faded {
			if faded.Level != mind.Summary {
				continue
			}
			if least < 0 || sw.worth(faded, total > most) < sw.worth(sw.Faded[least], total > most) {
				least = i
			}
		}
		faded := sw.Faded[least]
		fresh := sw.fresh[faded.From]
		mayStay := fresh || sw.cut[faded.From]
		if total <= most && mayStay {
			return
		}
		total -= sw.cost(faded)
		tokens := sw.meter.of(faded.Text)
		if tokens > longSummary && !sw.cut[faded.From] {
			sw.cut[faded.From] = true
			sw.Faded[least].Text = sw.meter.shorten(faded.Text, topicTokens)
			total += sw.cost(sw.Faded[least])
			continue
		}
		sw.bare(least, fresh)
	}
}

// worth orders summaries: the least goes first. Relevance counts one less with each epoch, so that nothing stands for
// ever. One that this swap has cut goes last where they do not fit. Where they do, nothing that matters much more goes
// for it: the little more keeps the past at half of its budget, which saves 2 % of a day.
func (sw *swap) worth(r mind.Range, tooMuch bool) int {
	worth := r.Relevance - (sw.epoch - r.Epoch)
	if sw.cut[r.From] {
		worth += 2
		if tooMuch {
			worth += 1 << 30
		}
	}
	return worth
}

// bare takes the summary of range i away and logs it. A fresh range is logged later, by written.
func (sw *swap) bare(i int, fresh bool) {
	faded := &sw.Faded[i]
	faded.Level, faded.Text, faded.Summary, faded.Epoch = mind.Gist, "", nil, sw.epoch
	if !fresh {
		sw.lines = append(sw.lines, Line{Fade: faded.Fade(), Original: faded.Original})
	}
}

// gather puts the oldest ranges of a level on cards when the level exceeds most
// tokens, until it has half of that, or until nothing is left to gather. A card
// costs as much as a gist, so of cards the lowest tier is gathered first.
func (sw *swap) gather(level string, tier, most int) error {
	if sw.total(level) <= most {
		return nil
	}
	for tier < len(sw.Faded) {
		over := sw.total(level) - most/2
		if over <= 0 {
			return nil
		}
		from, to, ok := sw.group(tier, over)
		switch {
		case ok:
			if err := sw.card(from, to, tier+1); err != nil {
				return err
			}
		case level == mind.Gist:
			return nil
		default:
			tier++
		}
	}
	return nil
}

// tier is 0 for a gist, 1 for a card of gists, and so on; -1 for a summary.
func tier(faded mind.Range) int {
	switch faded.Level {
	case mind.Gist:
		return 0
	case mind.Card:
		return max(1, faded.Tier)
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
		enough := func(size, freed int) bool {
			suffices := freed >= over && size >= least
			return suffices && count-size < perCard
		}
		if end := sw.reach(i, t, room, enough); end-i >= least {
			return i, end, true
		}
	}
	return 0, 0, false
}

// reach returns the end of the ranges from i on that go on one card: at most room, and only until their number and the
// tokens that they free are enough.
func (sw *swap) reach(i, t, room int, enough func(size, freed int) bool) (end int) {
	freed := 0
	for end = i; end < min(len(sw.Faded), i+room); end++ {
		if !sw.joins(i, end, t) || enough(end-i, freed) {
			break
		}
		if tier(sw.Faded[end]) == t {
			freed += sw.cost(sw.Faded[end])
		}
	}
	for tier(sw.Faded[end-1]) != t { // no summary goes without need
		end--
	}
	return end
}

// joins reports whether range end can stand on a card of tier t+1 with the ranges from i on. A summary among old gists
// goes with them.
func (sw *swap) joins(i, end, t int) bool {
	faded := sw.Faded[end]
	if end > i && faded.From != sw.Faded[end-1].To+1 {
		return false // something live is between
	}
	amongGists := t == 0 && faded.Level == mind.Summary
	return amongGists || tier(faded) == t
}

// tops reports whether card has tier t and room for r, which follows on it.
func (sw *swap) tops(card, r mind.Range, t int) bool {
	hasRoom := tier(card) == t && card.Count < perCard
	return hasRoom && card.To+1 == r.From
}

// card replaces Faded[from:to] by one card, or adds them to the card before
// them.
func (sw *swap) card(from, to, tier int) error {
	for i := from; i < to; i++ {
		if sw.Faded[i].Level == mind.Summary {
			sw.bare(i, false)
		}
	}
	c := mind.Range{From: sw.Faded[from].From, Level: mind.Card, Tier: tier}
	var list []mind.Listing
	first := from
	if from > 0 && sw.tops(sw.Faded[from-1], sw.Faded[from], tier) {
		if body, err := sw.read(sw.Faded[from-1].Original.Hash); err == nil { // a lost card stays as it is
			first, c, list = from-1, sw.Faded[from-1], mind.ReadCard(body)
		}
	}
	for _, faded := range sw.Faded[from:to] {
		mark, _ := sw.Overtaken.Of(faded.Name(), "")
		list = append(list, mind.Listing{
			Ref:  blobs.Ref{Hash: faded.Original.Short, Gist: faded.Original.Gist},
			From: faded.From, To: faded.To, At: faded.At, Overtaken: mark,
		})
		c.Relevance = max(c.Relevance, faded.Relevance)
	}
	c.To, c.At, c.Count, c.Epoch = sw.Faded[to-1].To, sw.Faded[to-1].At, len(list), sw.epoch
	ref, err := sw.put(blobs.Meta{Gist: cardGist(list, tier)}, cardBody(list))
	if err != nil {
		return err
	}
	c.Original = ref
	sw.Faded[first] = c
	sw.Faded = slices.Delete(sw.Faded, first+1, to)
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

// cardGist counts the ranges on a card and names its dates and its commonest words.
func cardGist(list []mind.Listing, tier int) string {
	what := "gists"
	if tier > 1 {
		what = "cards"
	}
	var words strings.Builder
	for _, item := range list {
		gist := item.Ref.Gist
		if _, after, ok := strings.Cut(gist, ": "); ok && tier > 1 { // its own count and dates
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
