package compactor

import (
	"fmt"
	"slices"

	"lethe/mind"
)

// split cuts consecutive units near their middle, and the halves again, until
// none is larger than most tokens or it is one unit. It prefers to cut before
// something that was heard, since that is where turns begin.
func split(units []unit, most int) [][]unit {
	total := size(units)
	if total <= most || len(units) < 2 {
		return [][]unit{units}
	}
	best, at, left := 0, 0, 0
	for i := 1; i < len(units); i++ {
		left += units[i-1].tokens
		uneven := max(2*left-total, total-2*left)
		if units[i].Kind != mind.Inbound {
			uneven += total / 5
		}
		if at == 0 || uneven < best {
			best, at = uneven, i
		}
	}
	return append(split(units[:at:at], most), split(units[at:], most)...)
}

// mechanicalChunks cuts a run without asking anybody: by size, at turns, into chunks of most tokens. A short
// run still gives a few chunks, so that there is a choice of what fades.
func mechanicalChunks(run []unit, most int) [][]unit {
	return tidy(split(run, min(most, max(2*minChunk, size(run)/3))), most)
}

// tidy brings the chunks of one run to between aloneChunk and most tokens, as far
// as whole units allow: large ones are split, small ones join a neighbour.
func tidy(chunks [][]unit, most int) [][]unit {
	var out [][]unit
	for _, c := range chunks {
		out = append(out, split(c, most)...)
	}
	for i := 0; i < len(out); {
		j := neighbour(out, i, most)
		if j < 0 {
			i++
			continue
		}
		a, b := min(i, j), max(i, j)
		out[a] = slices.Concat(out[a], out[b])
		out = slices.Delete(out, b, b+1)
		i = a
	}
	return out
}

// neighbour returns the chunk that chunk i joins, the smaller of the two beside
// it, or -1 when it is large enough or does not fit into either.
func neighbour(chunks [][]unit, i, most int) int {
	n := size(chunks[i])
	if n >= aloneChunk {
		return -1
	}
	best, at := most-n+1, -1
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(chunks) && size(chunks[j]) < best {
			best, at = size(chunks[j]), j
		}
	}
	return at
}

// cutAt makes chunks of a run from the ranges that a model named, whatever those
// are: their beginnings and what follows their ends are where it is cut, so that
// a later range wins over one it overlaps, and a gap becomes a chunk of its own. Ranges
// that name none of the entries are garbage.
func cutAt(run []unit, ranges []entryRange, most int) ([][]unit, error) {
	from, to := run[0].N, run[len(run)-1].N
	begins := map[int]bool{}
	for _, r := range ranges {
		if r.from > r.to {
			r.from, r.to = r.to, r.from
		}
		if r.to < from || r.from > to {
			continue // of entries that nobody asked about
		}
		begins[max(r.from, from)] = true
		begins[min(r.to, to)+1] = true
	}
	if len(begins) == 0 {
		return nil, fmt.Errorf("%w: it names none of the entries", ErrGarbage)
	}
	var chunks [][]unit
	for i, u := range run {
		if i == 0 || begins[u.N] {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], u)
	}
	return tidy(chunks, most), nil
}

// entryRange is a range of entry numbers as a model gave it.
type entryRange struct{ from, to int }
