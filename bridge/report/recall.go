package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/lookup"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/internal/pattern"
	"lethe/mind"
)

// Kinds of entries that a search can be narrowed to.
var Kinds = []string{"chat", "reply", "tool", "note"}

// Search holds the words to look for in the forgotten past of an identity, and the bounds. The tags describe it to
// clients of the API.
type Search struct {
	Text  string `name:"q" required:"true" about:"Words to look for."`
	Since string `name:"since" about:"Only what was said after: 7d, 12h, 2026-05-01 or 2026-05-01T12:00:00Z."`
	Until string `name:"until" about:"Only what was said before."`
	Room  string `name:"room" about:"Only what was heard in this room."`
	Tool  string `name:"tool" about:"Only passages with a call of this tool."`
	Kind  string `name:"kind" about:"Only passages with this kind of entry: chat, reply, tool or note."`
	Limit int    `name:"limit" default:"10" min:"1" max:"50" about:"How many at most."`
}

func (s Search) query(now time.Time) (sought recall.Query, err error) {
	sought = recall.Query{
		Text: s.Text, Limit: s.Limit, Room: s.Room, Kind: s.Kind, Tool: strings.ToUpper(s.Tool), Now: now,
	}
	switch {
	case strings.TrimSpace(s.Text) == "":
		return sought, Invalid("the query is empty; give words to look for")
	case s.Limit < 1 || s.Limit > 50:
		return sought, Invalid("limit is %d; it is 1 to 50", s.Limit)
	case s.Room != "" && !chat.ValidRoom(s.Room):
		return sought, Invalid("%q is not the name of a room", s.Room)
	case s.Kind != "" && !slices.Contains(Kinds, s.Kind):
		return sought, Invalid("kind is %q; it is one of %s", s.Kind, strings.Join(Kinds, ", "))
	}
	if sought.Since, err = Moment("since", s.Since, now); err != nil {
		return sought, err
	}
	sought.Until, err = Moment("until", s.Until, now)
	return sought, err
}

// Moment reads a time: how long ago it was, a day, or a time of RFC 3339.
func Moment(what, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	last := len(text) - 1
	unit := map[byte]int64{'m': 60, 'h': 3600, 'd': 24 * 3600, 'w': 7 * 24 * 3600}[text[last]] // in seconds
	if n, err := strconv.ParseUint(text[:last], 10, 20); err == nil && unit > 0 {
		return time.Unix(now.Unix()-int64(n)*unit, 0), nil
	}
	daytime := strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, daytime, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Invalid("%s is %q; it is like 7d, 12h, 2026-05-01 or 2026-05-01T12:00:00Z", what, text)
}

// Match is one original that fits.
type Match struct {
	recall.Hit
	From string `json:"from"` // first and last entry; "" if it was adopted
	To   string `json:"to"`
}

// Found is the answer to a search.
type Found struct {
	Matches []Match  `json:"items"`
	Absent  []string `json:"absent,omitempty"` // words of the query that no original shows
	Near    []string `json:"near,omitempty"`   // "saxophone for saxaphone"
	Lost    int      `json:"lost,omitempty"`   // how many originals that may match cannot be read
	Behind  string   `json:"behind,omitempty"` // why the index is not up to date
}

// ErrNoMatch says that a search has found nothing.
var ErrNoMatch = errors.New("nothing that has faded matches")

// Recall brings the index of an identity up to date, if it can, and searches it.
// The error wraps ErrNoMatch where nothing fits.
func (h Home) Recall(ctx context.Context, id home.Identity, s Search, log *slog.Logger) (result Found, err error) {
	result.Matches = []Match{}
	query, err := s.query(time.Now())
	if err != nil {
		return result, err
	}
	state, err := home.Fold(id, h.Store)
	if err != nil { // a damaged life is searched, but not the past of its ancestors
		state = &mind.State{Self: id.Self}
	}
	index := recall.Open(id.RecallPath(), state.Owns, log)
	_, behind := index.Sync(ctx, h.Store, id.LIFE())
	if behind != nil {
		result.Behind = behind.Error()
	}
	found, err := index.Search(ctx, h.Store, query)
	result.Absent, result.Near, result.Lost = found.Absent, found.Near, found.Lost
	broken := behind != nil && !errors.Is(behind, recall.ErrBusy)
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case errors.Is(err, recall.ErrEmpty):
		return result, &InvalidError{fmt.Errorf("search %s: %w", id.Name, err), "give a name, a number or a word that must occur"}
	case len(found.Hits) == 0 && broken: // there may be no index yet
		return result, id.Unread(behind)
	case err != nil:
		return result, err
	case len(found.Hits) == 0 && found.Lost > 0:
		return result, fmt.Errorf("search %s: %w: %d that may match cannot be read", id.Name, home.ErrCorrupt, found.Lost)
	case len(found.Hits) == 0:
		return result, fmt.Errorf("search %s: %w", id.Name, ErrNoMatch)
	}
	recall.Retell(h.Store, found.Hits, state.Adopted)
	recall.NewerFirst(found.Hits, state.Overtaken)
	live, _ := Live(id) // no workspace is shown before the first run
	var inNoRoom lookup.View
	inNoRoom.Know(lookup.Known{})
	var look tools.Set
	look.Workspace, look.Read, look.Rooms, look.Weight = live.Workspace, []string{live.Workspace}, &inNoRoom, llm.Weight
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // what it has not looked at by then has no mark
	defer cancel()
	lookup.MarkChanged(ctx, &look, h.Store, found.Hits)
	for _, hit := range found.Hits {
		match := Match{Hit: hit}
		if hit.Source == "" {
			match.From, match.To = mind.EntryID(hit.From), mind.EntryID(hit.To)
		}
		result.Matches = append(result.Matches, match)
	}
	return result, nil
}

var (
	numbered = pattern.Lazy(`^(e|epoch ?)(0|[1-9]\d{0,8})$`)
	labels   = pattern.Lazy(`^[a-z][a-z0-9_-]{0,31}$`)
)

// ParseMoment reads a moment of a life as people write it: now, e39, epoch 4, a label, or a time.
func ParseMoment(text string, now time.Time) (when home.Moment, err error) {
	when.Text = text
	of, number := "", 0
	if at := numbered().FindStringSubmatch(text); at != nil {
		of = at[1]
		number, _ = strconv.Atoi(at[2]) // digits, by the pattern
	}
	switch {
	case text == "", text == "now":
	case ValidLabel(text):
		when.Label = text
	case of == "e" && number > 0:
		when.Entry = number
	case strings.HasPrefix(of, "epoch"):
		when.Epoch = &number
	default:
		if when.At, err = Moment("the moment", strings.TrimSuffix(text, " ago"), now); err != nil {
			err = &InvalidError{fmt.Errorf("%q is no moment", text),
				"it is now, e39, epoch 4, a label, 2026-05-01, 2026-05-01T12:00:00Z or 2h ago"}
		}
		if err == nil && when.At.After(now) {
			err = &InvalidError{fmt.Errorf("%s is still to come", text), "the present moment is: now"}
		}
	}
	return when, err
}

// ValidLabel reports whether a text may be the name of a moment: it is no other way to say one.
func ValidLabel(text string) bool {
	return text != "now" && !numbered().MatchString(text) && labels().MatchString(text)
}
