// Package recall searches everything that a life has faded, so that what was
// forgotten can be found again.
//
//	x := recall.Open(filepath.Join(dir, "recall.db"), state.Owns, log)
//	added, err := x.Sync(ctx, store, lifePath)
//	hits, err := x.Search(ctx, store, recall.Query{Text: "the retry backoff", Limit: 10, Now: time.Now()})
//
// The index is a cache, kept by package index: deleting it loses nothing. A search
// reads posting lists for candidates, and then reads and verifies the blob of each
// candidate and ranks it by its text. So nothing is a hit because the index says so.
// The cost of a search is bounded, whatever the query and the originals, and it ends
// soon after its context.
//
// docs/recall.md tells its use and its working.
package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/compactor/recall/index"
	"lethe/compactor/recall/text"
	"lethe/life/event"
	"lethe/mind"
)

// ErrEmpty says that a query has no word to look for.
var ErrEmpty = errors.New("the query has no word to look for")

// ErrBusy says that another process is bringing the index up to date. What is in it
// can be searched meanwhile.
var ErrBusy = index.ErrBusy

// ErrRebuilding says that there is no index that can be used: it is new, it was
// removed, or it turned out to be damaged. The next Sync makes it.
var ErrRebuilding = index.ErrRebuilding

// Query is a text to look for, with limits.
type Query struct {
	// Text is plain words: nothing in it is syntax. Only the first 4000 bytes are
	// read.
	Text  string
	Limit int // hits at most, from 1
	// Since and Until bound the time of the content, both included; zero is no
	// bound. A line's tag tells its time. In an original without tags the time of
	// the entry counts.
	Since, Until time.Time
	Room         string    // only what was heard in this room
	Tool         string    // only calls of this tool, and their results
	Kind         string    // only this: chat, reply, tool or note
	Now          time.Time // what "last week" counts from

	exact bool // no word stands for another one
}

// Found is the result of a search.
type Found struct {
	Hits   []Hit    // best first
	Absent []string // words of the query that no original shows
	Near   []string // "saxophone for saxaphone": words that were looked for in place of absent ones
	Lost   int      // originals that may fit and cannot be read, since their blobs are missing or damaged
}

// Hit is one faded original that fits a query.
type Hit struct {
	Hash     blobs.Hash `json:"hash"`
	From, To int        `json:"-"`  // its entries, both included
	At       time.Time  `json:"at"` // when the last of it was said
	Gist     string     `json:"gist"`
	Source   string     `json:"source,omitempty"` // the agent that it was adopted from; it has no entries then
	Rooms    []string   `json:"rooms,omitempty"`
	Tools    []string   `json:"tools,omitempty"`
	Kinds    []string   `json:"kinds,omitempty"`
	Passage  string     `json:"passage"`        // raw text, at most 400 characters on one to three lines
	Also     string     `json:"also,omitempty"` // another passage: what else fits best, or how the turn ended
	// Offset is the beginning of the passage's message in the body; or the passage's own, if that is
	// far behind. It counts characters, for UNCOMPACT.
	Offset     int     `json:"offset"`
	Score      float64 `json:"-"`          // higher is better; comparable within one answer only
	Confidence float64 `json:"confidence"` // 0 to 1: the likelihood that the query asks for it
	// Overtaken is the last entry of the range that has overtaken the original or a line that is shown, or 0, and Mark
	// says so; see NewerFirst.
	Overtaken int    `json:"overtaken_by,omitempty"`
	Mark      string `json:"-"`
}

// Shown returns the text for a reader: the passage, and the other one if there is one.
func (h Hit) Shown() string {
	if h.Also == "" {
		return h.Passage
	}
	return h.Passage + "\n…\n" + h.Also
}

// Index is an index, which is kept by Sync. It is safe for concurrent use.
type Index struct {
	index.Index
	told sync.Map // originals that cannot be read and that the log names
}

// Open returns the index at path, of the life that owns blobs. It is read when it
// is first used, and made or made again by Sync.
func Open(path string, owns func(blobs.Blob) bool, log *slog.Logger) *Index {
	return &Index{Index: index.Index{Path: path, Owns: owns, Log: log}}
}

const (
	mostHints = 3
	nearRunes = 600 // from the beginning of a message to its passage
)

// Search returns the best hits for a query. Each was read from the
// store and verified. With no word to look for the error is ErrEmpty; without an
// index that can be used, ErrRebuilding.
func (x *Index) Search(ctx context.Context, store *blobs.Store, query Query) (found Found, err error) {
	asked := analyse(query.Text, query.Now)
	if len(asked.terms) == 0 && len(asked.periods) == 0 {
		return found, ErrEmpty
	}
	var list *shortlist
	err = x.View(ctx, func(v *index.View) (err error) {
		words := sync.OnceValue(x.Words)
		if query.exact {
			words = func() string { return "" }
		}
		list, err = stageOne(ctx, v, &asked, query, words)
		return err
	})
	var cands []candidate
	if err == nil {
		found.Absent, found.Near = list.absent(asked), asked.near
		cands, found.Lost, err = x.candidates(ctx, store, affordable(list.docs), query)
	}
	if err == nil {
		found.Hits, err = rank(ctx, asked, cands, list)
	}
	if err != nil {
		return found, fmt.Errorf("search: %w", err)
	}
	found.Hits = found.Hits[:min(query.Limit, len(found.Hits))]
	return found, nil
}

// Hints returns at most three hits that match a text well, best first: Hinted chooses from the best three, and mostly
// rejects all. The text comes from a person or a tool. A text without a word to look for has no hints.
func (x *Index) Hints(
	ctx context.Context, store *blobs.Store, said string, now time.Time, least float64,
) (Found, error) {
	found, err := x.Search(ctx, store, Query{Text: said, Limit: mostHints, Now: now, exact: true})
	if errors.Is(err, ErrEmpty) { // it reminds nobody of anything
		return found, nil
	}
	exclaims := strings.Contains(strings.ReplaceAll(said+" ", "\n", " "), "! ")
	if exclaims && !strings.ContainsAny(said, "?？؟") {
		for i := range found.Hits {
			found.Hits[i].Confidence *= exclaimed
		}
	}
	found.Hits = Hinted(found.Hits, least)
	return found, err
}

// lost tells the log of an original that cannot be read, once.
func (x *Index) lost(hash blobs.Hash, err error) {
	if _, told := x.told.LoadOrStore(hash, true); !told {
		x.Log.Warn("a search came upon an original that cannot be read; put its file back from a copy",
			"hash", hash, "error", err)
	}
}

// start is the byte at which to open an original for a line of it: where its message begins,
// or the whole of a line that came in pieces, if that is near.
func start(body string, line text.Line) int {
	at := strings.LastIndex(body[:line.From], "\n") + 1
	if line.Message != nil {
		at = strings.LastIndex(body[:min(line.From+len(line.Tag), len(body))], line.Tag)
	}
	if at < 0 || utf8.RuneCountInString(body[at:line.From]) > nearRunes {
		return line.From
	}
	return at
}

// Retell gives hits of originals that were adopted the gists that a model has written, which the cards of months have.
func Retell(store *blobs.Store, hits []Hit, sources []mind.Source) {
	for i := range hits {
		for _, source := range sources {
			if slices.Contains(source.Agents, hits[i].Source) {
				hits[i].retell(store, source.List.Hash.String())
			}
		}
	}
}

func (h *Hit) retell(store *blobs.Store, list string) {
	months, _ := store.Find(list) // without it the first gist stays
	for _, month := range mind.ReadCard(months.Body) {
		isEarlier := month.At.Before(h.At.Truncate(time.Minute))
		if isEarlier || !strings.Contains(month.Ref.Gist, " summarised") {
			continue
		}
		card, _ := store.Find(month.Ref.Hash)
		if at := bytes.Index(card.Body, []byte("hash="+h.Hash.String()[:12])); at >= 0 {
			line, _, _ := bytes.Cut(card.Body[at:], []byte("\n"))
			for _, listed := range mind.ReadCard(line) {
				h.Gist = listed.Ref.Gist
			}
			return
		}
	}
}

// NewerFirst marks superseded hits, and swaps each with the hit that supersedes it. A line that is overtaken marks only
// a hit that shows it.
func NewerFirst(hits []Hit, overtaken mind.Overtaken) {
	for i := 0; i < len(hits); i++ {
		hit := &hits[i]
		name := event.Entries{From: hit.From, To: hit.To}.String()
		hit.Mark, hit.Overtaken = overtaken.Of(name, hit.Gist+"\n"+hit.Shown())
		by := hit.Overtaken
		newer := slices.IndexFunc(hits[i:], func(h Hit) bool { return h.From <= by && by <= h.To })
		if newer > 0 && by > hit.To {
			hits[i], hits[i+newer] = hits[i+newer], hits[i]
			i-- // that one may be superseded, too
		}
	}
}
