package replay

import (
	"strings"

	"lethe/blobs"
	"lethe/compactor/recall/text"
	"lethe/mind"
)

// Reach says how far away the texts are that a life has seen, in shares of all
// their bytes: how many refs have to be opened, starting from the final context,
// until a text stands there whole.
type Reach struct {
	Bytes       int        `json:"bytes"`
	Refs        [4]float64 `json:"refs"` // 0 (verbatim in the context), 1, 2, 3 or more
	Unreachable float64    `json:"unreachable"`
}

// Near is the share of all bytes that at most two refs lead to.
func (r Reach) Near() float64 { return r.Refs[0] + r.Refs[1] + r.Refs[2] }

// witness remembers everything that a life has seen, to look for it at the end.
type witness struct {
	parts map[string]string       // of entries, by their heads: the whole text
	own   map[blobs.Hash][]string // the parts that a blob is the original of
	until int                     // the last entry taken in
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
func (w *witness) reach(s *mind.State, st *store) Reach {
	depths := map[string]int{} // refs to open for a part
	foundIn := func(body string, depth int) {
		for sec := range text.Sections(body) {
			key, said := part(sec, body)
			if _, before := depths[key]; !before && strings.Contains(said, w.parts[key]) {
				depths[key] = depth
			}
		}
	}
	var mentions []string
	for _, e := range s.Live {
		foundIn(e.Full(), 0)
	}
	for _, m := range s.Messages("") {
		mentions = append(mentions, blobs.Mentions(m.Content.String())...)
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
			for _, key := range w.own[h] {
				if _, before := depths[key]; !before {
					depths[key] = depth
				}
			}
			body := string(st.bodies[h])
			foundIn(body, depth)
			next = append(next, blobs.Mentions(body)...)
		}
		mentions = next
	}
	return w.total(depths)
}

func (w *witness) total(depths map[string]int) (r Reach) {
	var at [4]int
	lost := 0
	for key, said := range w.parts {
		r.Bytes += len(said)
		if depth, ok := depths[key]; ok {
			at[min(depth, 3)] += len(said)
		} else {
			lost += len(said)
		}
	}
	for d, n := range at {
		r.Refs[d] = share(n, r.Bytes)
	}
	r.Unreachable = share(lost, r.Bytes)
	return r
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
