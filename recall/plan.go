package recall

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life"
)

// cursor is how far the log has been followed, and what is known from it that a
// later line needs.
type cursor struct {
	mark
	self string // the beginning of the life's address
	// entries are those that have not faded yet, with when they were written.
	entries map[int]time.Time
}

// task is one thing that the log asks of the index.
type task struct {
	from, to    int       // of an original: its entries
	first, last time.Time // when they were written; zero where that is not known
	ref         string    // the original's address or its beginning
	opened      blobs.Hash
	live        bool // its entries are still in the context
}

// follower turns events into tasks. A fade counts only with the epoch that
// follows it in the same append.
type follower struct {
	cursor
	fades []task
	// removed reads what a person took out of the context: only the epoch of the
	// edit names it.
	removed func(ref string) []task
}

// take folds one event and returns what is to be done. settled says that
// everything up to this event can be taken for done once the tasks are.
func (f *follower) take(e life.Event, follows bool) (tasks []task, settled bool) {
	if !follows {
		f.fades = nil
	}
	switch e.Kind {
	case "boot":
		if len(e.Refs) > 0 {
			f.self = e.Refs[0].Hash
		}
	case "fade":
		if t, ok := f.fade(e); ok {
			f.fades = append(f.fades, t)
		}
	case life.Epoch:
		tasks = f.fades
		if e.Get("why") == "edit" && len(e.Refs) > 0 {
			tasks = append(tasks, f.removed(e.Refs[0].Hash)...)
		}
		for i := range tasks {
			f.date(&tasks[i])
		}
		f.fades = nil
	case "result":
		if h, err := blobs.ParseHash(e.Get("opened")); err == nil {
			tasks = []task{{opened: h}}
		}
		f.seen(e)
	case "inbound", "reply", "note", "hint", "joined":
		if n := f.seen(e); e.Kind == "note" && e.Get("why") == "edit" && len(e.Refs) > 1 { // what the edit took away
			f.fades = append(f.fades, task{from: n, to: n, ref: e.Refs[1].Hash, live: true})
		}
	}
	return tasks, len(f.fades) == 0
}

// seen notes when entry n was written; a result belongs to its reply.
func (f *follower) seen(e life.Event) (n int) {
	id, _, _ := strings.Cut(e.Arg(0), ".")
	n, err := strconv.Atoi(strings.TrimPrefix(id, "e"))
	if err == nil {
		f.entries[n] = e.At
	}
	return n
}

// fade reads a line that replaces entries. A card has no original of its own.
func (f *follower) fade(e life.Event) (task, bool) {
	a, b, ok := strings.Cut(e.Arg(0), "..")
	from, err1 := strconv.Atoi(strings.TrimPrefix(a, "e"))
	to, err2 := strconv.Atoi(strings.TrimPrefix(b, "e"))
	if !ok || err1 != nil || err2 != nil || from > to || len(e.Refs) == 0 || e.Get("to") == "card" {
		return task{}, false
	}
	return task{from: from, to: to, ref: e.Refs[0].Hash}, true
}

// date says when the entries of a task were written.
func (f *follower) date(t *task) { f.each(*t, func(n int) { t.cover(f.entries[n]) }) }

// each calls do for the entries of a task that are known.
func (f *follower) each(t task, do func(n int)) {
	if t.to-t.from > len(f.entries) { // numbers that cannot all be there
		for n := range f.entries {
			if t.from <= n && n <= t.to {
				do(n)
			}
		}
		return
	}
	for n := t.from; n <= t.to; n++ {
		if _, ok := f.entries[n]; ok {
			do(n)
		}
	}
}

// settle moves the cursor behind what has been done. Nobody asks again for
// entries that have faded.
func (f *follower) settle(at mark, done []task) {
	f.mark = at
	for _, t := range done {
		if t.live {
			continue
		}
		f.each(t, func(n int) { delete(f.entries, n) })
	}
}

func (t *task) cover(at time.Time) {
	if t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if at.After(t.last) {
		t.last = at
	}
}

// removedBy lists the originals of an epoch's faded ranges. Most are known from
// their fades; what a person deleted is not.
func removedBy(epoch []byte) ([]task, error) {
	var state struct {
		Faded []struct {
			From     int    `json:"from"`
			To       int    `json:"to"`
			Level    string `json:"level"`
			Original struct {
				Hash blobs.Hash `json:"hash"`
			} `json:"original"`
		} `json:"faded"`
	}
	if err := json.Unmarshal(epoch, &state); err != nil {
		return nil, fmt.Errorf("read epoch: %w", err)
	}
	var out []task
	for _, r := range state.Faded {
		if r.Level != "card" && !r.Original.Hash.IsZero() && r.From <= r.To {
			out = append(out, task{from: r.From, to: r.To, ref: r.Original.Hash.String()})
		}
	}
	return out, nil
}

// encodeEntries packs the entries of a cursor: some bytes each.
func encodeEntries(entries map[int]time.Time) []byte {
	numbers := make([]int, 0, len(entries))
	for n := range entries {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var out []byte
	var n, at int64
	for _, k := range numbers {
		t := entries[k].UnixMicro()
		out = binary.AppendVarint(out, int64(k)-n)
		out = binary.AppendVarint(out, t-at)
		n, at = int64(k), t
	}
	return out
}

func decodeEntries(data []byte) (map[int]time.Time, error) {
	out := map[int]time.Time{}
	var n, at int64
	for len(data) > 0 {
		dn, i := binary.Varint(data)
		dt, j := binary.Varint(data[max(i, 0):])
		if i <= 0 || j <= 0 {
			return nil, errors.New("read entries: cut off")
		}
		n, at, data = n+dn, at+dt, data[i+j:]
		out[int(n)] = time.UnixMicro(at).UTC()
	}
	return out, nil
}
