// Package lookup gives the tools that run beside the loop a view of an identity: what never changes, and a copy of the
// rest from the moment when a call began. It also picks what an identity may be reminded of.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/internal/picture"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/audience"
)

// View shows an identity to its tools. The loop calls Know before each call, and nothing else while one runs.
type View struct {
	wake.Config // checks triggers
	Owns        func(blobs.Blob) bool
	Reviews     string         // the identity that this one reviews
	Index       *recall.Keeper // nil while the identity does not run
	now         atomic.Pointer[Known]
}

// Known is the state at the beginning of a call. Nobody changes it.
type Known struct {
	Rooms, Company []string // that are heard; own rooms are no child's
	Work           string   // the room where a child's work comes from
	Audience       audience.Readers
	Granted        map[string]bool
	Spoken         bool                // a user has, in this turn
	Summaries      map[blobs.Hash]bool // originals whose summaries the prompt shows
	Overtaken      mind.Overtaken
	mind.Inheritance
	Page int // what a page of an original may weigh
}

// Know takes what the call that begins may know.
func (b *View) Know(k Known) { b.now.Store(&k) }

// Joined lists the rooms that can be read.
func (b *View) Joined() []string { return b.now.Load().Rooms }

// Join links the room, and so the identity hears it.
func (b *View) Join(room string) (string, error) {
	if slices.Contains(b.Joined(), room) {
		return fmt.Sprintf("You hear room %s already.", room), nil
	}
	if _, err := os.Stat(b.Home.Room(room)); err != nil && b.Home.Apart() { // nobody may learn which rooms there are
		return "", b.Identity.Refused(room)
	}
	if err := b.Home.Subscribe(b.Identity, room); err != nil {
		return "", err
	}
	return fmt.Sprintf(
		"Joined room %s. What was said there comes as the next entries; SAY there from your next reply on.",
		room,
	), nil
}

// Leave removes the link.
func (b *View) Leave(room string) error {
	if !slices.Contains(b.Joined(), room) {
		return fmt.Errorf("you are not in room %s (you are in %v)", room, b.Joined())
	}
	if room == b.now.Load().Work {
		return errors.New("it is where your work comes from")
	}
	return chat.Unsubscribe(b.Identity.Subs(), room)
}

// CheckTrigger describes the effect of a trigger that the identity writes. An error says why it may not.
func (b *View) CheckTrigger(name, content string) (remark string, err error) {
	k := b.now.Load()
	return b.Check(k.Company, k.Spoken, name, content)
}

// searchTime bounds a search by the agent itself.
const searchTime = 5 * time.Second

// Open opens an original.
func (b *View) Open(ref string) (tools.Original, error) {
	text, short, err := b.Blob(ref)
	if err != nil {
		return tools.Original{}, err
	}
	list, said := recall.Contents(string(text.Body))
	k := b.now.Load()
	o := tools.Original{
		Hash: short, Address: text.Hash.String(), Gist: text.Gist, Time: "said " + said, Summary: text.Summary,
		Contents: list, Body: text.Body, Most: k.Page,
	}
	switch {
	case text.At.Unix() == 0:
		o.Time = "as it was put before you"
	case said == "":
		o.Time = "of " + text.At.Format("2006-01-02 15:04")
	}
	if k.Summaries[text.Hash] {
		o.Summary = ""
	}
	return o, nil
}

// Blob returns the blob behind a ref, or behind its hash alone, if it is one of the
// life's own, was granted, or is one of a life that the identity may look into.
func (b *View) Blob(ref string) (found blobs.Blob, short string, err error) {
	short = strings.TrimSpace(ref)
	if refs := blobs.ParseRefs(short); len(refs) == 1 {
		short = refs[0].Hash
	}
	short = strings.TrimPrefix(short, "hash=")
	found, err = b.Store.Find(short)
	if err != nil {
		return found, short, err
	}
	isGiven := b.Owns(found) || b.now.Load().Granted[found.Hash.String()]
	isOpen := isGiven || b.mayOpen(found.Life) && b.Home.MayRead(found, b.now.Load().Audience)
	if !isOpen {
		return blobs.Blob{}, short, fmt.Errorf("resolve %q: no such blob", short)
	}
	return found, short, nil
}

// Recording finds the first audio file that was heard since the last reply and has no note. gist is the gist of the
// note to be written; "" without such a file.
func (b *View) Recording(live []*mind.Entry) (gist string, body []byte) {
	told := map[string]bool{}
	for _, e := range slices.Backward(live) {
		if e.Kind == mind.Reply {
			break
		}
		told[e.Ref.Gist] = true
		if e.Kind != mind.Inbound {
			continue
		}
		for _, short := range blobs.Mentions(e.Text) {
			r, _, err := b.Blob(short)
			note := "what hash=" + short + " says"
			sounds := strings.Contains(r.Gist, " (audio/") // as all bridges say
			isNew := sounds && !told[note]
			if err == nil && isNew {
				gist, body = note, r.Body
			}
		}
	}
	return gist, body
}

// mayOpen reports whether the identity may open the blobs of a life: of a descendant, or of the identity it reviews.
func (b *View) mayOpen(self string) bool {
	isReviewed := self != "" && self == b.Reviews
	return isReviewed || slices.Contains(home.Ancestry(b.Store, self), b.Identity.Self)
}

// Search looks through the faded entries.
func (b *View) Search(ctx context.Context, query string, limit int) (matches []tools.Match, remark string, err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	k := b.now.Load()
	found, err := b.Index.Ask(ctx, func(x *recall.Index) (recall.Found, error) {
		return x.Search(ctx, b.Store, recall.Query{Text: query, Limit: limit, Now: time.Now().In(b.Tools.Zone)})
	})
	if errors.Is(err, recall.ErrEmpty) {
		err = tools.ErrNoWords
	}
	if b.Index.Behind() {
		remark = " The index is still being made: not all that has faded is in it yet."
	}
	if found.Lost > 0 {
		remark += fmt.Sprintf(
			" %d that may match cannot be read: their blobs are missing or damaged. The log says which; tell a person.",
			found.Lost,
		)
	}
	someAreAbsent := len(found.Hits) > 0 && len(found.Absent) > 0
	if err == nil && someAreAbsent {
		remark += " No original shows in its first 4 MB: " + strings.Join(found.Absent, ", ") + "."
	}
	if len(found.Near) > 0 {
		remark += " Looked for as well: " + strings.Join(found.Near, "; ") + "."
	}
	recall.Retell(b.Store, found.Hits, k.Adopted)
	recall.NewerFirst(found.Hits, k.Overtaken)
	MarkChanged(ctx, b.Tools, b.Store, found.Hits)
	for _, h := range found.Hits {
		where := ""
		if len(h.Rooms) > 0 {
			where = "room=" + strings.Join(h.Rooms, ",")
		}
		if len(h.Tools) > 0 {
			where += " tool=" + strings.Join(h.Tools, ",")
		}
		matches = append(
			matches,
			tools.Match{
				Listing: Listing(b.Store, h), Where: fmt.Sprintf("%s offset=%d", blobs.Gist(where), h.Offset), Passage: h.Shown(),
			},
		)
	}
	return append(matches, b.saidInGroups(query, (limit+1)/2)...), remark, err
}

// Bounds of what is looked at and shown of a group.
const (
	groupLines = 10_000 // the newest
	groupShare = 0.25   // of the words of a query; they hold synonyms
)

// saidInGroups finds the lines that say most of a query in the rooms that everybody in the audience may read now, and
// others, too. They are read where they lie. Of equals the newest come first.
func (b *View) saidInGroups(query string, most int) []tools.Match {
	of := b.now.Load().Audience
	var matches []tools.Match
	worth := map[string]float64{}
	for _, room := range b.Home.ClosedTo(nil) {
		readers := b.Home.Readers(room)
		if !readers.MayRead(of) || of.MayRead(readers) {
			continue
		}
		lines, _ := chat.Before(b.Home.Room(room), -1, groupLines) // without them there is no match
		for _, line := range slices.Backward(lines) {
			if share := recall.Share(query, line.Text); share > groupShare {
				worth[string(line.Raw)] = share
				matches = append(matches, tools.Match{Listing: "said in", Where: "room=" + room, Passage: string(line.Raw)})
			}
		}
	}
	sort.SliceStable(matches, func(i, j int) bool { return worth[matches[i].Passage] > worth[matches[j].Passage] })
	return matches[:min(most, len(matches))]
}

// maxImages bounds the pictures of one line that are shown.
const maxImages = 8

// Named finds the blobs of other lives that users name, and files of agents that their senders name: naming one gives
// the identity the right to open it, unless somebody in its audience may not read that. It returns at most so many
// pictures that the identity may open.
func Named(
	of home.Home, store *blobs.Store, s *mind.State, lines []chat.Line, most int,
) (granted []event.Grant, images []string) {
	told := map[string]bool{} // whether it may open texts of another life
	mayRead := func(b blobs.Blob) bool {
		if _, known := told[b.Life]; b.Life == "" || !known {
			told[b.Life] = of.MayRead(b, s.Readers)
		}
		return told[b.Life]
	}
	for _, l := range lines {
		bound := min(most, len(images)+maxImages)
		for _, short := range blobs.Mentions(l.Text) {
			b, err := store.Find(short)
			address := b.Hash.String()
			known := s.Grants[address] || s.Owns(b)
			f, _ := blobs.ParseFile(b.Gist)
			mayName := !l.Agent || known || f.From == l.Name
			if err != nil || !mayName {
				continue
			}
			if !known && !mayRead(b) {
				continue
			}
			if !known {
				granted = append(granted, event.Grant{Hash: address, By: l.Name})
			}
			if len(images) < bound {
				images = append(images, picture.Named(address, b.Body)...)
			}
		}
	}
	return granted, images
}
