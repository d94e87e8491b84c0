package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/home"
	"lethe/internal/status"
	"lethe/llm"
	"lethe/mind"
	"lethe/recall"
	"lethe/recall/hint"
	"lethe/tools"
	"lethe/wake"
)

// aside is all that tools which run beside the loop have of the identity: what never changes, and a copy of the rest.
type aside struct {
	home     home.Home
	id       home.Identity
	store    *blobs.Store
	owns     func(blobs.Blob) bool
	reviews  string      // the identity that this one reviews
	triggers wake.Config // checks triggers
	index    *recall.Keeper
	now      atomic.Pointer[known]
}

// known is the state as it was when a call began. Nobody changes it.
type known struct {
	joined, company []string
	work            string // the room where a child's work comes from
	granted         map[string]bool
	spoken          bool // a user has, in this turn
	fires           []status.Trigger
	summaries       map[blobs.Hash]bool // originals whose summaries the prompt shows
	overtaken       map[string]int
	page            int // what a page of an original may weigh
}

func (a *Agent) newAside() *aside {
	life := mind.State{Self: a.state.Self, Ancestors: slices.Clone(a.state.Ancestors)}
	b := &aside{home: a.cfg.Home, id: a.id, store: a.store, owns: life.Owns, reviews: a.cfg.Reviews.Self}
	b.now.Store(&known{})
	return b
}

// known copies what a call may know.
func (a *Agent) known() *known {
	k := &known{
		joined: a.joined(), company: a.company(), granted: maps.Clone(a.state.Grants), spoken: a.state.Spoken,
		fires: a.triggers.Status(), summaries: map[blobs.Hash]bool{}, overtaken: maps.Clone(a.state.Overtaken),
		page: max(minPage, min(a.estimate.Chars(a.window().Page()), a.call.share)),
	}
	if t := a.state.Task; t != nil {
		k.work = t.Room
	}
	for _, r := range a.state.Faded {
		k.summaries[r.Original.Hash] = r.Level == mind.Summary
	}
	return k
}

// Joined lists the rooms that can be read.
func (b *aside) Joined() []string { return b.now.Load().joined }

// Join links the room; that is what makes it heard.
func (b *aside) Join(room string) (string, error) {
	if slices.Contains(b.Joined(), room) {
		return fmt.Sprintf("You hear room %s already.", room), nil
	}
	if err := b.home.Subscribe(b.id, room); err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"Joined room %s. What was said there comes as the next entries; SAY there from your next reply on.",
		room,
	), nil
}

// Leave removes the link.
func (b *aside) Leave(room string) error {
	if !slices.Contains(b.Joined(), room) {
		return fmt.Errorf("you are not in room %s (you are in %v)", room, b.Joined())
	}
	if room == b.now.Load().work {
		return errors.New("it is where your work comes from")
	}
	return chat.Unsubscribe(b.id.Subs(), room)
}

func (b *aside) times() string { return wake.Times(b.now.Load().fires, b.triggers.Zone) }

func (b *aside) checkTrigger(name, content string) (remark string, err error) {
	k := b.now.Load()
	return b.triggers.Check(wake.View{Company: k.company}, k.spoken, name, content)
}

// minPage is how many weighted characters a page shows at least, of however many
// that are asked for at once.
const minPage = 200

// searchTime bounds a search by the agent itself.
const searchTime = 5 * time.Second

// Received opens a ref.
func (b *aside) Received(hash string) (gist string, body []byte, err error) {
	text, _, err := b.blobOf(hash)
	return text.Gist, text.Body, err
}

// Open opens an original.
func (b *aside) Open(ref string) (tools.Original, error) {
	text, short, err := b.blobOf(ref)
	if err != nil {
		return tools.Original{}, err
	}
	list, said := recall.Contents(string(text.Body))
	k := b.now.Load()
	o := tools.Original{
		Hash: short, Address: text.Hash.String(), Gist: text.Gist, Time: "said " + said, Summary: text.Summary,
		Contents: list, Body: text.Body, Most: k.page,
	}
	if said == "" {
		o.Time = "of " + text.At.Format("2006-01-02 15:04")
	}
	if k.summaries[text.Hash] {
		o.Summary = ""
	}
	return o, nil
}

// weightOf is what a text weighs as the result of a call.
func weightOf(text string) int { return llm.Weight(mind.Result([]byte(text))) }

// blobOf returns the blob behind a ref, or behind its hash alone, if it is one of the
// life's own, was granted, or is one of a life that the identity may look into.
func (b *aside) blobOf(ref string) (found blobs.Blob, short string, err error) {
	short = strings.TrimSpace(ref)
	if refs := blobs.ParseRefs(short); len(refs) == 1 {
		short = refs[0].Hash
	}
	short = strings.TrimPrefix(short, "hash=")
	h, err := b.store.Resolve(short)
	if err == nil {
		found, err = b.store.Get(h)
	}
	if err == nil && !b.owns(found) && !b.now.Load().granted[h.String()] && !b.mayOpen(found.Life) {
		return blobs.Blob{}, short, fmt.Errorf("resolve %q: no such blob", short)
	}
	return found, short, err
}

// mayOpen reports whether the blobs of a life are open to the identity: its descendants',
// and that of the one it reviews.
func (b *aside) mayOpen(self string) bool {
	return self != "" && self == b.reviews || slices.Contains(home.Ancestry(b.store, self), b.id.Self)
}

// Search looks for what has faded.
func (b *aside) Search(ctx context.Context, query string, limit int) (matches []tools.Match, remark string, err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	k := b.now.Load()
	var lost atomic.Int32 // a search that has timed out may go on counting
	var absent []string   // read when the search has ended
	hits, err := b.index.Ask(ctx, func(x *recall.Index) ([]recall.Hit, error) {
		return x.Search(ctx, b.store, recall.Query{Text: query, Limit: limit, Now: time.Now(),
			Lost: func(blobs.Hash, error) { lost.Add(1) }, Absent: func(words []string) { absent = words }})
	})
	if errors.Is(err, recall.ErrEmpty) {
		err = tools.ErrNoWords
	}
	if b.index.Behind() {
		remark = " The index is still being made: not all that has faded is in it yet."
	}
	if n := lost.Load(); n > 0 {
		remark += fmt.Sprintf(
			" %d that may match cannot be read: their blobs are missing or damaged. The log says which; tell a person.",
			n,
		)
	}
	if err == nil && len(absent) > 0 && len(hits) > 0 {
		remark += " In no original: " + strings.Join(absent, ", ") + "."
	}
	recall.NewerFirst(hits, k.overtaken)
	for _, h := range hits {
		where := ""
		if len(h.Rooms) > 0 {
			where = "room=" + strings.Join(h.Rooms, ",")
		}
		if len(h.Tools) > 0 {
			where += " tool=" + strings.Join(h.Tools, ",")
		}
		matches = append(
			matches,
			tools.Match{Listing: hint.Listing(b.store, h), Where: blobs.Gist(where), Offset: h.Offset, Passage: h.Shown()},
		)
	}
	return matches, remark, err
}
