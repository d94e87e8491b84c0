package erase

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge/health"
	"lethe/check"
	"lethe/internal/durable"
	"lethe/internal/redact"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// finder looks through a home.
type finder struct {
	home  agent.Home
	store *blobs.Store
	id    agent.Identity
	req   Request

	// Of LIFE.
	events []told
	kinds  map[string]string      // by the beginning of an address, the kind of event that first named it
	stated map[string]string      // tombstones that LIFE tells of, by address
	heard  map[string]bool        // rooms
	taken  map[blobs.Hash]bool    // blobs of an ancestor that the life refers to
	gone   map[int64]life.Erasure // lines

	// What to look for.
	patterns []pattern
	sections []pattern             // in blobs
	rooms    map[string][]span     // ranges
	whole    map[blobs.Hash]bool   // blobs of which all text goes
	summed   map[blobs.Hash]bool   // originals whose summary goes
	gists    map[string]blobs.Hash // whose gists go, by the first twelve digits

	others  map[string]int // by identity
	perKind map[string]int // places in blobs
	out     Finding
}

// told is a line of LIFE that a reference to a text depends on.
type told struct {
	event event.Event
	refs  []blobs.Ref
}

// shortest is how many digits of an address a ref has at least.
const shortest = 12

func (f *finder) readLife() error {
	f.heard = map[string]bool{}
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
				return check.Reach(f.id, f.store, func(h blobs.Hash) error { f.taken[h] = true; return nil })
			}
		case event.Inbound, event.Reply, event.Result, event.Note, event.Hint, event.Posted, event.Fade:
			f.events = append(f.events, told{parsed, e.Refs})
		default:
			return err
		}
		return nil
	})
	if err == nil {
		f.gone, err = life.ReadErased(f.id.LIFE())
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

// target is what goes with the text of a ref: its gist, the sections of originals that show it, its lines in rooms.
func (f *finder) target() error {
	h := f.req.Ref
	if kind := f.kindOf(h); kind == life.Epoch {
		return fmt.Errorf("%w: %s is a snapshot of the mind, and not something said or done", ErrText, h)
	}
	f.whole[h] = true
	f.gists[h.String()[:shortest]] = h
	var heads, ids []string
	for _, t := range f.events {
		if !slices.ContainsFunc(t.refs, func(r blobs.Ref) bool { return strings.HasPrefix(h.String(), r.Hash) }) {
			continue
		}
		switch e := t.event.(type) {
		case event.Inbound:
			heads = append(heads, mind.EntryID(e.N)+" inbound")
			f.rooms[e.Room] = append(f.rooms[e.Room], span{int(e.At.From), int(e.At.To)})
		case event.Reply:
			id := mind.EntryID(e.N)
			heads, ids = append(heads, id+" reply"), append(ids, id)
			for k := range 64 {
				call := mind.CallID(e.N, k+1)
				heads, ids = append(heads, call+" call"), append(ids, call)
			}
		case event.Result:
			heads = append(heads, e.ID+" result")
		case event.Note:
			heads = append(heads, mind.EntryID(e.N)+" note")
		}
	}
	for _, t := range f.events {
		if e, ok := t.event.(event.Posted); ok && slices.Contains(ids, e.ID) {
			f.rooms[e.Room] = append(f.rooms[e.Room], span{int(e.At.From), int(e.At.To)})
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
			forms, err := formsOf(string(b.Body))
			if err != nil {
				return err
			}
			f.patterns = append(f.patterns, forms[0])
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
		for _, m := range re.FindAllSubmatchIndex(data, -1) {
			digits := string(data[m[2]:m[3]])
			if h, ok := f.gists[digits[:shortest]]; ok && strings.HasPrefix(h.String(), digits) && m[4] < m[5] {
				out = append(out, span{m[4], m[5]})
			}
		}
	}
	return out
}

// blob looks into a blob.
func (f *finder) blob(h blobs.Hash, path, rel string) error {
	data, err := durable.ReadWhole(path, redact.MaxFile)
	var m blobs.Meta
	var body []byte
	if err == nil {
		m, body, err = blobs.Decode(data)
	}
	t, _, _, gone := blobs.DecodeTombstone(data)
	sum := blobs.Sum(data)
	if buried := gone == nil && t.Of == h; err != nil || sum != h && !buried {
		f.out.Unread = append(f.out.Unread, rel)
		return nil
	} else if !f.ours(h, m) {
		if n := len(find(data, f.patterns)); n > 0 && f.req.Ref.IsZero() {
			f.others[m.Life] += n
		}
		return nil
	} else if buried && f.stated[h.String()] != sum.String() { // another life had it erased
		f.out.Plan.Blobs = append(f.out.Plan.Blobs, event.Buried{Address: h.String(), Tombstone: sum.String()})
	}
	event := f.kindOf(h)
	kind := raw
	if _, _, err := mind.AnswerParts(body); err == nil {
		kind = reply
	}
	if event == life.Epoch || event == "asked" {
		kind = state
	}
	inBody := f.found(body)
	if f.whole[h] {
		inBody = append(inBody, span{0, len(body)})
	}
	head := data[:len(data)-len(body)]
	inHead := f.found(head)
	for _, g := range groups(inMeta, head, 0) {
		if bytes.HasSuffix(head[:g.from], []byte("gist: ")) {
			if _, ok := f.gists[h.String()[:shortest]]; ok {
				inHead = append(inHead, g)
			}
		} else if f.summed[h] {
			inHead = append(inHead, g)
		}
	}
	if h.String() == f.id.Self && len(inBody)+len(inHead) > 0 {
		return ErrSoul
	}
	cuts, kept := cutsOf(meta, head, inHead)
	more, keptToo := cutsOf(kind, body, inBody)
	for _, c := range more {
		cuts = append(cuts, [2]int64{c[0] + int64(len(head)), c[1]})
	}
	n := len(inHead) + len(inBody) - kept - keptToo
	f.out.Kept += kept + keptToo
	if n > 0 {
		f.perKind[event] += n
	}
	return f.add(rel, kind, h.String(), data, len(head), cuts)
}

// add plans the cuts of a file, which is read as a kind from an offset on.
func (f *finder) add(rel, kind, of string, data []byte, from int, cuts [][2]int64) error {
	if len(cuts) == 0 {
		return nil
	}
	file := redact.File{Path: rel, Cuts: cuts, Of: of}
	after := bytes.Clone(data)
	file.Sum = file.Mask(after)
	err := readable(kind, data[from:], after[from:])
	if err == nil && of != "" {
		var tomb []byte
		if tomb, err = redact.Tombstone(of, f.out.Plan.At, after); err == nil {
			list := slices.DeleteFunc(f.out.Plan.Blobs, func(b event.Buried) bool { return b.Address == of })
			f.out.Plan.Blobs = append(list, event.Buried{Address: of, Tombstone: blobs.Sum(tomb).String()})
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s would be damaged (%w); nothing was changed", ErrText, rel, err)
	}
	f.out.Plan.Files = append(f.out.Plan.Files, file)
	return nil
}

// file looks into a file beside the blobs. Ranges are erased besides what is found.
func (f *finder) file(kind, rel string, ranges ...span) error {
	data, err := durable.ReadWhole(filepath.Join(f.home.Dir, rel), redact.MaxFile)
	if err != nil {
		f.out.Unread = append(f.out.Unread, rel)
		return nil
	}
	found := append(f.found(data), ranges...)
	cuts, kept := cutsOf(kind, data, found)
	f.out.Kept += kept
	if n := len(found) - kept; n > 0 {
		f.out.Places = append(f.out.Places, Place{rel, n})
	}
	if err := f.add(rel, kind, "", data, 0, cuts); err != nil || kind != log {
		return err
	}
	f.lines(data, cuts)
	return nil
}

// lines plans the lines of LIFE that cuts change, with their leaves as they were at first and will be.
func (f *finder) lines(data []byte, cuts [][2]int64) {
	after := bytes.Clone(data)
	(&redact.File{Cuts: cuts}).Mask(after)
	f.out.Plan.End = int64(len(data))
	end := int64(0)
	for _, c := range cuts {
		if c[0] < end {
			continue
		}
		at := int64(bytes.LastIndexByte(data[:c[0]], '\n') + 1)
		line, _, _ := bytes.Cut(data[at:], []byte("\n"))
		end = at + int64(len(line))
		e, before := f.gone[at]
		if !before {
			e.Before = life.Leaf(string(line))
		}
		f.out.Plan.Lines = append(f.out.Plan.Lines, event.ErasedLine{Offset: at, Leaf: fmt.Sprintf("%x", e.Before), Now: fmt.Sprintf("%x", life.Leaf(string(after[at:end])))})
	}
}

// own looks into a file of the identity.
func (f *finder) own(rel string, parts []string) error {
	name := parts[0]
	switch {
	case name == "workspace" || name == "sandbox" || name == "gate":
		if f.req.Workspace {
			return f.file(raw, rel)
		}
		return f.left(rel)
	case name == "LIFE.md":
		return f.file(log, rel)
	case name == "LIFE.erased" || name == "erase.json" || name == "lock" || name == "tree" || strings.HasPrefix(name, "recall.db"):
		return nil
	}
	data, err := durable.ReadWhole(filepath.Join(f.home.Dir, rel), redact.MaxFile)
	n := len(f.found(data))
	switch seen, ok := mind.ReadView(data); {
	case err == nil && n == 0:
		return nil
	case name == "SOUL.md":
		return ErrSoul
	case name == "status.json" || name == "live.md" || name == "live.json" || name == "context.md" && ok && seen.Intact:
		f.out.Places = append(f.out.Places, Place{rel, n})
		f.remove(rel)
		return nil
	case filepath.Ext(name) == ".json":
		return f.file(state, rel)
	}
	return f.file(raw, rel)
}

// room looks into a room. One that the life does not hear is another's.
func (f *finder) room(rel, name string) error {
	if strings.HasSuffix(rel, ".erased") {
		return nil
	}
	if !f.heard[name] {
		return f.left(rel)
	}
	return f.file(raw, rel, f.rooms[name]...)
}

// bridge looks into the state of a bridge.
func (f *finder) bridge(rel string, parts []string) error {
	before := len(f.out.Plan.Files)
	err := f.file(state, rel)
	if err == nil && len(f.out.Plan.Files) > before && parts[1] != "inbox.jsonl" { // that is only appended to
		lock := filepath.Join(f.home.Dir, "bridges", parts[0], "lock")
		if locked, _, lerr := health.Holder(lock); lerr == nil && locked {
			return &BusyError{parts[0]}
		}
	}
	return err
}

// left counts in a file that stays as it is.
func (f *finder) left(rel string) error {
	data, err := durable.ReadWhole(filepath.Join(f.home.Dir, rel), redact.MaxFile)
	if err != nil {
		f.out.Unread = append(f.out.Unread, rel)
	} else if n := len(find(data, f.patterns)); n > 0 {
		f.out.Left = append(f.out.Left, Place{rel, n})
	}
	return nil
}

// count counts in a file of another identity.
func (f *finder) count(rel, self string) error {
	data, err := durable.ReadWhole(filepath.Join(f.home.Dir, rel), redact.MaxFile)
	if n := len(find(data, f.patterns)); err == nil && n > 0 && f.req.Ref.IsZero() {
		f.others[self] += n
	}
	return nil
}
