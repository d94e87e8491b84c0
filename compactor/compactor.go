// Package compactor lets a mind forget. It cuts the older part of the live
// context into chunks, has each summarised, and puts summaries, gists and cards
// in their place, so that the request stays small and every original stays
// within a ref or two.
//
//	job, ok := compactor.Plan(state, compactor.Input{...}) // holds what it needs
//	fades, failure := job.Run(ctx, model)                  // beside the turns that go on
//	out, err := compactor.Swap(state, fades, settings, meter, put, read)
//	// write out.Lines and an epoch of state.Forget(out.Context, …) in one append, and go on from it
//
// Window, MakeRoom and Backoff are the policy: when a context is compacted, how far,
// how much may come in at once, and how long a failing model is left alone.
//
// It opens no file, reads no clock and speaks no HTTP: the caller brings the model
// and the store. It guarantees, whatever the model answers:
//
//   - Run ends soon after its context does, and accounts for every eligible
//     entry exactly once. Mechanical does the same without a model.
//   - After Swap each entry is live or in exactly one faded range, and all of
//     its text can be read from that range's original: by one ref, by two when
//     the range is listed on a card, and by one more for a card of cards.
//   - Faded text is never summarised again; it decays from summary to gist to
//     card, within a budget for each.
//   - Equal states, fades and settings give equal results.
package compactor

import (
	"context"
	"errors"
	"slices"

	"lethe/blobs"
	"lethe/mind"
	"lethe/mind/message"
)

// Settings say how much is forgotten, and how.
type Settings struct {
	// Limit is the largest request in tokens, its answer included.
	Limit int
	// Target is the share of the eligible part that is left after a swap, 0 to 1:
	// what stays verbatim and the summaries of the rest.
	Target float64
	// Parallel bounds the SUMMARISE calls that run at once.
	Parallel int
	// Alone makes every request self-contained, for another model than the life's
	// own: a fork would find nothing in that model's cache.
	Alone bool
	// Past scales the budgets of the faded past, 0 to 1.
	Past float64
}

// Default returns the settings of the design for a limit in tokens.
func Default(limit int) Settings {
	return Settings{Limit: limit, Target: 0.3, Parallel: 4, Past: 1}
}

// Budgets of the past, as shares of the limit. A level that exceeds its own is cut to half
// of it, so that the next compactions need not touch it. Pins that do not fit give way.
const (
	summariesShare = 0.06
	gistsShare     = 0.08
	cardsShare     = 0.08
	pinsShare      = 0.04
)

// budget returns a share of the limit, in tokens.
func (s Settings) budget(share float64) int { return int(float64(s.Limit) * share * s.Past) }

// Sizes of a chunk in tokens. A smaller one than aloneChunk joins a neighbour. Few large
// chunks cost less than many small ones, and small ones have more precise gists.
const (
	aloneChunk = 200  // a thing by itself, a rule say
	minChunk   = 600  // less is not worth a compaction
	fullChunk  = 6000 // the usual size where the limit is large
	chunkShare = 16   // one part of the limit in so many, where it is small
)

// usualChunk is the size that SEGMENT asks for.
func (s Settings) usualChunk() int { return min(fullChunk, max(minChunk, s.Limit/chunkShare)) }

// maxChunk is the size of the largest chunk; a larger unit is a chunk by itself.
func (s Settings) maxChunk() int { return 2 * s.usualChunk() }

// Meter estimates the tokens of so many weighted characters. It must be safe for concurrent use.
type Meter func(weight int) int

// of estimates the tokens of a text.
func (m Meter) of(text string) int { return m(message.Weight(text)) }

// messages estimates the tokens of messages.
func (m Meter) messages(all ...mind.Message) int {
	weight := 0
	for _, one := range all {
		weight += one.Weight()
	}
	return m(weight)
}

// Ask is one request to a model.
type Ask struct {
	// Fork says that Messages are the frozen request and one more user message:
	// with the tools and parameters of the life, nearly all of it comes from the
	// provider's cache. Otherwise they stand alone.
	Fork     bool
	Task     string // segment or summarise
	Messages []mind.Message
}

// Model answers the tasks. Ask returns soon after its context ends. An answer
// that is there but no text (tool calls, a cut) is an ErrGarbage; any other
// error counts as the provider's failure, after whatever retries it deserved.
// Run calls it from several goroutines.
type Model interface {
	Ask(ctx context.Context, a Ask) (string, error)
}

// ErrGarbage says that an answer is of no use. It is asked for once more.
var ErrGarbage = errors.New("unusable answer")

// Put stores a blob durably and returns its ref. Of m it gets the gist, and with an
// original what the summariser wrote of it; the rest is the caller's.
type Put func(m blobs.Meta, body []byte) (mind.Ref, error)

// Read returns the body of a blob.
type Read func(blobs.Hash) ([]byte, error)

// Summarised returns the chunks that a model has summarised.
func Summarised(fades []Fade) []Fade {
	return slices.DeleteFunc(slices.Clone(fades), func(f Fade) bool { return f.Mechanical || f.unread() })
}

// Fade is a chunk of entries with what may replace it.
type Fade struct {
	From, To  int    // entry numbers, inclusive
	Tokens    int    // what the entries cost while they are live
	Relevance int    // 1 to 9
	Gist      string // "" while it has no summary, and stays
	Summary   string // escaped
	// Mechanical says that no model made it, and Garbage that one was asked in vain.
	Mechanical, Garbage bool

	pins   []mind.Pin
	over   []string // pinned sentences that are kept or withdrawn by now, as the model wrote them
	lines  int      // what people said
	topics int      // as SEGMENT says
	// overtakes has keys for mind.Overtaken, by the model: not checked, and of any ranges.
	overtakes map[string]int
	units     []unit // its entries, as they were read
	stays     int    // how many swaps have left it live
}

// rooms returns the rooms of a chunk.
func (f Fade) rooms() (rooms []string) {
	for _, u := range f.units {
		if u.Room != "" && !slices.Contains(rooms, u.Room) {
			rooms = append(rooms, u.Room)
		}
	}
	return rooms
}

// unread reports whether a chunk has no summary yet, nor a gist.
func (f Fade) unread() bool { return f.Gist == "" }
