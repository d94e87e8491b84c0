package erase

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/check"
	"lethe/home"
	"lethe/internal/redact"
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

	// Of LIFE.
	events []recorded
	kinds  map[string]string      // by the beginning of an address, the kind of event that first named it
	stated map[string]string      // tombstones that LIFE tells of, by address
	heard  map[string]bool        // rooms
	taken  map[blobs.Hash]bool    // blobs that the life refers to, of a fork
	erased map[int64]life.Erasure // lines

	// What to look for.
	patterns []pattern
	rooms    map[string][]span     // ranges
	whole    map[blobs.Hash]bool   // blobs of which all text goes
	summed   map[blobs.Hash]bool   // originals whose summary goes
	gists    map[string]blobs.Hash // whose gists go, by the first twelve digits

	places map[Place]int
	plan   redact.Plan
}

// recorded is a line of LIFE that a reference to a text depends on.
type recorded struct {
	event event.Event
	refs  []blobs.Ref
}

// shortest is the fewest digits of an address that a ref shows.
const shortest = 12

func (f *finder) readLife() error {
	err := life.Scan(f.id.LIFE(), func(e life.Event, _ int64) error {
		for _, r := range e.Refs {
			f.kinds[r.Hash] = cmp.Or(f.kinds[r.Hash], e.Kind)
		}
		for _, field := range e.Fields {
			if field.Key == "room" || field.Key == "post" {
				room, _, _ := strings.Cut(field.Value, "@")
				f.heard[room] = true
			}
		}
		switch parsed, err := event.Parse(e); parsed := parsed.(type) {
		case event.Erased:
			for _, b := range parsed.Blobs {
				f.stated[b.Address] = b.Tombstone
			}
		case event.Boot:
			if parsed.Fork.Self != "" {
				v, err := check.Verify(f.id, f.store, check.VerifyOptions{})
				for _, h := range v.Reached {
					f.taken[h] = true
				}
				return cmp.Or(err, v.Unknown)
			}
		case event.Inbound, event.Reply, event.Result, event.Note, event.Hint, event.Posted, event.Fade:
			f.events = append(f.events, recorded{parsed, e.Refs})
		default:
			return err
		}
		return nil
	})
	if err == nil {
		f.erased, err = life.ReadErased(f.id.LIFE())
	}
	return err
}

// kindOf is the kind of event that names a blob.
func (f *finder) kindOf(h blobs.Hash) string {
	for digits, n := h.String(), shortest; n <= len(digits); n++ {
		if kind := f.kinds[digits[:n]]; kind != "" {
			return kind
		}
	}
	return "text"
}

// target has go with the text of a ref: its gist, the sections of originals that show it, its lines in rooms.
func (f *finder) target() error {
	h := f.req.Ref
	if kind := f.kindOf(h); kind == life.Epoch {
		return fmt.Errorf("%w: %s is a snapshot of the mind, and not something said or done", ErrText, h)
	}
	f.whole[h] = true
	f.gists[h.String()[:shortest]] = h
	var heads, ids []string
	for _, t := range f.events {
		if e, ok := t.event.(event.Posted); ok {
			id, _, _ := strings.Cut(e.ID, ".")
			if slices.Contains(ids, id) {
				f.rooms[e.Room] = append(f.rooms[e.Room], span{int(e.At.From), int(e.At.To)})
			}
		}
		if !slices.ContainsFunc(t.refs, func(r blobs.Ref) bool { return strings.HasPrefix(h.String(), r.Hash) }) {
			continue
		}
		switch e := t.event.(type) {
		case event.Inbound:
			heads = append(heads, mind.EntryID(e.N)+" inbound")
			f.rooms[e.Room] = append(f.rooms[e.Room], span{int(e.At.From), int(e.At.To)})
		case event.Reply:
			id := mind.EntryID(e.N)
			ids = append(ids, id)
			heads = append(heads, id+" reply", id+`\.\d+ call`)
		case event.Result:
			heads = append(heads, regexp.QuoteMeta(e.ID)+" result")
		case event.Note:
			heads = append(heads, mind.EntryID(e.N)+" note")
		}
	}
	if len(heads) > 0 {
		f.patterns = append(f.patterns, sectionOf(heads...))
	}
	return nil
}

// derive adds what was made of the blobs in which something goes: their gists and, where asked for, the
// summaries of originals among them.
func (f *finder) derive() error {
	touched := map[string]blobs.Hash{}
	err := f.store.Each(func(h blobs.Hash) error {
		b, err := f.store.Get(h)
		if err != nil || !f.ours(h, b.Meta) {
			return nil // damage is met again
		}
		if f.whole[h] || len(find(b.Body, f.patterns)) > 0 {
			touched[h.String()[:shortest]] = h
			if f.kindOf(h) == "inbound" {
				f.gists[h.String()[:shortest]] = h
			}
		}
		return nil
	})
	if err != nil || f.req.Person != "" && !f.req.Derived {
		return err
	}
	for _, t := range f.events {
		e, ok := t.event.(event.Fade)
		if !ok || len(t.refs) == 0 || len(t.refs[0].Hash) < shortest {
			continue
		}
		h, ok := touched[t.refs[0].Hash[:shortest]]
		if !ok || e.To == mind.Card {
			continue
		}
		f.gists[h.String()[:shortest]], f.summed[h] = h, true
		f.patterns = append(f.patterns, pinsOf(e.Entries)...)
		if e.To != mind.Summary || len(t.refs) < 2 {
			continue
		}
		made, err := f.store.Resolve(t.refs[1].Hash)
		if err != nil {
			return err
		}
		b, err := f.store.Get(made)
		if err != nil {
			return err
		}
		f.gists[made.String()[:shortest]], f.whole[made] = made, true
		if len(b.Body) >= MinText && len(b.Body) <= MaxText {
			if err := f.alsoText(string(b.Body)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours reports whether a blob belongs to the life, or to one that it is a fork of.
func (f *finder) ours(h blobs.Hash, m blobs.Meta) bool {
	return m.Life == f.id.Self || h.String() == f.id.Self || f.taken[h]
}

// find returns what patterns match in data.
func find(data []byte, patterns []pattern) (out []span) {
	for _, p := range patterns {
		for _, m := range p.re.FindAllSubmatchIndex(data, -1) {
			if s := (span{m[2*p.group], m[2*p.group+1]}); s.from < s.to {
				out = append(out, s)
			}
		}
	}
	return out
}

// found is find, with the gists of marked blobs.
func (f *finder) found(data []byte) []span {
	out := find(data, f.patterns)
	if len(f.gists) == 0 {
		return out
	}
	for _, re := range refs {
		for _, m := range re().FindAllSubmatchIndex(data, -1) {
			digits := string(data[m[2]:m[3]])
			if h, ok := f.gists[digits[:shortest]]; ok && strings.HasPrefix(h.String(), digits) && m[4] < m[5] {
				out = append(out, span{m[4], m[5]})
			}
		}
	}
	return out
}

// blob looks into a blob.
func (f *finder) blob(rel string, data []byte) error {
	h, err := blobs.ParseHash(strings.ReplaceAll(strings.TrimPrefix(rel, "blobs/"), "/", ""))
	m, body, derr := blobs.Decode(data)
	t, _, _, terr := blobs.DecodeTombstone(data)
	sum := blobs.Sum(data)
	tomb := terr == nil && t.Of == h
	named, kind := f.kindOf(h), raw
	owner, n := cmp.Or(m.Life, h.String()), len(find(data, f.patterns))
	switch {
	case err != nil: // what a crash left
		if f.other("", n); f.req.Ownerless && n > 0 {
			f.plan.Files = append(f.plan.Files, redact.File{Path: rel, Remove: true})
		}
		return nil
	case derr != nil || sum != h && !tomb: // damage
		f.count(rel, Left, n)
		return nil
	case !f.ours(h, m) && !(f.req.Ownerless && f.names[owner] == ""):
		f.other(owner, n)
		return nil
	}
	if tomb && f.stated[h.String()] != sum.String() { // another life had it erased
		f.plan.Blobs = append(f.plan.Blobs, event.Buried{Address: h.String(), Tombstone: sum.String()})
		f.count("blobs, erased by another life", Erased, 1)
	}
	if _, _, err := mind.AnswerParts(body); err == nil {
		kind = reply
	}
	if named == life.Epoch || named == "asked" {
		kind = state
	}
	head := data[:len(data)-len(body)]
	inHead, inBody := f.found(head), f.found(body)
	if f.whole[h] {
		inBody = append(inBody, span{0, len(body)})
	}
	for _, g := range groups(inMeta(), head, 0) {
		_, marked := f.gists[h.String()[:shortest]]
		if isGist := bytes.HasSuffix(head[:g.from], []byte("gist: ")); isGist && marked || !isGist && f.summed[h] {
			inHead = append(inHead, g)
		}
	}
	if n = len(inHead) + len(inBody); n > 0 {
		if h.String() == f.id.Self {
			return ErrSoul
		}
		cuts, kept := cutsOf(meta, head, inHead)
		more, keptToo := cutsOf(kind, body, inBody)
		for _, c := range more {
			cuts = append(cuts, [2]int64{c[0] + int64(len(head)), c[1]})
		}
		f.count(noText, Kept, kept+keptToo)
		f.count("blobs: "+named, Erased, n-kept-keptToo)
		return f.add(redact.File{Path: rel, Cuts: cuts, Of: h.String()}, kind, data, len(head))
	}
	return nil
}

// add plans the cuts of a file, which is read as a kind from an offset on.
func (f *finder) add(file redact.File, kind string, data []byte, from int) error {
	if len(file.Cuts) == 0 {
		return nil
	}
	after := bytes.Clone(data)
	file.Sum = file.Mask(after)
	err := readable(kind, data[from:], after[from:])
	if err == nil && file.Of != "" {
		var tomb []byte
		tomb, err = redact.Tombstone(file.Of, f.plan.At, after)
		f.plan.Blobs = slices.DeleteFunc(f.plan.Blobs, func(b event.Buried) bool { return b.Address == file.Of })
		f.plan.Blobs = append(f.plan.Blobs, event.Buried{Address: file.Of, Tombstone: blobs.Sum(tomb).String()})
	}
	if err != nil {
		return fmt.Errorf("%w: %s could not be read any more (%w)", ErrText, file.Path, err)
	}
	f.plan.Files = append(f.plan.Files, file)
	if kind == log {
		f.lines(data, after, file.Cuts)
	}
	return nil
}

// lines plans the lines of LIFE that cuts change, with their leaves as they were at first and will be.
func (f *finder) lines(data, after []byte, cuts [][2]int64) {
	end := int64(0)
	for _, c := range cuts {
		if c[0] < end {
			continue
		}
		at := int64(bytes.LastIndexByte(data[:c[0]], '\n') + 1)
		end = c[0] + int64(bytes.IndexByte(data[c[0]:], '\n'))
		e, before := f.erased[at]
		if !before {
			e.Before = life.Leaf(string(data[at:end]))
		}
		now := life.Leaf(string(after[at:end]))
		line := event.ErasedLine{Offset: at, Leaf: fmt.Sprintf("%x", e.Before), Now: fmt.Sprintf("%x", now)}
		f.plan.Lines = append(f.plan.Lines, line)
	}
}
