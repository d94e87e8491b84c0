package agent

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
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

// ReviewRoom is the room in which the entries of an identity come to its reviewer. The
// lines are signed with the same name.
func ReviewRoom(name string) string { return "review-" + name }

const (
	reviewEntries = 10                // new ones that a review needs
	reviewEvery   = 450 * time.Second // at most
	reviewLooks   = 15                // at most, into the LIFE for each review
	reviewTexts   = 50                // that one review has
	reviewChars   = 8000              // of them all
)

// review is the source that wakes a reviewer.
type review struct {
	a      *Agent
	of     Identity
	looked time.Time // when its LIFE was last read
	size   int64     // which it had then
	news   bool      // it has grown since
	broken string    // why it cannot be read
}

func (r *review) by() string { return ReviewRoom(r.of.Name) }

func (r *review) next() time.Time {
	if !r.news {
		return time.Time{} // the watcher tells
	}
	every, last := r.a.cfg.reviewEvery, r.a.state.Fires[r.by()].Last
	if last.After(time.Now().Add(every)) { // by a clock that was wrong
		last = time.Time{}
	}
	at, look := last.Add(every), r.looked.Add(every/reviewLooks)
	if look.After(at) {
		return look
	}
	return at
}

func (r *review) due(now time.Time) ([]record, error) {
	fi, err := os.Stat(r.of.LIFE())
	r.news = err == nil && fi.Size() != r.size && slices.Contains(r.a.joined(), r.by())
	if !r.news || now.Before(r.next()) || r.a.state.Awaits(r.by()) > 0 {
		return nil, nil
	}
	r.looked, r.size, r.news = now, fi.Size(), false
	state, err := Fold(r.of, r.a.store)
	if err != nil {
		if r.broken != err.Error() {
			r.broken = err.Error()
			r.a.cfg.Log.Warn("what is to be reviewed cannot be read", "of", r.of.Name, "error", err)
		}
		return nil, nil
	}
	seen, _ := strconv.Atoi(strings.TrimPrefix(r.a.state.Fires[r.by()].Seen, "e")) // 0 at first
	text, last := reviewOf(state, seen)
	if last-seen < reviewEntries {
		return nil, nil
	}
	return []record{r.a.firing(event.Fired{By: r.by(), Seen: mind.EntryID(last)}, text, now, r.by())}, nil
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
			parts = append(parts, part{fmt.Sprintf("e%d..e%d have faded hash=%s", f.From, f.To, f.Original.Short), blobs.Unescape(f.Original.Gist)})
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

// speaksIn returns the rooms that SAY reaches: those that are heard, and a reviewer's also
// where the one that it reviews is.
func (a *Agent) speaksIn() []string {
	rooms := a.joined()
	if a.cfg.Reviews.Self != "" {
		more, _ := chat.Rooms(a.cfg.Reviews.Subs()) // unreadable ones are not spoken in
		rooms = append(rooms, more...)
	}
	return rooms
}

// mayOpen reports whether the blobs of a life are open to the identity: its descendants',
// and that of the one it reviews.
func (a *Agent) mayOpen(self string) bool {
	return self != "" && self == a.cfg.Reviews.Self || slices.Contains(above(a.store, self), a.id.Self)
}

// readLines is chat.Read. /forget is a command also when the configured reviewer says it.
func (a *Agent) readLines(path string, at chat.Cursor, size int) (chat.Batch, error) {
	batch, err := chat.Read(path, at, size)
	if a.cfg.Reviewer == "" {
		return batch, err
	}
	for i := range batch.Lines {
		l := &batch.Lines[i]
		if !l.Agent || l.Name != a.cfg.Reviewer {
			continue
		}
		said := *l
		said.Agent = false
		if name, arg := chat.Command(said); name == "forget" {
			l.Command, l.Arg = name, arg
		}
	}
	return batch, err
}

// forget answers a /forget: which entries of the range are to fade, and what is said.
func (a *Agent) forget(l chat.Line) (asked event.Entries, say string) {
	may := append(slices.Clone(a.cfg.People), a.cfg.Reviewer)
	if !l.Agent && !slices.Contains(a.cfg.People, l.Name) {
		return asked, "Only these may tell me what to forget: " + strings.Trim(strings.Join(may, ", "), ", ") + "."
	}
	fmt.Sscanf(l.Arg, "e%d..e%d", &asked.From, &asked.To) // which is its form
	tokens, worth := compactor.Within(a.state, a.meter(), asked)
	switch {
	case tokens == 0:
		return event.Entries{}, fmt.Sprintf("Nothing in %s can fade: only whole turns that are still in my context, or finished steps of one.", l.Arg)
	case !worth:
		return event.Entries{}, fmt.Sprintf("%s holds some %d tokens, and a summary would have as many.", l.Arg, tokens)
	}
	return asked, fmt.Sprintf("I forget %s, some %d tokens; every original can still be opened.", l.Arg, tokens)
}
