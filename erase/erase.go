// Package erase finds what is to be forgotten for good, in every form and place of a life, and plans
// how it goes: package internal/redact carries that out.
//
//	f, err := erase.Find(home, store, id, erase.Request{Text: "swordfish"})
//	err = f.Plan.Save(id.Dir)           // of an identity that is held
//
// What is found is counted and never repeated. The promises are in docs/erase.md.
package erase

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/internal/redact"
	"lethe/mind"
)

// Request says what is to be erased: one of Text, Ref and Person.
type Request struct {
	Text   string
	Ref    blobs.Hash // of a text of the life, with what was made of it
	Person string     // what this person has said

	Derived   bool // with what a model wrote of what Person has said
	Workspace bool // in the files of the tools, too
	Ownerless bool // in texts of no identity, too
}

// Finding lists the places where it stands, and holds the plan that erases it there.
type Finding struct {
	Plan   *redact.Plan `json:"-"`
	Count  int          `json:"count"` // of places where it goes
	Places []Place      `json:"places"`
}

// Place is a file, a stored text, a sort of them or an identity, how often it is there, and what becomes of it.
type Place struct {
	What  string `json:"what"`
	How   string `json:"how"`
	Count int    `json:"count"`
}

// What becomes of a place.
const (
	Erased  = "erased"
	Removed = "removed" // the whole file, which is made anew
	Left    = "left"    // to the owner, or to the tools
	Kept    = "kept"    // as it is no text, but a name, an address or a number
	Unread  = "unread"  // nobody knows whether it is there
	Other   = "other"   // an identity that has it, too
	Unowned = "unowned" // texts of no identity: they go with Ownerless
)

// MinText and MaxText bound a text that is to be erased, in characters.
const (
	MinText = 4
	MaxText = 10_000
)

// Errors of Find.
var (
	ErrNowhere = errors.New("it stands nowhere")
	ErrText    = errors.New("this cannot be erased")
	ErrSoul    = fmt.Errorf("%w: it is in SOUL.md, which is the identity itself; boot another one", ErrText)
	ErrBusy    = errors.New("a bridge that runs is sending it at this moment")
)

// Find looks for it in the whole home. Nothing is changed.
func Find(home home.Home, store *blobs.Store, id home.Identity, r Request) (_ *Finding, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("erase from %s: %w", id.Name, err)
		}
	}()
	f := newFinder(home, store, id, r)
	if err := cmp.Or(f.readLife(), f.prepare(), filepath.WalkDir(home.Dir, f.visit)); err != nil {
		return nil, err
	}
	out := &Finding{Plan: &f.plan}
	for p, n := range f.places {
		p.Count = n
		out.Places = append(out.Places, p)
		if p.How == Erased || p.How == Removed {
			out.Count += n
		}
	}
	slices.SortFunc(out.Places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.How, b.How), strings.Compare(a.What, b.What))
	})
	if f.plan.Places = out.Count; out.Count > 0 { // the index repeats what the blobs hold
		names, _ := filepath.Glob(filepath.Join(id.Dir, "recall.db*"))
		for _, name := range names {
			if fi, err := os.Lstat(name); err == nil && fi.Mode().IsRegular() && !strings.HasSuffix(name, "-lock") {
				path := filepath.Join("agents", id.Self, filepath.Base(name))
				f.plan.Files = append(f.plan.Files, redact.File{Path: path, Remove: true})
			}
		}
	}
	slices.SortFunc(f.plan.Files, func(a, b redact.File) int { // blobs first
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.Path, b.Path))
	})
	if len(out.Places) == 0 && f.plan.Empty() {
		err = ErrNowhere
	}
	return out, err
}

// prepare finds out what to look for.
func (f *finder) prepare() (err error) {
	switch n := utf8.RuneCountInString(strings.TrimSpace(f.req.Text)); {
	case f.req.Text != "" && (n < MinText || n > MaxText || !utf8.ValidString(f.req.Text)):
		return fmt.Errorf("%w: a text has %d to %d characters of UTF-8", ErrText, MinText, MaxText)
	case f.req.Text != "":
		return f.alsoText(f.req.Text)
	case f.req.Person != "":
		f.patterns = saidBy(f.req.Person)
	case f.req.Ref.String() == f.id.Self:
		return ErrSoul
	default:
		if err := f.target(); err != nil {
			return err
		}
	}
	return f.derive()
}

// alsoText looks for a text, too.
func (f *finder) alsoText(text string) error {
	re, err := regexp.Compile(literal(text))
	if err != nil {
		return fmt.Errorf("%w: %d characters are too long for a text", ErrText, utf8.RuneCountInString(text))
	}
	f.patterns = append(f.patterns, pattern{re: re})
	return nil
}

// visit looks into one file of the home.
func (f *finder) visit(path string, d fs.DirEntry, err error) error {
	rel, _ := filepath.Rel(f.home.Dir, path)
	parts := strings.Split(rel, "/")
	switch {
	case err != nil && rel == ".":
		return err
	case err != nil:
		f.count(rel, Unread, 1)
		return nil
	case d.IsDir() || !d.Type().IsRegular() && !(parts[0] == "chats" && d.Type() == fs.ModeSymlink):
		return nil
	}
	how, kind := f.treat(parts)
	if how == "" {
		return nil
	}
	data, err := durable.ReadWhole(path, redact.MaxFile)
	if err != nil {
		f.count(rel, Unread, 1)
		return nil
	}
	if kind == blob {
		return f.blob(rel, data)
	}
	if kind == log {
		f.plan.End = int64(len(data))
	}
	found := f.found(data)
	if room, ok := strings.CutPrefix(rel, "chats/"); ok && how == Erased {
		found = append(found, f.rooms[strings.TrimSuffix(room, ".md")]...)
	}
	what := strings.TrimPrefix(rel, filepath.Join("agents", f.id.Self)+"/")
	if len(found) == 0 {
		return nil
	}
	switch how {
	case soul:
		return ErrSoul
	case busy:
		return fmt.Errorf("%w: stop the bridge %s first", ErrBusy, parts[1])
	case Other:
		f.other(parts[1], len(found))
		return nil
	case Removed:
		if view, ok := mind.ReadView(data); kind != mine || ok && view.Intact {
			f.plan.Files = append(f.plan.Files, redact.File{Path: rel, Remove: true})
			break
		}
		how, kind = Erased, raw // a person is editing it
		fallthrough
	case Erased:
		cuts, kept := cutsOf(kind, data, found)
		f.count(what, how, len(found)-kept)
		f.count(noText, Kept, kept)
		return f.add(redact.File{Path: rel, Cuts: cuts}, kind, data, 0)
	}
	f.count(what, how, len(found))
	return nil
}

// noText names the places that are kept.
const noText = "names, addresses and numbers"

func (f *finder) count(what, how string, n int) {
	for self, name := range f.names {
		what = strings.ReplaceAll(what, self, name)
	}
	if n > 0 {
		f.places[Place{What: what, How: how}] += n
	}
}

// other counts in what belongs to another identity, or to none.
func (f *finder) other(self string, n int) {
	switch name := f.names[self]; {
	case !f.req.Ref.IsZero():
	case name == "" && f.req.Ownerless:
		f.count("blobs of no identity", Erased, n)
	case name == "":
		f.count("blobs of no identity", Unowned, n)
	default:
		f.count(name, Other, n)
	}
}

// What becomes of files, beside what becomes of places: where the text may not be, and where it may not be now.
const (
	soul = "soul"
	busy = "busy"
)

// treat says what becomes of a file, "" for one that never holds a text, and of which kind it is.
func (f *finder) treat(parts []string) (how, kind string) {
	name := parts[len(parts)-1]
	switch parts[0] {
	case "blobs":
		return Erased, blob
	case "key", "format":
		return "", ""
	case "config.toml":
		return Left, raw
	case "chats":
		room, ok := strings.CutSuffix(name, ".md")
		switch {
		case !ok:
			return "", ""
		case !f.heard[room]:
			return Left, raw
		}
	case "bridges":
		if len(parts) > 2 && name != "inbox.jsonl" { // that is only appended to
			if locked, _, err := bridge.Holder(filepath.Join(f.home.Dir, "bridges", parts[1])); err == nil && locked {
				return busy, state
			}
		}
		return Erased, state
	case "agents":
		if len(parts) > 2 && parts[1] != f.id.Self {
			return Other, raw
		}
		if len(parts) < 3 {
			break
		}
		own, _, _ := strings.Cut(parts[2], "-") // recall.db-1234
		switch own, ok := ownFiles[own]; {
		case ok && own[0] == Left && f.req.Workspace:
		case ok:
			return own[0], own[1]
		case filepath.Ext(name) == ".json":
			return Erased, state
		}
	}
	return Erased, raw
}

// ownFiles says what becomes of files of the identity, and of which kind they are.
var ownFiles = map[string][2]string{
	"SOUL.md": {soul, raw}, "LIFE.md": {Erased, log}, "context.md": {Removed, mine},
	"status.json": {Removed, raw}, "live.md": {Removed, raw}, "live.json": {Removed, raw},
	"LIFE.erased": {}, "erase.json": {}, "lock": {}, "tree": {}, "recall.db": {},
	"workspace": {Left, raw}, "sandbox": {Left, raw}, "gate": {Left, raw},
}

func newFinder(home home.Home, store *blobs.Store, id home.Identity, r Request) *finder {
	f := &finder{
		home: home, store: store, id: id, req: r, names: map[string]string{}, places: map[Place]int{},
		kinds: map[string]string{}, stated: map[string]string{}, heard: map[string]bool{}, taken: map[blobs.Hash]bool{},
		rooms: map[string][]span{}, whole: map[blobs.Hash]bool{}, summed: map[blobs.Hash]bool{},
		gists: map[string]blobs.Hash{},
		plan:  redact.Plan{At: time.Now().UTC().Truncate(time.Microsecond)},
	}
	all, _ := home.List() // without it, hashes have to do
	for _, other := range all {
		f.names[other.Self] = other.Name
	}
	return f
}
