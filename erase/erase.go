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
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/agent"
	"lethe/blobs"
	"lethe/internal/redact"
)

// Request says what is to be erased: one of Text, Ref and Person.
type Request struct {
	Text   string
	Ref    blobs.Hash // of a text of the life, with what was made of it
	Person string     // what this person has said

	Derived   bool // with what a model wrote of what Person has said
	Workspace bool // in the files of the tools, too
	Why       string
}

// Finding is where it stands.
type Finding struct {
	Plan    *redact.Plan `json:"-"`
	Places  []Place      `json:"places"`            // where it goes
	Left    []Place      `json:"left,omitempty"`    // files that are the owner's own business
	Others  []Place      `json:"others,omitempty"`  // identities that have it, too
	Kept    int          `json:"kept,omitempty"`    // places where it is no text, but a name, an address or a number
	Unread  []string     `json:"unread,omitempty"`  // files that could not be looked into
	Count   int          `json:"count"`             // of places where it goes
	Removed []string     `json:"removed,omitempty"` // files that are made anew
}

// Place is a file, a sort of stored texts or an identity, and how often it is there.
type Place struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// MinText and MaxText bound a text that is to be erased, in characters.
const (
	MinText = 4
	MaxText = 10_000
)

// ErrSoul says that what is to be erased is in the SOUL, which is the identity itself.
var ErrSoul = errors.New("it is in SOUL.md, which is the identity itself: boot another one")

// ErrNowhere says that nothing was found.
var ErrNowhere = errors.New("it stands nowhere")

// ErrText says that a text cannot be erased as it is.
var ErrText = errors.New("this cannot be erased")

// BusyError says that a bridge runs that would write again what is erased of its files.
type BusyError struct{ Bridge string }

func (e *BusyError) Error() string {
	return "the bridge " + e.Bridge + " is sending it at this moment, and runs"
}

// Find looks for it in the whole home. Nothing is changed.
func Find(home agent.Home, store *blobs.Store, id agent.Identity, r Request) (*Finding, error) {
	f := &finder{
		home: home, store: store, id: id, req: r, others: map[string]int{}, kinds: map[string]string{}, rooms: map[string][]span{},
		stated: map[string]string{}, gists: map[string]blobs.Hash{}, whole: map[blobs.Hash]bool{}, summed: map[blobs.Hash]bool{}, taken: map[blobs.Hash]bool{},
		out:     Finding{Plan: &redact.Plan{At: time.Now().UTC().Truncate(time.Microsecond), Why: r.Why}},
		perKind: map[string]int{},
	}
	err := f.prepare()
	if err == nil {
		err = filepath.WalkDir(home.Dir, f.visit)
	}
	if err != nil {
		return nil, fmt.Errorf("erase from %s: %w", id.Name, err)
	}
	return f.finish()
}

// prepare finds out what to look for.
func (f *finder) prepare() (err error) {
	if err := f.readLife(); err != nil {
		return f.id.Unread(err)
	}
	switch {
	case f.req.Text != "":
		if n := utf8.RuneCountInString(strings.TrimSpace(f.req.Text)); n < MinText || n > MaxText || !utf8.ValidString(f.req.Text) {
			return fmt.Errorf("%w: a text has %d to %d characters of UTF-8", ErrText, MinText, MaxText)
		}
		f.patterns, err = formsOf(f.req.Text)
		return err
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

// finish puts the plan together.
func (f *finder) finish() (*Finding, error) {
	out, plan := &f.out, f.out.Plan
	for kind, n := range f.perKind {
		out.Places = append(out.Places, Place{"blobs: " + kind, n})
	}
	all, err := f.home.List()
	for _, id := range all {
		if n := f.others[id.Self]; n > 0 {
			out.Others = append(out.Others, Place{id.Name, n})
		}
	}
	for _, list := range [][]Place{out.Places, out.Others, out.Left} {
		slices.SortFunc(list, func(a, b Place) int { return strings.Compare(a.What, b.What) })
	}
	for _, p := range out.Places {
		out.Count += p.Count
	}
	if plan.Places = out.Count; plan.Places > 0 { // the index repeats what the blobs hold
		for _, name := range []string{"recall.db", "recall.db-wal", "recall.db-shm", "recall.db-journal"} {
			if fi, err := os.Lstat(filepath.Join(f.id.Dir, name)); err == nil && fi.Mode().IsRegular() {
				f.remove(filepath.Join("agents", f.id.Self, name))
			}
		}
	}
	slices.SortFunc(plan.Files, func(a, b redact.File) int { // blobs first
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.Path, b.Path))
	})
	return out, err
}

func (f *finder) remove(rel string) {
	f.out.Plan.Files = append(f.out.Plan.Files, redact.File{Path: rel, Remove: true})
	f.out.Removed = append(f.out.Removed, rel)
}

// visit looks into one file of the home.
func (f *finder) visit(path string, d fs.DirEntry, err error) error {
	rel, _ := filepath.Rel(f.home.Dir, path)
	if err != nil {
		if path == f.home.Dir {
			return err
		}
		f.out.Unread = append(f.out.Unread, rel)
		return nil
	}
	parts := strings.Split(rel, string(filepath.Separator))
	room := len(parts) == 2 && parts[0] == "chats"
	if d.IsDir() || !d.Type().IsRegular() && !(room && d.Type() == fs.ModeSymlink) {
		return nil
	}
	switch {
	case parts[0] == "blobs" && len(parts) == 3:
		if h, err := blobs.ParseHash(parts[1] + parts[2]); err == nil {
			return f.blob(h, path, rel)
		}
		return f.file(raw, rel)
	case room:
		return f.room(rel, strings.TrimSuffix(parts[1], ".md"))
	case parts[0] == "agents" && len(parts) > 2 && parts[1] == f.id.Self:
		return f.own(rel, parts[2:])
	case parts[0] == "agents" && len(parts) > 2:
		return f.count(rel, parts[1])
	case parts[0] == "key" || parts[0] == "format":
		return nil
	case parts[0] == "config.toml":
		return f.left(rel)
	case parts[0] == "bridges" && len(parts) > 2:
		return f.bridge(rel, parts[1:])
	}
	return f.file(raw, rel)
}
