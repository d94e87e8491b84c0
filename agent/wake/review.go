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

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

// A reviewer is an identity that reads what another one heard, did and said. That comes
// to it in a room of its own, which the other does not hear; what it remarks it says in
// the rooms of the other, without hearing them.

// ReviewSoul is the soul of a reviewer; {{name}} stands for the name of the identity that it reviews.
//
//go:embed reviewer.md
var ReviewSoul string

const (
	reviewEntries = 10                // a review needs so many new entries
	reviewEvery   = 450 * time.Second // between two reviews, at least
	reviewLooks   = 15                // looks into the LIFE for each review, at most
	reviewTexts   = 50                // texts in a review, at most
	reviewChars   = 400               // characters of a text, at most
)

// Review is the source that wakes a reviewer.
type Review struct {
	Config
	Of    home.Identity // that is reviewed
	Every time.Duration // at most; 0 takes the default

	looked time.Time // when its LIFE was last read
	size   int64     // of its LIFE then
}

// Due returns a review if enough has come into the life. Otherwise it returns the time of the next review, or of the
// next look for one.
func (r *Review) Due(v View) (commits []Commit, next time.Time, err error) {
	by := home.ReviewRoom(r.Of.Name)
	fired := v.Fires[by]
	fi, err := os.Stat(r.Of.LIFE())
	if err != nil || fi.Size() == r.size {
		return nil, next, nil // the watcher reports more
	}
	answered := mind.Awaits(v.Wakes, by) == 0
	if !answered || !slices.Contains(v.Joined, by) {
		return nil, next, nil
	}
	every := cmp.Or(r.Every, reviewEvery)
	if fired.Last.Before(v.Now.Add(every)) { // otherwise a clock was wrong when it fired
		next = fired.Last.Add(every)
	}
	if look := r.looked.Add(every / reviewLooks); look.After(next) {
		next = look
	}
	if v.Now.Before(next) {
		return nil, next, nil
	}
	r.looked, r.size, next = v.Now, fi.Size(), time.Time{}
	state, err := home.Fold(r.Of, r.Store)
	if err != nil {
		r.Log.Warn("what is to be reviewed cannot be read", "of", r.Of.Name, "error", err)
		return nil, next, nil
	}
	if !state.Witnesses().MayRead(v.Audience) {
		r.Log.Warn("it may not be reviewed: those who read the reviewer may not read all that it hears", "of", r.Of.Name,
			"readers", v.Audience.String())
		return nil, next, nil
	}
	seen, _ := strconv.Atoi(strings.TrimPrefix(fired.Seen, "e")) // 0 at first
	text, last := reviewOf(state, seen)
	if last-seen >= reviewEntries {
		line := r.Fire(event.Fired{By: by, Seen: mind.EntryID(last)}, text, v.Now, by)
		commits = []Commit{{line}}
	}
	return commits, next, nil
}

// reviewOf renders what came into a life behind an entry, for its reviewer: the head of
// each text, with the hash that opens all of it. last is the newest entry that is
// complete.
func reviewOf(s *mind.State, seen int) (text string, last int) {
	var parts []string
	add := func(head, text string) {
		whole := blobs.Unescape(strings.TrimSpace(text))
		shown := mind.CutRunes(whole, reviewChars)
		if len(shown) < len(whole) {
			shown += fmt.Sprintf("… (%d more characters)", utf8.RuneCountInString(whole[len(shown):]))
		}
		parts = append(parts, strings.TrimSpace(head+"\n  "+strings.ReplaceAll(shown, "\n", "\n  ")))
	}
	for _, f := range s.Faded {
		if f.To > seen {
			last = max(last, f.To)
			add(fmt.Sprintf("e%d..e%d have faded hash=%s", f.From, f.To, f.Original.Short), f.Original.Gist)
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
		add(head+" hash="+e.Ref.Short, e.Text)
		for k, c := range e.Calls {
			id := mind.CallID(e.N, k+1)
			add(id+" "+c.Tool, c.Args)
			add(fmt.Sprintf("%s %s hash=%s", id, c.Status, c.Result.Short), c.Text)
		}
	}
	text = fmt.Sprintf("what came into the life of %s, up to e%d. UNCOMPACT opens a hash.", s.Name, last)
	if from := len(parts) - reviewTexts; from > 0 { // the newest
		text += fmt.Sprintf(" The first %d texts are left out.", from)
		parts = parts[from:]
	}
	return text + "\n" + strings.Join(parts, "\n"), last
}
