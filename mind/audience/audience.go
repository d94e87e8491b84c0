// Package audience asks the question of the wall between lives: may everybody who reads what a life says read this?
//
//	if !room.Readers.MayRead(life.Readers) {
//		// no word of the room may reach the life
//	}
//
// It reads nothing and changes nothing.
package audience

import (
	"slices"
	"strings"
)

// Readers are the people who may read a room, a text, or all that a life says. Nil stands for everybody, and so does
// a list that holds All; an empty list stands for nobody. Names are equal in any case.
type Readers []string

// All in a list stands for everybody.
const All = "*"

// Open reports whether everybody may read.
func (r Readers) Open() bool { return r == nil || slices.Contains(r, All) }

// Has reports whether a person may read.
func (r Readers) Has(name string) bool {
	return r.Open() || slices.ContainsFunc(r, func(other string) bool { return strings.EqualFold(name, other) })
}

// MayRead reports whether everybody in an audience may read. To an audience of nobody, which stands for settings that
// make no sense, only what is open may be told.
func (r Readers) MayRead(audience Readers) bool {
	if r.Open() || audience.Open() || len(audience) == 0 {
		return r.Open()
	}
	return !slices.ContainsFunc(audience, lacks(r))
}

// Same reports whether the same people may read.
func Same(a, b Readers) bool {
	if a.Open() || b.Open() {
		return a.Open() == b.Open()
	}
	return !slices.ContainsFunc(a, lacks(b)) && !slices.ContainsFunc(b, lacks(a))
}

func lacks(readers Readers) func(string) bool {
	return func(name string) bool { return !readers.Has(name) }
}

// Together returns the people who may read one of several things at least; nil is everybody.
func Together(several ...Readers) Readers {
	together := Readers{}
	for _, readers := range several {
		if readers.Open() {
			return nil
		}
		for _, name := range readers {
			if !together.Has(name) {
				together = append(together, name)
			}
		}
	}
	return together
}

// Common returns the people who may read each of several things; nil is everybody.
func Common(several ...Readers) (common Readers) {
	for _, readers := range several {
		switch {
		case readers.Open():
		case common == nil:
			common = append(Readers{}, readers...)
		default:
			common = slices.DeleteFunc(common, lacks(readers))
		}
	}
	return common
}

// String lists the names for people: "everybody", "nobody", or "ann, ben".
func (r Readers) String() string {
	switch {
	case r.Open():
		return "everybody"
	case len(r) == 0:
		return "nobody"
	}
	return strings.Join(r, ", ")
}
