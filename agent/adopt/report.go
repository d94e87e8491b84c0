package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// A Report counts what a run read.
type Report struct {
	Files     int   `json:"files"`
	Unchanged int   `json:"unchanged"` // files passed over
	Bytes     int64 `json:"bytes"`
	Records   int   `json:"records"` // lines, or conversations of an export
	Sessions  int   `json:"sessions"`
	Entries   int   `json:"entries"`
	Memories  int   `json:"memories"` // entries that are files of memories
	Pictures  int   `json:"pictures"`
	Merged    int   `json:"merged"`  // records that went into the message of the one before
	Known     int   `json:"known"`   // entries that an earlier run has taken
	Doubled   int   `json:"doubled"` // entries that stood elsewhere: in a fork's parent, in an event
	Passed    int   `json:"passed"`  // records of known kinds in which nobody speaks
	Early     int   `json:"early"`   // entries from before Options.Since
	// First and Last are the times of the first and the last entry.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Unknown is what was not understood, by kind; the most frequent first.
	Unknown []Unknown `json:"unknown"`
}

// Unknown is a kind of record, block or file that was not understood. It counts once a line.
type Unknown struct {
	Kind   string   `json:"kind"`
	Count  int      `json:"count"`
	Places []string `json:"places"` // of the first three: file:line, or file

	newest string // place
}

// notUnderstood counts something at the current place.
func (s *Stream) notUnderstood(kind string) {
	all := s.report.Unknown
	i := slices.IndexFunc(all, func(u Unknown) bool { return u.Kind == kind })
	if i < 0 && len(all) < 100 { // a file of noise has any number of kinds
		all = append(all, Unknown{Kind: kind})
	}
	if i < 0 {
		i = len(all) - 1
	}
	s.report.Unknown = all
	place, is := s.file, &all[i]
	if s.line > 0 {
		place = fmt.Sprintf("%s:%d", place, s.line)
	}
	if s.line > 0 && place == is.newest {
		return
	}
	is.Count++
	is.newest = place
	if len(is.Places) < 3 {
		is.Places = append(is.Places, place)
	}
}

// unknown counts something of a kind that is not known.
func (s *Stream) unknown(what, kind string) {
	s.notUnderstood(what + " " + cmp.Or(kind, "without a type"))
}

// passOver counts a record in which nobody speaks, or, if its kind is not among words, one that is not understood.
func (s *Stream) passOver(what, kind, words string) {
	if slices.Contains(strings.Fields(words), kind) {
		s.report.Passed++
		return
	}
	s.unknown(what, kind)
}

// sort brings the most frequent kinds to the front.
func (r *Report) sort() {
	sort.SliceStable(r.Unknown, func(i, j int) bool { return r.Unknown[i].Count > r.Unknown[j].Count })
}
