package erase

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// finder looks through a home.
type finder struct {
	home  home.Home
	store *blobs.Store
	id    home.Identity
	req   Request
	names map[string]string // of identities

	// Of LIFE. An address is known by its digits.
	events []life.Event
	kinds  map[string]string      // the kind of event that first named a blob
	stated map[string]string      // tombstones that LIFE tells of, by whole address
	heard  map[string]bool        // rooms
	taken  map[blobs.Hash]bool    // blobs that the life refers to, of a fork
	erased map[int64]life.Erasure // lines

	// Marks: a text goes that an expression or its group matches.
	patterns []*regexp.Regexp
	rooms    map[string][]span // ranges
	gists    map[string]bool   // blobs whose gists go
	entries  []int             // texts that were made of these go, too

	treatments []treatment
	places     map[Place]int
	anew       []home.ErasedFile
	plan       home.ErasePlan
}

func newFinder(place home.Home, store *blobs.Store, id home.Identity, request Request) *finder {
	f := &finder{
		treatments: treatments(),
		home:       place, store: store, id: id, req: request, names: map[string]string{}, places: map[Place]int{},
		kinds: map[string]string{}, stated: map[string]string{}, heard: map[string]bool{}, taken: map[blobs.Hash]bool{},
		rooms: map[string][]span{}, gists: map[string]bool{},
		plan: home.ErasePlan{At: time.Now().UTC().Truncate(time.Microsecond)},
	}
	all, _ := place.List() // without it, hashes have to do
	for _, other := range all {
		f.names[other.Self] = other.Name
	}
	return f
}

// digits returns the beginning of an address that every ref shows.
func digits(address string) string { return address[:min(12, len(address))] }

func (f *finder) readLife() error {
	err := life.Scan(f.id.LIFE(), func(line life.Event, _ int64) error {
		for _, ref := range line.Refs {
			f.kinds[digits(ref.Hash)] = cmp.Or(f.kinds[digits(ref.Hash)], line.Kind)
		}
		for _, field := range line.Fields {
			if field.Key == "room" || field.Key == "post" {
				room, _, _ := strings.Cut(field.Value, "@")
				f.heard[room] = true
			}
		}
		parsed, err := event.Parse(line)
		switch parsed := parsed.(type) {
		case event.Erased:
			for _, buried := range parsed.Blobs {
				f.stated[buried.Address] = buried.Tombstone
			}
		case event.Boot:
			if parsed.Fork.Self != "" {
				verdict, err := check.Verify(f.id, f.store, check.VerifyOptions{})
				for _, reached := range verdict.Reach.Found {
					f.taken[reached] = true
				}
				if err != nil {
					return err
				}
				return verdict.Reach.Unknown
			}
		}
		f.events = append(f.events, line)
		return err
	})
	if err == nil {
		f.erased, err = life.ReadErased(f.id.LIFE())
	}
	return err
}

// prepare marks the texts that the request means.
func (f *finder) prepare() error {
	switch {
	case f.req.Text != "":
		length := utf8.RuneCountInString(strings.TrimSpace(f.req.Text))
		fits := MinText <= length && length <= MaxText
		if !fits || !utf8.ValidString(f.req.Text) {
			return fmt.Errorf("%w: a text has %d to %d characters of UTF-8", ErrText, MinText, MaxText)
		}
		return f.also(f.req.Text)
	case f.req.Person != "":
		f.patterns = saidBy(f.req.Person)
		if f.said(); !f.req.Derived {
			return nil
		}
	case f.req.Ref.String() == f.id.Self:
		return ErrSoul
	default:
		if err := f.target(); err != nil {
			return err
		}
	}
	return f.derive()
}

// also marks a text, too.
func (f *finder) also(text string) error {
	re, err := literal(text)
	f.patterns = append(f.patterns, re)
	return err
}

// said marks the gists and entries of lines that the life heard from the person. It passes over lost lines.
func (f *finder) said() {
	for _, line := range f.events {
		in, ok := event.As[event.Inbound](line)
		if !ok {
			continue
		}
		if stored, err := f.store.Find(line.Refs[0].Hash); err == nil && len(find(stored.Body, f.patterns)) > 0 {
			f.entries, f.gists[digits(line.Refs[0].Hash)] = append(f.entries, in.N), true
		}
	}
}

// target marks the text of a ref, its gist, the sections of originals that show it, and its lines in rooms.
func (f *finder) target() error {
	address := f.req.Ref.String()
	if f.kinds[digits(address)] == life.Epoch {
		return fmt.Errorf("%w: %s is a snapshot of the mind, and not something said or done", ErrText, address)
	}
	f.gists[digits(address)] = true
	var heads []string
	var replies []int
	for _, line := range f.events {
		entry, _, _ := mind.ParseID(line.Arg(0))
		head := regexp.QuoteMeta(line.Arg(0)) + " " + line.Kind
		parsed, _ := event.Parse(line)
		if e, ok := parsed.(event.Posted); ok && slices.Contains(replies, entry) {
			f.line(e.Passage)
		}
		if !slices.ContainsFunc(line.Refs, func(r blobs.Ref) bool { return strings.HasPrefix(address, r.Hash) }) {
			continue
		}
		switch e := parsed.(type) {
		case event.Inbound:
			f.line(e.Passage)
		case event.Reply:
			replies, head = append(replies, entry), mind.EntryID(entry)+`(?: reply|\.\d+ call)`
		case event.Result, event.Note:
		default:
			continue
		}
		f.entries, heads = append(f.entries, entry), append(heads, head)
	}
	if len(heads) > 0 {
		f.patterns = append(f.patterns, sectionOf(heads))
	}
	return nil
}

// line marks a line of a room, if it still stands at its place. If a person has changed the room since, its place is
// unknown, and the text that stands there now stays.
func (f *finder) line(passage event.Passage) {
	path := chat.Path(f.home.Dir, passage.Room)
	if passage.Before != "" && !(chat.Cursor{Offset: passage.At.To, Before: passage.Before}).Holds(path) {
		f.count("chats/"+filepath.Base(path), Unread, 1)
		return
	}
	f.rooms[passage.Room] = append(f.rooms[passage.Room], span{int(passage.At.From), int(passage.At.To)})
}

// derive marks the texts that were made of the entries: gists, summaries, pins.
func (f *finder) derive() error {
	for _, line := range f.events {
		fade, ok := event.As[event.Fade](line)
		within := func(n int) bool { return fade.Entries.From <= n && n <= fade.Entries.To }
		if !ok || fade.To == mind.Card {
			continue
		}
		if !slices.ContainsFunc(f.entries, within) {
			continue
		}
		f.patterns = append(f.patterns, pinsOf(fade.Entries)...)
		for i, ref := range line.Refs {
			stored, err := f.store.Find(ref.Hash)
			if err != nil && i > 0 {
				return err
			}
			f.gists[digits(ref.Hash)] = true
			summary := stored.Summary
			if i > 0 {
				summary = string(stored.Body)
			}
			if summary = strings.TrimSpace(summary); len(summary) >= MinText {
				err = f.also(summary)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the spans that patterns match in data.
func find(data []byte, patterns []*regexp.Regexp) (out []span) {
	for _, re := range patterns {
		for _, match := range re.FindAllSubmatchIndex(data, -1) {
			if hit := (span{match[2*re.NumSubexp()], match[2*re.NumSubexp()+1]}); hit.from < hit.to {
				out = append(out, hit)
			}
		}
	}
	return out
}

// found is find, with the gists of marked blobs.
func (f *finder) found(data []byte) []span {
	out := find(data, f.patterns)
	for _, re := range refs {
		if len(f.gists) == 0 {
			break
		}
		for _, match := range re().FindAllSubmatchIndex(data, -1) {
			if f.gists[digits(string(data[match[2]:match[3]]))] {
				out = append(out, span{match[4], match[5]})
			}
		}
	}
	return out
}

// blob decides the fate of a stored text, and returns the spans that go.
func (f *finder) blob(doc *document, found []span) []span {
	hash, err := blobs.ParseHash(strings.ReplaceAll(strings.TrimPrefix(doc.Path, "blobs/"), "/", ""))
	if err != nil { // a crash left it
		doc.of(f, "")
		return found
	}
	stored, err := blobs.Decode(doc.data)
	sum, tomb := blobs.Sum(doc.data), stored.Gone != nil && stored.Gone.Of == hash
	isNamed := sum == hash || tomb
	if err != nil || !isNamed { // damage
		doc.how = Left
		return found
	}
	owner := cmp.Or(stored.Life, hash.String())
	isOurs := owner == f.id.Self || f.taken[hash]
	isOwnerless := f.req.Ownerless && f.names[owner] == ""
	if !isOurs && !isOwnerless {
		doc.of(f, owner)
		return found
	}
	if tomb && f.stated[hash.String()] != sum.String() { // another life had it erased
		f.plan.Blobs = append(f.plan.Blobs, event.Buried{Address: hash.String(), Tombstone: sum.String()})
		f.count("blobs, erased by another life", Erased, 1)
	}
	named := cmp.Or(f.kinds[digits(hash.String())], "text")
	doc.head, doc.Of, doc.kind, doc.what = len(doc.data)-len(stored.Body), hash.String(), raw, "blobs: "+named
	if named == life.Epoch || named == "asked" {
		doc.kind = state
	} else if _, _, err := mind.AnswerParts(stored.Body); err == nil {
		doc.kind = reply
	}
	if hash == f.req.Ref {
		found = append(found, span{doc.head, len(doc.data)})
	}
	if f.gists[digits(hash.String())] {
		found = append(found, groups(inHead(), doc.data[:doc.head], 0)...)
	}
	if hash.String() == f.id.Self {
		doc.how = soul
	}
	return found
}

// cut plans the cuts in a file.
func (f *finder) cut(doc *document, found []span) error {
	kept := doc.cuts(found)
	f.count(doc.what, Erased, len(found)-kept)
	f.count(noText, Kept, kept)
	if len(doc.Cuts) == 0 {
		return nil
	}
	after := bytes.Clone(doc.data)
	doc.Sum = doc.Mask(after)
	err := doc.readable(after)
	if err == nil && doc.Of != "" {
		var tomb []byte
		tomb, err = home.Tombstone(doc.Of, f.plan.At, after)
		f.plan.Blobs = slices.DeleteFunc(f.plan.Blobs, func(buried event.Buried) bool { return buried.Address == doc.Of })
		f.plan.Blobs = append(f.plan.Blobs, event.Buried{Address: doc.Of, Tombstone: blobs.Sum(tomb).String()})
	}
	if err != nil {
		return fmt.Errorf("%w: %s could not be read any more (%w)", ErrText, doc.Path, err)
	}
	f.plan.Files = append(f.plan.Files, doc.ErasedFile)
	if doc.kind == log {
		f.lines(doc.data, after)
	}
	return nil
}

// lines plans the lines of LIFE that change, with their leaves as they were at first and will be.
func (f *finder) lines(data, after []byte) {
	at := int64(0)
	for line := range bytes.Lines(data) {
		now := after[at : at+int64(len(line))]
		if !bytes.Equal(line, now) {
			erasure, before := f.erased[at]
			if !before {
				erasure.Before = life.Leaf(string(line))
			}
			erasure.Now = life.Leaf(string(now))
			line := event.ErasedLine{Offset: at, Leaf: fmt.Sprintf("%x", erasure.Before), Now: fmt.Sprintf("%x", erasure.Now)}
			f.plan.Lines = append(f.plan.Lines, line)
		}
		at += int64(len(line))
	}
}
