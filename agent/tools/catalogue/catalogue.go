// Package catalogue lists what others made for agents: skills, programs, and tools of MCP servers. A request shows the
// first of them, a line each, within a bound; the others are found by a search.
package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"lethe/blobs"
)

// Kind says what an Item is, as the model reads it.
type Kind string

const (
	Skill   Kind = "skill"   // a text to go by
	Program Kind = "program" // a command of BASH
	Tool    Kind = "tool"    // of an MCP server: USE calls it
)

// Item is one thing that others made. All of its texts are data: whoever shows them escapes them.
type Item struct {
	Kind  Kind
	Name  string // unlike that of any other item: plan, neighbours, github/create_issue
	About string // what it does and when it is of use
	Text  string // all there is to know: a skill itself, or how a tool is called
	Own   bool   // people put it into their home: it is listed before what servers and workspaces bring
}

// Line returns the line of the item in a catalogue.
func (i Item) Line() string { return fmt.Sprintf("%s %s: %s", i.Kind, i.Name, i.About) }

// Answering is the tool of each server, as in github/answer, that answers what the server asks people in the middle of
// a call. It is in no catalogue. People approve each call of it.
const Answering = "answer"

// A Source brings items. Its methods are called from several goroutines.
type Source interface {
	// Items returns what there is, in any order, without waiting for anybody: of a server that has not been asked yet,
	// what it had when it was.
	Items() []Item
	// Ask is Items after those were asked that never were, until ctx ends.
	Ask(ctx context.Context) []Item
	// Use calls the tool of that name, which is one of Items or Answering of one's server. An error is for the model, and
	// says what to do.
	Use(ctx context.Context, name string, args json.RawMessage, c Call) (Answer, error)
}

// Call is the part of a call that a tool may know.
type Call struct {
	ID     string       // like e12.1
	Life   string       // the identity's hash
	Output func([]byte) // takes what can be shown already; may be nil
}

// Answer is the outcome of a call.
type Answer struct {
	Text  []byte
	Err   bool   // the tool says that it failed
	Files []File // beside Text
}

// File is something that a tool returned beside its text.
type File struct {
	Name, Type string // a media type; either may be empty
	Data       []byte
}

// About is the name and the type of a file, as a gist has them.
func (f File) About() string { return strings.TrimSpace(f.Name + " " + f.Type) }

// All joins the items of sources, sorted by name. Of two with the same name the one of the earlier source counts.
func All(sources []Source, items func(Source) []Item) (all []Item) {
	seen := map[string]bool{}
	for _, s := range sources {
		for _, i := range items(s) {
			if !seen[i.Name] {
				seen[i.Name] = true
				all = append(all, i)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Text is what stands for all items where their versions are compared: a line each, in order, with the digest of what
// the line does not show.
func Text(items []Item) string {
	var out strings.Builder
	for _, i := range items {
		fmt.Fprintf(&out, "%s (%s)\n", blobs.Gist(i.Line()), blobs.Sum([]byte(i.About + "\x00" + i.Text)).String()[:8])
	}
	return out.String()
}

// First returns the items that a catalogue shows: people's own first, then those that were used most, as many as weigh
// no more than most together.
func First(items []Item, used map[string]int, most int, weigh func(Item) int) []Item {
	order := slices.Clone(items)
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if a.Own != b.Own {
			return a.Own
		}
		return used[a.Name] > used[b.Name]
	})
	for n, i := range order {
		if most -= weigh(i); most < 0 {
			return order[:n]
		}
	}
	return order
}
