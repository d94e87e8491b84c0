package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe"
	"lethe/blobs"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// naive is how contexts are compacted elsewhere, for comparison. What has faded
// is text like any other: it is summarised again with the rest.
type naive struct{ *run }

// piece is a part of the context that is kept or replaced as a whole: a live
// entry (a reply with its results), or a range that was replaced before.
type piece struct {
	from, to int
	text     string // as a summariser reads it
	original string // as it is kept; "" when nothing is
	tokens   int
	live     bool
}

// pieces is the whole context, oldest first, without the newest unit and what
// follows it.
func (n *naive) pieces() []piece {
	s := n.id.state
	meter := n.meter()
	var out []piece
	for _, r := range s.Faded {
		p := piece{from: r.From, to: r.To, text: fmt.Sprintf("◆ e%d note\n%s", r.From, r.Text), original: r.String() + "\n"}
		p.tokens = meter(p.text)
		out = append(out, p)
	}
	unit := s.Unit()
	for _, e := range s.Live {
		if unit == nil || e.N >= unit.N {
			break
		}
		p := piece{from: e.N, to: e.N, original: e.Original(n.id.store.read), live: true}
		p.text = readable(e)
		p.tokens = meter(p.text)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	return out
}

// readable is an entry below one header, which makes it a source for the
// offline model.
func readable(e *mind.Entry) string {
	var b strings.Builder
	b.WriteString(e.Header() + "\n" + e.Text)
	for _, c := range e.Calls {
		b.WriteString("\nresult: " + c.Text)
	}
	return b.String()
}

// plan picks what is replaced: the older half, everything, or the chunks of the
// older two thirds.
func (n *naive) plan() (job, bool) {
	all := n.pieces()
	total := 0
	for _, p := range all {
		total += p.tokens
	}
	most := map[string]int{Halve: total / 2, Rewrite: total, Classic: total * 2 / 3}[n.opts.Compactor]
	picked := 0
	for i, p := range all {
		if picked += p.tokens; picked > most && i > 0 {
			all = all[:i]
			break
		}
	}
	if len(all) < 2 {
		return nil, false
	}
	return &naiveJob{naive: n, chunks: [][]piece{all}, frozen: n.trunk.messages[:len(n.trunk.messages):len(n.trunk.messages)]}, true
}

// attempts bounds how often a naive compaction is repeated before one request.
const attempts = 8

func (n *naive) squeeze() error {
	for range attempts {
		j, ok := n.plan()
		if !ok || n.next() <= n.opts.Limit {
			break
		}
		if err := n.run.swap(j, true); err != nil {
			return err
		}
	}
	return nil
}

type naiveJob struct {
	*naive
	frozen  []mind.Message
	chunks  [][]piece
	digests []digest // of the chunks
}

// digest is what a summariser answers.
type digest struct {
	Summary   string
	Gist      string
	Relevance int
}

// ask has the chunks summarised: by forks, or in the classic way by requests
// that bring along what they are about.
func (j *naiveJob) ask(context.Context) {
	if j.opts.Compactor == Classic {
		j.segment()
	}
	for _, chunk := range j.chunks {
		var d digest
		answer := j.task("summarise", lethe.Summarise, chunk)
		_ = json.Unmarshal([]byte(answer), &d) // the offline model's own JSON
		j.digests = append(j.digests, d)
	}
}

// segment cuts the one chunk into several, of one subject each.
func (j *naiveJob) segment() {
	all := j.chunks[0]
	var cut struct{ Chunks []struct{ From string } }
	_ = json.Unmarshal([]byte(j.task("segment", lethe.Segment, all)), &cut)
	begins := map[string]bool{}
	for _, c := range cut.Chunks {
		begins[c.From] = true
	}
	j.chunks = nil
	for i, p := range all {
		if i == 0 || begins[mind.EntryID(p.from)] {
			j.chunks = append(j.chunks, nil)
		}
		last := len(j.chunks) - 1
		j.chunks[last] = append(j.chunks[last], p)
	}
}

// task asks the offline model about a chunk and accounts for the request.
func (j *naiveJob) task(name, instructions string, chunk []piece) string {
	tag := fmt.Sprintf("<task name=%q from=\"e%d\" to=\"e%d\">\n%s\n</task>", name, chunk[0].from, chunk[len(chunk)-1].from, strings.TrimSpace(instructions))
	var b strings.Builder
	if j.opts.Compactor == Classic {
		b.WriteString(mind.Notes("", j.id.lines) + "\n")
	}
	for _, p := range chunk {
		b.WriteString(p.text + "\n")
	}
	b.WriteString(tag)
	alone := []mind.Message{{Role: "system", Content: j.id.state.Stable.System}, {Role: "user", Content: b.String()}}
	answer, _ := rehearsal.Task(wires(alone), j.opts.SummaryRatio)
	if j.opts.Compactor == Classic {
		j.charge(alone, answer)
	} else {
		j.charge(append(j.frozen, mind.Message{Role: "user", Content: tag}), answer)
	}
	return answer.Text
}

// swap replaces the chunks: all of them, or in the classic way the least
// relevant half.
func (j *naiveJob) swap(mechanical bool) (string, error) {
	why := j.opts.Compactor
	if mechanical {
		j.digests, why = nil, "mechanical"
		for _, chunk := range j.chunks {
			j.digests = append(j.digests, j.clipped(chunk))
		}
	}
	order := make([]int, len(j.chunks))
	left, total := 0, 0
	for i, chunk := range j.chunks {
		order[i] = i
		for _, p := range chunk {
			total += p.tokens
		}
	}
	left = total
	target := j.opts.Target
	if j.opts.Compactor != Classic || mechanical {
		target = 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.digests[a].Relevance, j.digests[b].Relevance) })
	for _, i := range order {
		if float64(left) <= target*float64(total) {
			break
		}
		for _, p := range j.chunks[i] {
			left -= p.tokens
		}
		j.replace(j.chunks[i], j.digests[i])
	}
	return why, nil
}

// clipped is a summary without a model: the head and the tail of a chunk.
func (j *naiveJob) clipped(chunk []piece) digest {
	head, tail := chunk[0].text, chunk[len(chunk)-1].text
	cut := func(s string, n int) string {
		for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		return s[:min(n, len(s))]
	}
	return digest{Summary: cut(head, 2000) + "\n…\n" + cut(tail, 2000), Gist: "compacted without a model"}
}

// replace puts a summary in the place of a chunk. The original keeps what the
// chunk was, refs to earlier originals included; a rewrite keeps nothing.
func (j *naiveJob) replace(chunk []piece, d digest) {
	s := j.id.state
	from, to := chunk[0].from, chunk[len(chunk)-1].to
	var b strings.Builder
	for _, p := range chunk {
		b.WriteString(p.original)
	}
	text := blobs.Escape(blobs.Unescape(d.Summary))
	summary := j.id.put(d.Gist, []byte(d.Summary))
	original := summary
	if j.opts.Compactor != Rewrite {
		original = j.id.put(d.Gist, []byte(b.String()))
	}
	gone := map[int]bool{}
	for _, p := range chunk {
		gone[p.from] = true
	}
	s.Live = slices.DeleteFunc(slices.Clone(s.Live), func(e *mind.Entry) bool { return gone[e.N] })
	s.Faded = slices.DeleteFunc(slices.Clone(s.Faded), func(r mind.Range) bool { return gone[r.From] })
	s.Faded = append(s.Faded, mind.Range{From: from, To: to, Level: mind.Summary, Original: original, Relevance: d.Relevance, Summary: &summary, Text: text})
	slices.SortFunc(s.Faded, func(a, b mind.Range) int { return cmp.Compare(a.From, b.From) })
	j.id.fade(from, to, mind.Summary, d.Relevance, original, summary)
}
