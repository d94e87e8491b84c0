// Package files folds a log into the files that its life has worked on: the version of each that the life has seen last,
// and the versions that it has made.
//
//	var fold files.Fold
//	for each line of the log:
//		fold.Apply(line)
//	shown, err := fold.Refuse(version, text) // of a file that is about to be replaced
package files

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
)

// Version is a version of a file that the life has seen, or began to make.
type Version struct {
	At   time.Time
	Call string // that showed or made it first: e12.1, or the id of the question before it
	Hash string // as in event.File
	Was  string // the short hash of the blob with the text that it replaced; "" without one
	Why  blobs.Ref
	Seen bool // else the write failed, or the process ended meanwhile
}

// Fold is a log folded. The zero value is ready to use.
type Fold struct {
	Files map[string][]Version // by the name of event.File, oldest first

	why   blobs.Ref         // the lines that were heard last
	texts map[string]string // that Refuse compares, by name
}

// Apply folds a line. It passes over one that has not the form of its kind.
func (f *Fold) Apply(line life.Event) {
	parsed, _ := event.Parse(line)
	switch e := parsed.(type) {
	case event.Inbound:
		if len(line.Refs) > 0 {
			f.why = line.Refs[0]
		}
	case event.Call:
		f.makes(line, e.ID, e.Change)
	case event.Run:
		f.makes(line, e.ID, e.Change)
	case event.Result:
		f.add(e.Saw, Version{At: line.At, Call: e.ID, Seen: true})
	case event.Note:
		f.add(e.Saw, Version{At: line.At, Call: e.Run, Seen: true})
		if own := "self/" + e.File.Name; f.Files[own] != nil {
			f.add(event.File{Name: own, Hash: e.File.Hash}, Version{At: line.At, Seen: true}) // the note shows it
		}
	}
}

func (f *Fold) makes(line life.Event, call string, change event.Change) {
	made := Version{At: line.At, Call: call}
	if change.Kept && len(line.Refs) > 0 {
		made.Was = line.Refs[len(line.Refs)-1].Hash
	}
	f.add(change.Makes, made)
}

func (f *Fold) add(file event.File, version Version) {
	if f.Files == nil {
		f.Files = map[string][]Version{}
	}
	all := f.Files[file.Name]
	last := len(all) - 1
	switch {
	case file.Name == "":
	case version.Seen && last >= 0 && all[last].Hash == file.Hash:
		all[last].Seen = true
	default:
		version.Hash, version.Why = file.Hash, f.why
		f.Files[file.Name] = append(all, version)
	}
}

// knows reports whether a version is the one that the life saw last, or one that it began to make since: a crash may have
// hidden its end. The life knows any version of a file that it never saw.
func (f *Fold) knows(file event.File) bool {
	for _, version := range slices.Backward(f.Files[file.Name]) {
		if version.Hash == file.Hash || version.Seen {
			return version.Hash == file.Hash
		}
	}
	return len(f.Files[file.Name]) == 0
}

const (
	maxHeld  = 64 << 10 // bytes of a text that is held
	maxTexts = 100      // texts that are held
	maxDiff  = 2000     // bytes of a difference
)

// See notes a version that the life sees, and holds its text if that is short.
func (f *Fold) See(version event.File, text string) {
	f.add(version, Version{At: time.Now(), Seen: true})
	if len(text) > maxHeld {
		return
	}
	if len(f.texts)%maxTexts == 0 {
		f.texts = map[string]string{}
	}
	f.texts[version.Name] = text
}

// Refuse returns an error if a file that the life has seen is now another one. With shown the error has all that changed:
// the life sees it then.
func (f *Fold) Refuse(now event.File, text string) (shown bool, err error) {
	if f.knows(now) {
		return false, nil
	}
	diff, next := "", "READ_FILE it"
	if was, known := f.texts[now.Name]; known {
		diff, _ = udiff.ToUnified("as you saw it", "now", was, udiff.Lines(was, text), 1)
	}
	if shown = diff != "" && len(diff) <= maxDiff; shown {
		next = "Keep that"
	}
	diff = strings.ToValidUTF8(diff[:min(len(diff), maxDiff)], "")
	return shown, fmt.Errorf("not done: somebody has changed %s since you saw it. %s, and write again.\n%s", now.Name, next, diff)
}
