package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lethe/internal/pattern"
	"lethe/internal/picture"
)

// Past opens and searches the texts that an identity was told and has forgotten. It is used beside the identity's own
// goroutine.
type Past interface {
	// Open opens the text behind a ref, for READ_FILE too: a file that a user has sent, or anything else the identity may
	// see.
	Open(ref string) (Original, error)
	// Search searches faded texts. remark is for the reader of the matches, or "".
	Search(ctx context.Context, query string, limit int) (matches []Match, remark string, err error)
}

// Original is a text that stands behind a ref.
type Original struct {
	Hash    string // as refs show it
	Address string // whole
	Gist    string
	Time    string // "said 2026-11-20 12:57", or another way to say when
	// Summary and Contents, lines that begin with the character where something begins, are shown before the first
	// page of several.
	Summary  string
	Contents []string
	Body     []byte
	Most     int // what the characters of a page may weigh together
}

// Match is something that was found.
type Match struct {
	Listing string // ref, gist and time
	// Where are rooms, tools and an offset in characters: of the message that Passage begins with, or of Passage where
	// that begins far before it.
	Where   string
	Passage string
}

// ErrNoWords says that a query holds nothing to look for.
var ErrNoWords = errors.New("the query holds no word to look for")

// openedText begins a result of UNCOMPACT; the hash follows. Package compactor
// recognises it.
const openedText = "original of hash="

// usualPage is the number of characters that UNCOMPACT shows unless a call names another.
const usualPage = 4000

// leastCut is the least that it leaves out. It shows up to so many characters more if that is the whole text.
const leastCut = 1500

// Matches of RECALL.
const (
	defaultMatches = 5
	maxMatches     = 20
)

// pastTools are UNCOMPACT, RECALL and COMPACT.
func (s *Set) pastTools() []Tool {
	return []Tool{
		runTool("UNCOMPACT", func(_ context.Context, _ Call, a uncompactArgs) (Result, error) {
			o, err := s.Past.Open(a.Hash)
			if err != nil {
				return Result{}, fmt.Errorf("%w. Copy the hash from a ref in your context", err)
			}
			r := Result{Bounded: true, Opened: o.Address}
			if _, err := picture.Size(o.Body); err == nil {
				r.Picture, o.Body = o.Body, []byte("(a picture)")
			}
			r.Body = o.Page(int64(a.Offset), int64(a.Limit), s.Weight)
			return r, nil
		}),
		runTool("RECALL", s.search),
		newTool("COMPACT", func(struct{}) (Effect, error) { return Compaction{}, nil }),
	}
}

type uncompactArgs struct {
	Hash   string  `json:"hash"`
	Offset integer `json:"offset,omitempty" about:"from 0"`
	Limit  integer `json:"limit,omitempty" about:"default 4000"`
}

type recallArgs struct {
	Query string  `json:"query"`
	Limit integer `json:"limit,omitempty" about:"default 5, at most 20"`
}

// headed matches the header of an entry in an original. Its ref leads to the text below it, and its gist repeats that.
var headed = pattern.Lazy(`(?m)^(◆ e[0-9.]+ .*) ◱hash=[0-9a-f]+ gist=[^◲\n]*◲$`)

// Page shows characters of an original below a line that tells their offsets. Before them stand the
// summary and the contents of the rest, in at most half of the page.
func (o Original) Page(offset, limit int64, weigh func(string) int) []byte {
	text := []rune(string(o.Body))
	total := int64(len(text))
	offset = min(max(offset, 0), total)
	if limit <= 0 {
		limit = usualPage
		if total-offset < usualPage+leastCut {
			limit = total
		}
	}
	fill := func(most int) (end int64) {
		for end = offset; end < min(offset+min(limit, int64(o.Most)), total) && most > 0; end++ {
			most -= weigh(string(text[end]))
		}
		return end
	}
	end, about := fill(o.Most), ""
	weight := weigh(o.about(0))
	isFirst := offset == 0 && end < total // of several pages
	if isFirst && weight <= o.Most/2 {
		end = fill(o.Most - weight)
		about = o.about(end)
	}
	head := openedText + o.Hash
	if about == "" || o.Summary == "" {
		head += " (" + o.Gist + ")"
	}
	head += fmt.Sprintf(", %s: characters %d to %d of %d", o.Time, offset, end, total)
	if end < total {
		head += fmt.Sprintf("; go on with offset=%d", end)
	}
	return []byte(head + about + "\n\n" + headed().ReplaceAllString(string(text[offset:end]), "$1"))
}

// about is the summary, and the contents from a character on.
func (o Original) about(from int64) (about string) {
	if o.Summary != "" {
		about = "\nsummary: " + o.Summary
	}
	title := "\ncontents from here on, by offset:"
	for _, line := range o.Contents {
		var at int64
		if fmt.Sscan(line, &at); at >= from && len(o.Contents) > 1 {
			about += title + "\n" + line
			title = ""
		}
	}
	return about
}

// Indented is a passage as it stands below the line that names its original.
func Indented(passage string) (text string) {
	for line := range strings.Lines(passage) {
		text += "\n    " + strings.TrimRight(line, "\n")
	}
	return text
}

func (s *Set) search(ctx context.Context, _ Call, a recallArgs) (Result, error) {
	if a.Limit <= 0 {
		a.Limit = defaultMatches
	}
	matches, remark, err := s.Past.Search(ctx, a.Query, int(min(a.Limit, maxMatches)))
	switch {
	case errors.Is(err, ErrNoWords):
		return Result{}, fmt.Errorf("%w. Give names, numbers or words that must occur", err)
	case err != nil:
		return Result{}, fmt.Errorf("search what has faded: %w. Open a ref that you see with UNCOMPACT, or try "+
			"again later", err)
	case len(matches) == 0:
		return textf("nothing found of these words. Try others that the text itself may "+
			"have used, or names.%s", remark), nil
	}
	b := fmt.Appendf(nil, "matches: %d, the best first.%s", len(matches), remark)
	for _, m := range matches {
		b = fmt.Appendf(b, "\n%s %s", m.Listing, m.Where)
		b = append(b, Indented(m.Passage)...)
	}
	return Result{Body: b}, nil
}
