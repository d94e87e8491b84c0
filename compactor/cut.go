package compactor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lethe/chat"
	"lethe/internal/pattern"
	"lethe/mind"
)

// done reports whether an entry is a finished step of a turn: a reply with all results.
func (u unit) done() bool {
	calls := u.Kind == mind.Reply && len(u.Calls) > 0
	return calls && !u.Waits()
}

// silent reports whether a finished step has told nobody anything. It may fade while the lines before it stay.
func (u unit) silent() bool {
	return u.done() && !slices.ContainsFunc(u.Calls, func(c *mind.Call) bool { return c.Tool == "SAY" })
}

// turns cuts units into turns: lines with the replies to them. The last turn may be open.
func turns(units []unit) [][]unit {
	return cutBehind(units, func(i int) bool { return units[i].Final() })
}

// stretches cuts units into turns, and the open turn before each line that was heard in it. Behind the last of these
// lines it also cuts where the identity told somebody something, or the daemon told it: a turn that hears nothing
// more may go on for ever.
func stretches(units []unit) [][]unit {
	open, heard := 0, 0
	for i, unit := range units {
		switch {
		case unit.Final():
			open = i
		case unit.Kind == mind.Inbound:
			heard = i
		}
	}
	return cutBehind(units, func(i int) bool {
		if units[i].Final() {
			return true
		}
		isOpenReply := i >= open && units[i].Kind == mind.Reply
		if !isOpenReply {
			return false
		}
		next := units[i+1].Kind
		told := next != mind.Reply || !units[i].silent()
		behindLast := i > heard && told
		return next == mind.Inbound || behindLast
	})
}

// runs cuts units where their numbers do not follow on each other, where they are of rooms that are not together, and
// around quiet turns, which need no summary. Quiet turns together smaller than aloneChunk stay, since they would part
// the turns around them.
func runs(units []unit, together func(room, other string) bool) [][]unit {
	all, apart := turns(units), map[int]bool{}
	rooms, room := map[int]string{}, ""
	for _, u := range units {
		room = cmp.Or(u.Room, room)
		rooms[u.N] = room
	}
	for _, of := range cutBehind(all, func(i int) bool { return quiet(all[i]) != quiet(all[i+1]) }) {
		stretch := slices.Concat(of...)
		for _, u := range stretch {
			apart[u.N] = quiet(of[0]) && size(stretch) >= aloneChunk
		}
	}
	return cutBehind(units, func(i int) bool {
		n, next := units[i].N, units[i+1].N
		return next != n+1 || apart[n] != apart[next] || !together(rooms[n], rooms[next])
	})
}

// cutBehind cuts a list behind each index that last reports. It does not ask about the last index.
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

// pieces cuts a run of units into parts that no chunk may divide: whole turns, so that a question and
// its answer stay together. A turn of more than most tokens, or with only its steps in the run, is cut
// behind each reply.
func pieces(run []unit, most int) (out [][]unit) {
	for _, turn := range stretches(run) {
		if size(turn) <= most && slices.ContainsFunc(turn, func(u unit) bool { return u.Kind != mind.Reply }) {
			out = append(out, turn)
		} else {
			out = append(out, cutBehind(turn, func(i int) bool { return turn[i].Kind == mind.Reply })...)
		}
	}
	return out
}

// pack joins consecutive pieces to chunks of at most so many tokens; a larger piece is one by itself.
func pack(pieces [][]unit, most int) (chunks [][]unit) {
	for _, piece := range pieces {
		if n := len(chunks) - 1; n >= 0 && size(chunks[n])+size(piece) <= most {
			chunks[n] = append(chunks[n], piece...)
		} else {
			chunks = append(chunks, slices.Clone(piece))
		}
	}
	return chunks
}

// looked matches commands that only look.
var looked = pattern.Lazy("^(?:tail|head|cat|ls|wc|df|du|ps|stat|date|uptime|grep)(?: [^;&|<>$`\n]*)?$")

// looks reports whether a reply has only looked at something.
func (u unit) looks() bool {
	return u.done() && !slices.ContainsFunc(u.Calls, func(c *mind.Call) bool {
		isLook := slices.Contains([]string{"LIST", "READ_FILE", "GLOB", "GREP"}, c.Tool)
		return !isLook && !looked().MatchString(c.Arg("command"))
	})
}

// quiet reports whether a turn heard only triggers, only looked, and said nothing.
func quiet(turn []unit) bool {
	for _, unit := range turn[:len(turn)-1] {
		if unit.Kind == mind.Reply {
			if !unit.looks() {
				return false
			}
			continue
		}
		for line := range strings.Lines(unit.Text) {
			if tag, _, ok := roomLine(line); ok && !chat.ByTrigger(strings.TrimPrefix(tag, "AGENT:")) {
				return false
			}
		}
	}
	last := turn[len(turn)-1]
	return last.Final() && strings.TrimSpace(last.Text) == mind.Nothing
}

// plainChunks cuts a run whose chunks are plain, so that no model need be asked: it is one chunk, or its pieces are few
// or as large as chunks, and each large enough to stay alone. For other runs it returns nil.
func plainChunks(run []unit, set Settings) [][]unit {
	list := pieces(run, set.maxChunk())
	n := size(run)
	talks := len(stretches(run))
	isOneTurn := n <= set.maxChunk() && talks == 1
	isShort := n <= 2*minChunk && talks <= maxTopics
	if echo(run) != "" || !brief(run) && (isShort || isOneTurn || len(list) == 1) {
		return [][]unit{run}
	}
	few := len(list) <= plainPieces || 2*n >= len(list)*set.usualChunk()
	if !few || slices.ContainsFunc(list, func(p []unit) bool { return size(p) < minChunk }) {
		return nil
	}
	return list
}

// plainPieces bounds the pieces of a run that become a chunk each, whatever they are about.
const plainPieces = 3

// mechanicalChunks cuts a run without asking anybody: by size, at turns, into chunks of at
// most so many tokens. A short run still gives a few chunks: some may stay.
func mechanicalChunks(run []unit, most int) [][]unit {
	if echo(run) != "" {
		return [][]unit{run}
	}
	return tidy(pack(pieces(run, most), min(most, max(2*minChunk, size(run)/3))), most)
}

// tidy brings the chunks of one run to at most so many tokens, if whole pieces allow it:
// it splits large ones. Then the smallest join a neighbour as long as they are smaller than
// aloneChunk; or than minChunk, while there are too many: with less than minChunk, or than
// half the usual size, on average.
func tidy(chunks [][]unit, most int) [][]unit {
	var out [][]unit
	total := 0
	for _, c := range chunks {
		out = append(out, pack(pieces(c, most), most)...)
		total += size(c)
	}
	for {
		at, least := smallest(out, most)
		if at < 0 || least >= minChunk {
			return out
		}
		few := len(out) <= total/min(minChunk, most/4)
		if few && least >= aloneChunk {
			return out
		}
		out[at] = slices.Concat(out[at], out[at+1])
		out = slices.Delete(out, at+1, at+2)
	}
}

// smallest looks for two neighbours that may join and fit into a chunk together. Of several such pairs it takes the one
// with the smallest chunk. at is the index of its first, and least the size of its smaller; at is -1 if there is no
// pair.
func smallest(chunks [][]unit, most int) (at, least int) {
	at = -1
	var best []int
	for i := range len(chunks) - 1 {
		first, second := size(chunks[i]), size(chunks[i+1])
		sizes := []int{min(first, second), first + second}
		better := at < 0 || slices.Compare(sizes, best) < 0
		fit := first+second <= most && mayJoin(chunks[i], chunks[i+1])
		if better && fit {
			at, least, best = i, sizes[0], sizes
		}
	}
	return at, least
}

// brief reports whether units with a reply are too few for a summary: SEGMENT says at once what stays of them.
func brief(units []unit) bool {
	return size(units) < aloneChunk && slices.ContainsFunc(units, func(u unit) bool { return u.Kind == mind.Reply })
}

// cutAt makes chunks of a run from the ranges that a model named, whatever those
// are. It cuts before their beginnings and behind their ends, or at the nearer end of a
// piece. So a later range wins over one it overlaps, and a gap becomes a chunk of its own.
// If no range names an entry of the run, the error is ErrGarbage.
func cutAt(run []unit, ranges []entryRange, most int) ([][]unit, error) {
	from, to := run[0].N, run[len(run)-1].N
	begins := map[int]bool{}
	run = slices.Clone(run)
	for _, named := range ranges {
		if named.from > named.to {
			named.from, named.to = named.to, named.from
		}
		if named.to < from || named.from > to {
			continue // of entries that nobody asked about
		}
		begins[max(named.from, from)] = true
		begins[min(named.to, to)+1] = true
		run[slices.IndexFunc(run, func(u unit) bool { return u.N >= named.from })].begins = named
	}
	if len(begins) == 0 {
		return nil, fmt.Errorf("%w: it names none of the entries", ErrGarbage)
	}
	var chunks [][]unit
	cut := true
	for _, piece := range pieces(run, most) {
		after := false
		for i, u := range piece {
			if begins[u.N] {
				if 2*size(piece[:i]) < size(piece) {
					cut = true
				} else {
					after = true
				}
			}
		}
		if cut {
			chunks = append(chunks, nil)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], piece...)
		cut = after
	}
	return tidy(chunks, most), nil
}

// mayJoin reports whether two chunks may become one. A chunk that is to stay alone joins no other. Nor do a long result
// of a tool and words of people: a gist could tell only one of the two. Nor do chunks of more topics than a gist can
// name.
func mayJoin(before, behind []unit) bool {
	if topics(before)+topics(behind) > maxTopics {
		return false
	}
	alone := func(u unit) bool { return u.begins.alone }
	if slices.ContainsFunc(before, alone) || slices.ContainsFunc(behind, alone) {
		return false
	}
	return longResult(before) == longResult(behind)
}

// maxTopics bounds the topics of what is joined.
const maxTopics = 3

// topics counts the topics that SEGMENT has named.
func topics(chunk []unit) (count int) {
	for _, u := range chunk {
		count += u.begins.topics
	}
	return count
}

// longResult reports whether a chunk is mostly results of tools, such as a file, and long enough to need no neighbour.
func longResult(chunk []unit) bool {
	given := 0
	for _, u := range chunk {
		if len(u.Calls) > 0 {
			given += u.tokens
		}
	}
	return given >= minChunk && given > size(chunk)/2
}

// entryRange is a range of entry numbers with a model's remarks: the number of its topics, whether it joins no other
// range, and what stays of it.
type entryRange struct {
	from, to, topics int
	alone            bool
	remarks          remarks
}
