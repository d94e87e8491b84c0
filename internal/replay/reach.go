package replay

import (
	"strings"

	"lethe/blobs"
	"lethe/mind"
	"lethe/recall/text"
)

// Reach says how far away the bytes are that a life has seen, in shares of all
// of them: how many refs have to be opened, starting from the final context.
type Reach struct {
	Bytes       int        `json:"bytes"`
	Refs        [4]float64 `json:"refs"` // 0 (verbatim in the context), 1, 2, 3 or more
	Unreachable float64    `json:"unreachable"`
}

// witness remembers everything that a life has seen, to look for it at the end.
type witness struct {
	parts map[string]string       // of entries, by their heads: the whole text
	order []string                // keys of parts
	own   map[blobs.Hash][]string // the parts that a blob is the original of
	until int                     // the last entry taken in
}

func newWitness() *witness {
	return &witness{parts: map[string]string{}, own: map[blobs.Hash][]string{}}
}

// see takes in what has been added to the life, all of whose calls have results.
func (w *witness) see(s *mind.State, read func(blobs.Hash) ([]byte, error)) {
	for _, e := range s.Live {
		if e.N <= w.until {
			continue
		}
		w.until = e.N
		original := e.Original(read)
		for sec := range text.Sections(original) {
			key, said := part(sec, original)
			if key == "" || said == "" {
				continue
			}
			w.parts[key] = said
			w.order = append(w.order, key)
			h := e.Ref.Hash
			if sec.Kind == "result" {
				h = e.Calls[sec.Call-1].Result.Hash
			}
			w.own[h] = append(w.own[h], key)
		}
	}
}

// part returns what a section of an original says, under a key like "e5", "e5.1 call"
// and "e5.1 result". A faded range has none.
func part(s *text.Section, original string) (key, said string) {
	switch {
	case s.Entry == 0:
	case s.Call > 0:
		key = mind.CallID(s.Entry, s.Call) + " " + s.Kind
	default:
		key = mind.EntryID(s.Entry)
	}
	return key, strings.Trim(s.Text(original), "\n")
}

// reach opens every ref that can be come by, nearest first.
func (w *witness) reach(s *mind.State, tail string, st *store) Reach {
	nearest := map[string][4]int{} // per part, the bytes seen with up to so many refs
	found := func(key, said string, depth int) {
		whole, ok := w.parts[key]
		if !ok {
			return
		}
		seen, n := nearest[key], visible(said, whole)
		for d := min(depth, 3); d < len(seen); d++ {
			seen[d] = max(seen[d], n)
		}
		nearest[key] = seen
	}
	foundIn := func(body string, depth int) {
		for sec := range text.Sections(body) {
			key, said := part(sec, body)
			found(key, said, depth)
		}
	}
	var mentions []string
	for _, e := range s.Live {
		foundIn(e.Full(), 0)
	}
	for _, m := range s.Messages(tail) {
		mentions = append(mentions, blobs.Mentions(m.Content)...)
	}
	opened := map[blobs.Hash]bool{}
	for depth := 1; len(mentions) > 0; depth++ {
		var next []string
		for _, short := range mentions {
			h, ok := st.shorts[short]
			if !ok || opened[h] {
				continue
			}
			opened[h] = true
			body := string(st.bodies[h])
			for _, key := range w.own[h] {
				found(key, w.parts[key], depth)
			}
			foundIn(body, depth)
			next = append(next, blobs.Mentions(body)...)
		}
		mentions = next
	}
	return w.total(nearest)
}

func (w *witness) total(nearest map[string][4]int) Reach {
	var r Reach
	var at [4]int
	for _, key := range w.order {
		r.Bytes += len(w.parts[key])
		seen := nearest[key]
		for d, before := 0, 0; d < len(seen); d++ {
			at[d] += seen[d] - before
			before = seen[d]
		}
	}
	for d, n := range at {
		if n > 0 {
			r.Refs[d] = float64(n) / float64(r.Bytes)
		}
	}
	missing := r.Bytes - at[0] - at[1] - at[2] - at[3]
	r.Unreachable = share(missing, r.Bytes)
	return r
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// visible is how many bytes of whole a text shows that is all of it, or its head
// and its tail.
func visible(said, whole string) int {
	if strings.Contains(said, whole) {
		return len(whole)
	}
	head := 0
	for head < min(len(said), len(whole)) && said[head] == whole[head] {
		head++
	}
	tail := 0
	for tail < min(len(said), len(whole))-head && said[len(said)-1-tail] == whole[len(whole)-1-tail] {
		tail++
	}
	return head + tail
}
