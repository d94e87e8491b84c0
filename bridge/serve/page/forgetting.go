package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/report"
)

// forgetting is how the context has changed from epoch to epoch, and what became of what left it.
var forgetting = view{Name: "forgetting", Title: "Forgetting", data: forgettingOf}

const (
	epochsShown = 8
	linesRead   = 3000 // of LIFE, at most, for one view
)

type forgettingData struct {
	Epochs []*epoch // the oldest first
	Newest []*epoch // the same, the newest first
	Older  int64    // where to go on behind these: a place in LIFE; 0 where nothing is older
	Later  bool     // there are newer epochs
	Limit  int
	Counts map[string]int // entries, and blocks of each level, as they are now
	Away   int            // refs that the furthest original is away
	Drawing
}

// StandIns are what stands for the entries that have faded, as a sentence begins.
func (d *forgettingData) StandIns() string {
	var list []string
	for _, l := range [][2]string{{mind.Summary, "summaries"}, {mind.Gist, "gists"}, {mind.Card, "cards"}} {
		if n := d.Counts[l[0]]; n == 1 {
			list = append(list, "1 "+l[0])
		} else if n > 1 {
			list = append(list, fmt.Sprint(n, " ", l[1]))
		}
	}
	text := strings.Join(list, ", ")
	if at := strings.LastIndex(text, ", "); at >= 0 {
		return text[:at] + " and" + text[at+1:] + " stand"
	}
	if strings.HasPrefix(text, "1 ") {
		return text + " stands"
	}
	return text + " stand"
}

// epoch is one of the times between two compactions, or edits.
type epoch struct {
	K          int
	Why        string
	At         time.Time
	Turns      int
	Calls      int // of the model
	Cached, In int64
	USD        float64 // of all calls
	Forgetting float64 // of those that summarised, in dollars
	Before     int64   // tokens of the last request before it began; 0 where that is not known
	After      int64   // of its first, and of its last
	Last       int64
	Fades      []faded    // with which it began
	Reminded   []reminder // in the order of events
	Cut        bool       // it began before what was read

	begin    int64  // its line in LIFE
	snapshot string // hash of the state that it began with
	state    snapshot
	sizes    []int64 // tokens of its requests, with their answers
	base     []layer // of the drawing: what stays as it is
	turn     int
}

// snapshot is what is shown of the mind.State that an epoch began with; to read all of it takes twice as long.
type snapshot struct {
	Stable mind.Stable
	Faded  []mind.Range
	Live   []struct{ N int }
	Next   int
	Usage  mind.Usage
}

// faded is a run of entries that became shorter.
type faded struct {
	event.Fade
	Was         string // live, summary, gist or card
	Original    blobs.Ref
	Replacement blobs.Ref
	Away        int // how many refs the words themselves are away
}

// reminder is something forgotten that came up again: by a hint, or because it was opened.
type reminder struct {
	Entry    string
	At       time.Time
	Opened   bool
	Hash     string // of the original
	Gist     string
	From, To int // entries; 0 where they are not known

	n int // requests of the epoch before it
}

func forgettingOf(f *frame, r *http.Request) (any, error) {
	before, err := place(r, "before")
	if err != nil {
		return nil, err
	}
	d := &forgettingData{Later: before > 0, Limit: f.ContextLimit}
	if d.Epochs, d.Older, err = readEpochs(f.Home, f.ID, max(0, before)); err != nil {
		return nil, err
	}
	if live, running := report.Live(f.ID); running && live.ContextLimit > 0 {
		d.Limit = live.ContextLimit
	}
	d.Newest = slices.Clone(d.Epochs)
	slices.Reverse(d.Newest)
	d.Drawing = draw(d.Epochs, d.Limit)
	s, err := agent.Fold(f.ID, f.Store)
	if err != nil {
		return nil, err
	}
	d.Counts = map[string]int{"all": s.Next - 1, "live": len(s.Live)}
	for _, r := range s.Faded {
		d.Counts[r.Level]++
		d.Away = max(d.Away, 1+r.Tier)
	}
	return d, nil
}

// readEpochs reads the newest epochs before a place of LIFE, and no more of it than they have.
func readEpochs(h report.Home, id agent.Identity, before int64) (list []*epoch, older int64, err error) {
	log, err := life.View(id.LIFE())
	if err != nil {
		return nil, 0, id.Unread(err)
	}
	defer log.Close()
	type line struct {
		life.Event
		at int64
	}
	var lines []line
	seen := map[string]bool{} // epochs
	err = log.Back(before, func(e life.Event, at int64) bool {
		lines = append(lines, line{e, at})
		if e.Kind == life.Epoch {
			seen[e.Arg(0)] = true
		}
		return len(seen) <= epochsShown && len(lines) < linesRead
	})
	if err != nil || len(lines) == 0 {
		return nil, 0, id.Unread(err)
	}
	begin := lines[len(lines)-1].at
	t := teller{store: h.Store, known: map[string]mind.Listing{}}
	for _, l := range slices.Backward(lines) {
		if err := t.read(l.Event, l.at); err != nil {
			return nil, 0, fmt.Errorf("read %s at byte %d: %w", id.LIFE(), l.at, err)
		}
	}
	for i, e := range t.list {
		body, err := t.body(e.snapshot)
		if err == nil {
			err = json.Unmarshal(body, &e.state)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read epoch %d of %s: %w", e.K, id.Name, err)
		}
		if i > 0 {
			e.Before = t.list[i-1].Last
		}
		for k := range e.Fades {
			e.Fades[k].look(e, t.list[max(i-1, 0)])
		}
	}
	if list = t.list; begin > 0 && len(list) > 0 {
		list[0].Cut = true
		if len(list) > epochsShown {
			list = list[1:] // of the one before only the end was read
		}
		older = list[0].begin
	}
	for _, e := range list {
		for _, r := range e.state.Faded {
			l := mind.Listing{Ref: blobs.Ref{Gist: r.Original.Gist}, From: r.From, To: r.To}
			t.known[r.Original.Hash.String()[:digits]] = l
			if r.Summary != nil {
				t.known[r.Summary.Hash.String()[:digits]] = l
			}
		}
	}
	for _, e := range list {
		for k := range e.Reminded {
			r := &e.Reminded[k]
			if l, ok := t.known[r.Hash[:min(digits, len(r.Hash))]]; ok {
				r.Gist, r.From, r.To = l.Ref.Gist, l.From, l.To
			}
		}
	}
	return list, older, nil
}

// teller follows the lines of LIFE from epoch to epoch.
type teller struct {
	store  *blobs.Store
	list   []*epoch
	fading []faded                 // that no epoch has followed yet
	known  map[string]mind.Listing // by the first digits of the original: where what was named in hints is from
}

// digits are so many of a hash as each ref shows.
const digits = 16

func (t *teller) read(line life.Event, at int64) error {
	if !slices.Contains([]string{"epoch", "fade", "reply", "spent", "hint", "result"}, line.Kind) || line.Kind == "result" && line.Get("opened") == "" {
		return nil
	}
	parsed, err := event.Parse(line)
	if err != nil {
		return err
	}
	refs := append(line.Refs, blobs.Ref{}, blobs.Ref{})
	switch e := parsed.(type) {
	case event.Epoch:
		if n := len(t.list); n == 0 || t.list[n-1].K != e.K {
			t.list = append(t.list, &epoch{K: e.K, Why: e.Why, At: line.At, begin: at, snapshot: refs[0].Hash, Fades: t.fading})
		}
		t.fading = nil
	case event.Fade:
		f := faded{Fade: e, Original: refs[0], Replacement: refs[1]}
		if e.To == mind.Card {
			f.Original, f.Replacement = blobs.Ref{}, refs[0]
		}
		t.fading = append(t.fading, f)
	default: // fades take effect only with an epoch in the same append
		t.fading = nil
	}
	if len(t.list) == 0 {
		return nil
	}
	now := t.list[len(t.list)-1]
	switch e := parsed.(type) {
	case event.Reply:
		now.add(e.Tokens)
		now.Calls++
		if now.turn != e.Turn {
			now.turn, now.Turns = e.Turn, now.Turns+1
		}
		now.sizes = append(now.sizes, e.In+e.Out)
		now.After, now.Last = now.sizes[0], e.In+e.Out
	case event.Spent:
		now.add(e.Tokens)
		now.Calls += e.Calls
		if e.On == "compaction" {
			now.Forgetting += e.USD
		}
	case event.Hint:
		body, _ := t.body(refs[0].Hash) // without it, the hint is shown without what it says
		for _, l := range mind.ReadCard(body) {
			t.known[l.Ref.Hash[:min(digits, len(l.Ref.Hash))]] = l
		}
		for _, hash := range e.Refs {
			now.remind(reminder{Entry: mind.EntryID(e.N), At: line.At, Hash: hash})
		}
	case event.Result:
		now.remind(reminder{Entry: e.ID, At: line.At, Hash: e.Opened, Gist: refs[0].Gist, Opened: true})
	}
	return nil
}

func (e *epoch) add(t event.Tokens) {
	e.In, e.Cached, e.USD = e.In+t.In, e.Cached+t.Cached, e.USD+t.USD
}

func (e *epoch) remind(r reminder) {
	r.n = len(e.sizes)
	e.Reminded = append(e.Reminded, r)
}

func (t *teller) body(hash string) ([]byte, error) {
	h, err := t.store.Resolve(hash)
	if err != nil {
		return nil, err
	}
	blob, err := t.store.Get(h)
	return blob.Body, err
}

// at is the faded range of an entry, or nil.
func (e *epoch) at(n int) *mind.Range {
	i := slices.IndexFunc(e.state.Faded, func(r mind.Range) bool { return r.From <= n && n <= r.To })
	if i < 0 {
		return nil
	}
	return &e.state.Faded[i]
}

// look finds what the entries were in the epoch before, and what they are since.
func (f *faded) look(now, before *epoch) {
	f.Was = "live"
	if r := before.at(f.Entries.From); r != nil {
		f.Was = r.Level
	}
	f.Away = 1
	if r := now.at(f.Entries.From); r != nil {
		f.Away += r.Tier
	}
}

// why says why an epoch began.
func why(word string) string {
	return cmp.Or(map[string]string{
		"boot": "its first", "settings": "opened with other settings", "model": "another model was asked for", "edit": "somebody edited the context",
		"full": "the context was nearly full", "limit": "the limit was reached", "agent": "it wanted to forget", "person": "somebody had it forget",
	}[word], word)
}

// share says how much of a whole a part is.
func share(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
