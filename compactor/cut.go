package compactor

import (
	"fmt"
	"slices"
	"strings"

	"lethe/chat"
	"lethe/mind"
)

// done reports whether an entry is a finished step of a turn: a reply with all results.
func (u unit) done() bool { return u.Kind == mind.Reply && len(u.Calls) > 0 && !u.Waits() }

// silent reports whether a finished step has told nobody anything: it may fade while what was heard before it stays.
func (u unit) silent() bool {
	return u.done() && !slices.ContainsFunc(u.Calls, func(c *mind.Call) bool { return c.Tool == "SAY" })
}

// turns cuts units behind what ends a turn: each is what was heard with the replies to it.
// The last may be open.
func turns(units []unit) [][]unit {
	return cutBehind(units, func(i int) bool { return units[i].Final() })
}

// stretches cuts units into turns, and the open one before each thing that was heard in it. Behind the last of these
// it cuts where the identity told something, or the daemon told it: a turn may go on for ever in which nothing more
// is heard.
func stretches(units []unit) [][]unit {
	open, heard := 0, 0
	for i, u := range units {
		switch {
		case u.Final():
			open = i
		case u.Kind == mind.Inbound:
			heard = i
		}
	}
	return cutBehind(units, func(i int) bool {
		next := units[i+1].Kind
		return units[i].Final() || i >= open && units[i].Kind == mind.Reply &&
			(next == mind.Inbound || i > heard && (next != mind.Reply || !units[i].silent()))
	})
}

// runs cuts units where their numbers do not follow on each other, and around quiet turns that need no summary. A
// stretch of them smaller than what may stand alone stays, since taking it out would part what stands around it.
func runs(units []unit) [][]unit {
	all, apart := turns(units), map[int]bool{}
	for _, of := range cutBehind(all, func(i int) bool { return quiet(all[i]) != quiet(all[i+1]) }) {
		stretch := slices.Concat(of...)
		for _, u := range stretch {
			apart[u.N] = quiet(of[0]) && size(stretch) >= aloneChunk
		}
	}
	return cutBehind(units, func(i int) bool {
		n, next := units[i].N, units[i+1].N
		return next != n+1 || apart[n] != apart[next]
	})
}

// cutBehind cuts a list behind what ends something; last is not asked of the end of the list.
func cutBehind[T any](units []T, last func(i int) bool) (out [][]T) {
	from := 0
	for i := range units {
		if i == len(units)-1 || last(i) {
			out = append(out, units[from:i+1:i+1])
			from = i + 1
		}
	}
	return out
}

// pieces cuts a run of units into what no cut may part: whole turns, so that a question and
// its answer stay together. A turn that is larger than a chunk, or of which only steps are
// there, may be cut behind each reply. A chunk has at most so many tokens.
func pieces(run []unit, most int) (out [][]unit) {
	for _, t := range stretches(run) {
		if size(t) <= most && slices.ContainsFunc(t, func(u unit) bool { return u.Kind != mind.Reply }) {
			out = append(out, t)
		} else {
			out = append(out, cutBehind(t, func(i int) bool { return t[i].Kind == mind.Reply })...)
		}
	}
	return out
}

// pack joins consecutive pieces to chunks of at most so many tokens; a larger piece is one by itself.
func pack(pieces [][]unit, most int) (chunks [][]unit) {
	for _, p := range pieces {
		if n := len(chunks) - 1; n >= 0 && size(chunks[n])+size(p) <= most {
			chunks[n] = append(chunks[n], p...)
		} else {
			chunks = append(chunks, slices.Clone(p))
		}
	}
	return chunks
}

// quiet reports whether a turn heard only triggers and said nothing, without a tool.
func quiet(turn []unit) bool {
	for _, u := range turn[:len(turn)-1] {
		if u.Kind == mind.Reply {
			return false
		}
		for line := range strings.Lines(u.Text) {
			if tag, _, ok := roomLine(line); ok && !chat.ByTrigger(strings.TrimPrefix(tag, "AGENT:")) {
				return false
			}
		}
	}
	last := turn[len(turn)-1]
	return last.Final() && strings.TrimSpace(last.Text) == mind.Nothing
}

// plainChunks cuts a run whose chunks are plain to see, so that no model need be asked: it is one, or its pieces
// are few or as large as chunks, and none so small that it might have to stay alone. For other runs it returns nil.
func plainChunks(run []unit, set Settings) [][]unit {
	list := pieces(run, set.maxChunk())
	n := size(run)
	if n <= 2*minChunk || n <= set.maxChunk() && len(stretches(run)) == 1 || len(list) == 1 || echo(run) != "" {
		return [][]unit{run}
	}
	few := len(list) <= plainPieces || 2*n >= len(list)*set.usualChunk()
	if !few || slices.ContainsFunc(list, func(p []unit) bool { return size(p) < minChunk }) {
		return nil
	}
	return list
}

// plainPieces is how many pieces are chunks whatever they are about.
const plainPieces = 3

// mechanicalChunks cuts a run without asking anybody: by size, at turns, into chunks of at
// most so many tokens. A short run still gives a few, so that there is a choice of what fades.
func mechanicalChunks(run []unit, most int) [][]unit {
	if echo(run) != "" {
		return [][]unit{run}
	}
	return tidy(pack(pieces(run, most), min(most, max(2*minChunk, size(run)/3))), most)
}

// tidy brings the chunks of one run to at most so many tokens, as far as whole pieces
// allow: large ones are split. The smallest join a neighbour as long as they are smaller
// than what may stand alone, or than minChunk while there are too many: with less than
// that, or than half the usual size, on average.
func tidy(chunks [][]unit, most int) [][]unit {
	var out [][]unit
	total := 0
	for _, c := range chunks {
		out = append(out, pack(pieces(c, most), most)...)
		total += size(c)
	}
	for {
		at, n := smallest(out, most)
		if at < 0 || n >= minChunk || n >= aloneChunk && len(out) <= total/min(minChunk, most/4) {
			return out
		}
		out = slices.Replace(out, at, at+2, slices.Concat(out[at], out[at+1]))
	}
}

// smallest returns the first of the two neighbours that may join and fit into a chunk together, those with the smallest
// chunk among them, and how small that is; at is -1 when there are none.
func smallest(chunks [][]unit, most int) (at, least int) {
	at = -1
	var best []int
	for i := range len(chunks) - 1 {
		a, b := size(chunks[i]), size(chunks[i+1])
		sizes := []int{min(a, b), a + b}
		if (at < 0 || slices.Compare(sizes, best) < 0) && a+b <= most && mayJoin(chunks[i], chunks[i+1]) {
			at, least, best = i, sizes[0], sizes
		}
	}
	return at, least
}

// cutAt makes chunks of a run from the ranges that a model named, whatever those
// are: their beginnings and what follows their ends are where it is cut, or the nearer end of a
// piece. So a later range wins over one it overlaps, and a gap becomes a chunk of its own. Ranges
// that name none of the entries are garbage.
func cutAt(run []unit, ranges []entryRange, most int) ([][]unit, error) {
	from, to := run[0].N, run[len(run)-1].N
	begins := map[int]bool{}
	run = slices.Clone(run)
	for _, r := range ranges {
		if r.from > r.to {
			r.from, r.to = r.to, r.from
		}
		if r.to < from || r.from > to {
			continue // of entries that nobody asked about
		}
		begins[max(r.from, from)] = true
		begins[min(r.to, to)+1] = true
		run[slices.IndexFunc(run, func(u unit) bool { return u.N >= r.from })].begins = r
	}
	if len(begins) == 0 {
		return nil, fmt.Errorf("%w: it names none of the entries", ErrGarbage)
	}
	var chunks [][]unit
	cut := true
	for _, p := range pieces(run, most) {
		after := false
		for i, u := range p {
			if begins[u.N] {
				before := 2*size(p[:i]) < size(p)
				cut, after = cut || before, after || !before
			}
		}
		if cut {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], p...)
		cut = after
	}
	return tidy(chunks, most), nil
}

// mayJoin reports whether two chunks may become one: not one that is to stay alone, nor what people said and a long
// text that a tool gave, of which a gist could tell only one.
func mayJoin(a, b []unit) bool {
	alone := func(u unit) bool { return u.begins.alone }
	return !slices.ContainsFunc(a, alone) && !slices.ContainsFunc(b, alone) && longResult(a) == longResult(b)
}

// longResult reports whether a chunk is mostly what tools gave, such as a file, and long enough to need no neighbour.
func longResult(c []unit) bool {
	given := 0
	for _, u := range c {
		if len(u.Calls) > 0 {
			given += u.tokens
		}
	}
	return given >= minChunk && given > size(c)/2
}

// entryRange is a range of entry numbers with what a model said of it: how many topics it has, how relevant it is, and
// that it joins no other range.
type entryRange struct {
	from, to, topics, relevance int
	alone                       bool
}
