// Package erase finds a text in every form and place of a life, and plans its end. Package agent/journal carries the
// plan out, also after a crash.
//
//	found, err := erase.Find(home, store, id, erase.Request{Text: "swordfish"})
//	err = found.Plan.Save(id.Dir)           // of an identity that is held
//
// A text that is found is counted and never repeated. The promises are in docs/erase.md.
package erase

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/mind"
)

// Request names the texts to erase, by exactly one of Text, Ref and Person.
type Request struct {
	Text   string
	Ref    blobs.Hash // of a text of the life, with the texts that were made of it
	Person string     // all that this person has said

	Derived   bool // with the summaries of that
	Workspace bool // in the files of the tools, too
	Ownerless bool // in texts of no identity, too
}

// Finding lists the places of hits, and holds the plan that erases them.
type Finding struct {
	Plan   *home.ErasePlan `json:"-"`
	Count  int             `json:"count"` // of hits that go
	Places []Place         `json:"places"`
}

// Place is a file, a stored text, a sort of texts or an identity, with its fate and the number of hits there.
type Place struct {
	What  string `json:"what"`
	How   string `json:"how"`
	Count int    `json:"count"`
}

// Fates of a place.
const (
	Erased  = "erased"
	Removed = "removed" // the whole file, which is made anew
	Left    = "left"    // to the owner, or to the tools
	Kept    = "kept"    // as it is no text, but a name, an address or a number
	Unread  = "unread"  // nobody knows whether it is there
	Other   = "other"   // an identity that has it, too
	Unowned = "unowned" // texts of no identity: they go with Ownerless
)

// noText names the places that are kept.
const noText = "names, addresses and numbers"

// MinText and MaxText bound a text that is to be erased, in characters.
const (
	MinText = 4
	MaxText = 10_000
)

// Errors of Find.
var (
	ErrNowhere = exit.With(exit.NotFound, errors.New("it stands nowhere"))
	ErrText    = exit.With(exit.Usage, errors.New("this cannot be erased"))
	ErrSoul    = fmt.Errorf("%w: it is in SOUL.md, which is the identity itself; boot another one", ErrText)
	ErrBusy    = exit.With(exit.Running, errors.New("a bridge that runs is sending it at this moment"))
)

// Find looks for it in the whole home. Nothing is changed.
func Find(place home.Home, store *blobs.Store, id home.Identity, request Request) (_ *Finding, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("erase from %s: %w", id.Name, err)
		}
	}()
	looks := newFinder(place, store, id, request)
	if err := looks.readLife(); err != nil {
		return nil, err
	}
	if err := looks.prepare(); err != nil {
		return nil, err
	}
	if err := filepath.WalkDir(place.Dir, looks.visit); err != nil {
		return nil, err
	}
	out := &Finding{Plan: &looks.plan}
	for hit, count := range looks.places {
		hit.Count = count
		out.Places = append(out.Places, hit)
		if hit.How == Erased || hit.How == Removed {
			out.Count += count
		}
	}
	sort.SliceStable(out.Places, func(i, j int) bool {
		a, b := out.Places[i], out.Places[j]
		return cmp.Or(strings.Compare(a.How, b.How), strings.Compare(a.What, b.What)) < 0
	})
	if looks.plan.Places = out.Count; out.Count > 0 {
		looks.plan.Files = append(looks.plan.Files, looks.anew...)
	}
	sort.SliceStable(looks.plan.Files, func(i, j int) bool { // blobs first
		a, b := looks.plan.Files[i], looks.plan.Files[j]
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.Path, b.Path)) < 0
	})
	if len(out.Places) == 0 && looks.plan.Empty() {
		err = ErrNowhere
	}
	return out, err
}

// document is a file that is looked into.
type document struct {
	home.ErasedFile
	what, how string
	kind      string // of its text
	data      []byte
	head      int // bytes of frontmatter before the text
}

// visit looks into one file of the home.
func (f *finder) visit(path string, entry fs.DirEntry, err error) error {
	rel, _ := filepath.Rel(f.home.Dir, path)
	if err != nil && rel == "." {
		return err
	}
	doc := f.document(rel)
	if doc.how == "" {
		return nil
	}
	room, hasLines := roomOf(rel)
	if err == nil {
		isLinked := hasLines && entry.Type() == fs.ModeSymlink
		if !entry.Type().IsRegular() && !isLinked {
			return nil
		}
	}
	isUnheard := room != "" && !f.heard[room]
	isTools := doc.how == mayGo && !f.req.Workspace
	if isUnheard || isTools {
		doc.how = Left
	}
	if err == nil {
		doc.data, err = durable.ReadWhole(path, home.MaxErasable)
	}
	if err != nil {
		f.count(rel, Unread, 1)
		return nil
	}
	found := f.look(doc)
	if hasLines && doc.how == Erased {
		found = append(found, within(f.rooms[room], len(doc.data))...)
	}
	if doc.how == anew {
		f.anew = append(f.anew, home.ErasedFile{Path: rel, Remove: true})
		return nil
	}
	if len(found) == 0 {
		return nil
	}
	return f.plans(doc, found)
}

// document returns a file with its fate and kind, which is not read yet.
func (f *finder) document(rel string) *document {
	own := rel
	if name, inside := strings.CutPrefix(rel, filepath.Join("agents", f.id.Self)+"/"); inside {
		own = "self/" + name
	}
	doc := &document{ErasedFile: home.ErasedFile{Path: rel}, what: strings.TrimPrefix(own, "self/")}
	for _, treatment := range f.treatments {
		if treatment.files.MatchString(own) {
			doc.how, doc.kind = treatment.how, treatment.kind
			break
		}
	}
	return doc
}

// roomOf returns the room of a file, by the path of the file in the home, or "". hasLines: it has the lines of the
// room.
func roomOf(rel string) (room string, hasLines bool) {
	name, isShared := strings.CutPrefix(rel, "share/rooms/")
	name, isOwn := strings.CutPrefix(name, "chats/")
	if !isShared && !isOwn {
		return "", false
	}
	return strings.CutSuffix(strings.TrimSuffix(name, ".toml"), ".md")
}

// look returns the spans that go, if the file is erased, and settles its fate by its content.
func (f *finder) look(doc *document) []span {
	found := f.found(doc.data)
	switch doc.kind {
	case blob:
		return f.blob(doc, found)
	case log:
		f.plan.End = int64(len(doc.data))
	case wish: // its name is the text, and no plan repeats it
		found = find([]byte(filepath.Base(doc.Path)), f.patterns)
		doc.Path, doc.what = filepath.Dir(doc.Path), "wishes"
	case mine:
		view, ok := mind.ReadView(doc.data)
		if !ok || !view.Intact { // a person is editing it
			doc.how, doc.kind = Erased, raw
		}
	}
	return found
}

// within returns the spans that a file of a length in bytes has.
func within(spans []span, length int) (out []span) {
	for _, span := range spans {
		isRange := 0 <= span.from && span.from <= span.to
		if isRange && span.to <= length {
			out = append(out, span)
		}
	}
	return out
}

// plans decides the fate of a file with hits.
func (f *finder) plans(doc *document, found []span) error {
	switch doc.how {
	case soul:
		return ErrSoul
	case bridging:
		name := strings.Split(doc.Path, "/")[1]
		locked, _, err := bridge.Holder(filepath.Join(f.home.Dir, "bridges", name))
		if err == nil && locked {
			return fmt.Errorf("%w: stop the bridge %s first", ErrBusy, name)
		}
		return f.cut(doc, found)
	case Erased, mayGo:
		return f.cut(doc, found)
	case Removed:
		doc.Remove = true
		f.plan.Files = append(f.plan.Files, doc.ErasedFile)
	case Other:
		doc.of(f, strings.Split(doc.Path, "/")[1])
	}
	f.count(doc.what, doc.how, len(found))
	return nil
}

func (f *finder) count(what, how string, n int) {
	for self, name := range f.names {
		what = strings.ReplaceAll(what, self, name)
	}
	if n > 0 && how != "" {
		f.places[Place{What: what, How: how}] += n
	}
}

// of decides the fate of a text that belongs to the identity self, or to no identity. For a Ref it tells of no other
// identity: entries there have the same names.
func (d *document) of(f *finder, self string) {
	switch d.what, d.how = f.names[self], Other; {
	case !f.req.Ref.IsZero():
		d.how = ""
	case d.what != "":
	case f.req.Ownerless:
		d.what, d.how = "blobs of no identity", Removed
	default:
		d.what, d.how = "blobs of no identity", Unowned
	}
}

// Fates of files, beside those above.
const (
	soul     = "soul"     // the text may not be there
	bridging = "bridging" // erased, unless the bridge runs
	mayGo    = "may go"   // left, unless the owner says otherwise
	anew     = "anew"     // removed if anything is erased, since it repeats what stands elsewhere
)

type treatment struct {
	files     *regexp.Regexp
	how, kind string
}

// treatments give files their fate and kind: the first that fits counts. A file without a fate never holds a text. The
// directory of the identity is self.
func treatments() []treatment {
	is := regexp.MustCompile
	return []treatment{
		{is(`^blobs/`), Erased, blob},
		{is(`^(key|format)$|^self/(LIFE\.erased|erase\.json|lock|tree|recall\.db.*-lock)$`), "", ""},
		{is(`^config\.toml$`), Left, raw},
		{is(`^chats/.*\.(md|toml)$|^share/rooms/.*\.md$`), Erased, raw},
		{is(`^(chats|share)/`), "", ""},
		{is(`^bridges/.*inbox\.jsonl$|^bridges/[^/]*$`), Erased, state}, // an inbox is only appended to
		{is(`^bridges/`), bridging, state},
		{is(`^self/SOUL\.md$`), soul, raw},
		{is(`^self/LIFE\.md$`), Erased, log},
		{is(`^self/context\.md$`), anew, mine},
		{is(`^self/((status|summaries)\.json|live\.md|live\.json|recall\.db.*)$`), anew, raw},
		{is(`^self/(workspace|sandbox|gate)/`), mayGo, raw},
		{is(`^self/wishes/`), Removed, wish},
		{is(`^self/.*\.json$`), Erased, state},
		{is(`^self/`), Erased, raw},
		{is(`^agents/[^/]*/`), Other, raw},
		{is(``), Erased, raw},
	}
}
