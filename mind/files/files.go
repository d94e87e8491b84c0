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
	At   time.Time `json:"at"`
	Call string    `json:"call"`             // that showed or made it first: e12.1, or the id of the question before it
	Hash string    `json:"hash"`             // as in event.File
	Was  string    `json:"before,omitempty"` // the short hash of the blob with the text that it replaced
	Why  blobs.Ref `json:"why"`              // the lines that were heard last
	Seen bool      `json:"seen"`             // else the write failed, or the process ended meanwhile
	Made bool      `json:"made"`             // by the life
}

// Fold is a log folded. The zero value is ready to use.
type Fold struct {
	Files map[string][]Version // by the name of event.File, oldest first

	why   blobs.Ref         // the lines that were heard last
	texts map[string]string // that Refuse compares, by name
}

// Apply folds a line.
func (f *Fold) Apply(line life.Event) {
	last := len(line.Refs) - 1
	if line.Kind == "inbound" && last >= 0 {
		f.why = line.Refs[0]
	}
	version := Version{At: line.At, Call: line.Arg(0), Made: true}
	if line.Get("kept") != "" && last >= 0 {
		version.Was = line.Refs[last].Hash
	}
	f.add(line.Get("makes"), version)
	version.Seen, version.Made = true, false
	if version.Was = ""; line.Get("why") == "restored" && last > 0 {
		version.Was = line.Refs[last].Hash
	}
	f.add(line.Get("saw"), version)
	own := "self/" + line.Get("file")
	if name, _, _ := strings.Cut(own, ":"); f.Files[name] != nil { // a note shows it
		f.add(own, version)
	}
}

// add notes a version of a file, as event.File is written.
func (f *Fold) add(file string, version Version) {
	colon := strings.LastIndexByte(file, ':')
	if colon < 1 {
		return
	}
	if f.Files == nil {
		f.Files = map[string][]Version{}
	}
	version.Hash, version.Why = file[colon+1:], f.why
	all := f.Files[file[:colon]]
	last := len(all) - 1
	if version.Seen && last >= 0 && all[last].Hash == version.Hash {
		all[last].Seen = true
		return
	}
	f.Files[file[:colon]] = append(all, version)
}

// With returns the other files that the life changed for the same reason as a version, sorted.
func (f *Fold) With(name string, version Version) (names []string) {
	for other, versions := range f.Files {
		isWith := func(v Version) bool { return v.Made && v.Why.Hash == version.Why.Hash }
		if other != name && slices.ContainsFunc(versions, isWith) {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return names
}

// maxPast bounds what Past tells, in bytes: 60 tokens.
const maxPast = 160

// Past tells of the change that the life made to a file last, unless it made one for what was heard last: when, why,
// whether the file is another one now, and files that it changed with it.
func (f *Fold) Past(now event.File) string {
	for _, version := range slices.Backward(f.Files[now.Name]) {
		if !version.Made {
			continue
		}
		if version.Why.Hash == f.why.Hash {
			break
		}
		text := fmt.Sprintf("you changed it %s, why: hash=%s", version.At.Format(time.DateOnly), version.Why.Hash)
		if version.Hash != now.Hash {
			text += "; it has changed since"
		}
		with := "; with it: "
		for _, name := range f.With(now.Name, version) {
			if more := fmt.Sprintf("%s%+q", with, name); len(text)+len(more) <= maxPast {
				text, with = text+more, ", "
			}
		}
		return text
	}
	return ""
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
	f.add(version.String(), Version{At: time.Now(), Seen: true})
	if len(text) > maxHeld {
		delete(f.texts, version.Name) // it is of an older version
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
	diff := ""
	if was, known := f.texts[now.Name]; known {
		diff, _ = udiff.ToUnified("as you saw it", "now", was, udiff.Lines(was, text), 1)
	}
	shown = diff != "" && len(diff) <= maxDiff
	diff = strings.ToValidUTF8(diff[:min(len(diff), maxDiff)], "")
	const refusal = "not done: somebody has changed %s since you saw it. Keep that, and write again. READ_FILE shows what " +
		"is not shown here:\n%s"
	return shown, fmt.Errorf(refusal, now.Name, diff)
}
