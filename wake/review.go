package wake

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/home"
	"lethe/life/event"
	"lethe/mind"
)

// A reviewer is an identity that reads what another one heard, did and said. That comes
// to it in a room of its own, which the other does not hear; what it remarks it says in
// the rooms of the other, without hearing them.

// ReviewSoul is the soul of a reviewer; {{name}} is whom it reviews.
//
//go:embed reviewer.md
var ReviewSoul string

const (
	reviewEntries = 10                // new ones that a review needs
	reviewEvery   = 450 * time.Second // at most
	reviewLooks   = 15                // at most, into the LIFE for each review
	reviewTexts   = 50                // that one review has
	reviewChars   = 8000              // of them all
)

// Review is the source that wakes a reviewer.
type Review struct {
	Config
	Of    home.Identity // that is reviewed
	Every time.Duration // at most; 0 takes the default

	looked time.Time // when its LIFE was last read
	size   int64     // of its LIFE then
	news   bool      // it has grown since
	broken string    // why it cannot be read
}

func (r *Review) by() string { return home.ReviewRoom(r.Of.Name) }

// Next is when the next review, or the next look for one, is due.
func (r *Review) Next(v View) time.Time {
	if !r.news {
		return time.Time{} // the watcher tells
	}
	every := cmp.Or(r.Every, reviewEvery)
	last := v.Fires[r.by()].Last
	if last.After(time.Now().Add(every)) { // by a clock that was wrong
		last = time.Time{}
	}
	at, look := last.Add(every), r.looked.Add(every/reviewLooks)
	if look.After(at) {
		return look
	}
	return at
}

// Due returns a review, if enough has come into the life.
func (r *Review) Due(v View) ([]Record, error) {
	fi, err := os.Stat(r.Of.LIFE())
	r.news = err == nil && fi.Size() != r.size && slices.Contains(v.Joined, r.by())
	if !r.news || v.Now.Before(r.Next(v)) || mind.Awaits(v.Wakes, r.by()) > 0 {
		return nil, nil
	}
	r.looked, r.size, r.news = v.Now, fi.Size(), false
	state, err := home.Fold(r.Of, r.Store)
	if err != nil {
		if r.broken != err.Error() {
			r.broken = err.Error()
			r.Log.Warn("what is to be reviewed cannot be read", "of", r.Of.Name, "error", err)
		}
		return nil, nil
	}
	seen, _ := strconv.Atoi(strings.TrimPrefix(v.Fires[r.by()].Seen, "e")) // 0 at first
	text, last := reviewOf(state, seen)
	if last-seen < reviewEntries {
		return nil, nil
	}
	fired := event.Fired{By: r.by(), Seen: mind.EntryID(last)}
	return []Record{{Event: fired, Text: text, At: v.Now, Rooms: []string{r.by()}}}, nil
}

// reviewOf renders what came into a life behind an entry, for its reviewer: the head of
// each text, with the hash that opens all of it. last is the newest entry that is
// complete.
func reviewOf(s *mind.State, seen int) (text string, last int) {
	type part struct{ head, text string }
	var parts []part
	for _, f := range s.Faded {
		if f.To > seen {
			last = max(last, f.To)
			parts = append(
				parts,
				part{fmt.Sprintf("e%d..e%d have faded hash=%s", f.From, f.To, f.Original.Short), blobs.Unescape(f.Original.Gist)},
			)
		}
	}
	for _, e := range s.Live {
		if e.Waits() {
			break
		}
		last = max(last, e.N)
		if e.N <= seen {
			continue
		}
		head := strings.TrimPrefix(e.Header(), "◆ ")
		if e.Refused {
			head += " refused"
		}
		parts = append(parts, part{head + " hash=" + e.Ref.Short, e.Text})
		for k, c := range e.Calls {
			parts = append(parts, part{fmt.Sprintf("%s %s", mind.CallID(e.N, k+1), c.Tool), c.Args},
				part{fmt.Sprintf("%s %s hash=%s", mind.CallID(e.N, k+1), c.Status, c.Result.Short), c.Text})
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "what came into the life of %s, up to e%d. UNCOMPACT opens a hash.", s.Name, last)
	if from := len(parts) - reviewTexts; from > 0 { // the newest
		fmt.Fprintf(&b, " The first %d texts are left out.", from)
		parts = parts[from:]
	}
	left, share := reviewChars, 0
	order := slices.SortedFunc(slices.Values(parts), func(x, y part) int { return len(x.text) - len(y.text) })
	for i, p := range order { // what the short ones leave is for the long ones
		share = left / (len(order) - i)
		left -= min(share, utf8.RuneCountInString(p.text))
	}
	for _, p := range parts {
		whole := blobs.Unescape(strings.TrimSpace(p.text))
		shown := mind.CutRunes(whole, share)
		if len(shown) < len(whole) {
			shown += fmt.Sprintf("… (%d more characters)", utf8.RuneCountInString(whole[len(shown):]))
		}
		b.WriteString("\n" + p.head)
		if shown != "" {
			b.WriteString("\n  " + strings.ReplaceAll(shown, "\n", "\n  "))
		}
	}
	return b.String(), last
}
