package recall

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// A probe is what somebody types to find a line of a life. cmd/lab/probes.py makes them.
type probe struct {
	Kind, Half, Life, Asked string
	Want                    []int     // lines, one of which is to be found
	Now                     time.Time // zero: when the last line was said
	After                   int       // lines that are said by then; 0: all
}

type probeLine struct {
	Text, Who string
	At        time.Time
	S         int // the session
}

// How many probes of LETHE_PROBES find an original with a wanted line first, and how many show one among the first five,
// of each kind and half.
func TestProbes(t *testing.T) {
	path := os.Getenv("LETHE_PROBES")
	if path == "" {
		t.Skip("LETHE_PROBES names no file of probes")
	}
	data, err := os.ReadFile(path)
	lethetest.Must(t, err)
	var set struct {
		Lives  map[string][]probeLine
		Probes []probe
	}
	lethetest.Must(t, json.Unmarshal(data, &set))
	counts := map[string][3]int{}
	for name, lines := range set.Lives {
		var mine []probe
		for _, p := range set.Probes {
			if p.After == 0 {
				p.After = len(lines)
			}
			if p.Life == name {
				mine = append(mine, p)
			}
		}
		slices.SortStableFunc(mine, func(a, b probe) int { return a.After - b.After })
		w := newWorld(t)
		var of []blobs.Hash // the originals of the lines
		for _, p := range mine {
			for len(of) < p.After {
				of = w.tells(lines[:p.After], of)
			}
			if p.Now.IsZero() {
				p.Now = w.now
			}
			found, err := w.open().Search(t.Context(), w.store, Query{Text: p.Asked, Limit: 5, Now: p.Now})
			lethetest.Must(t, err)
			count, key := counts[p.Kind+"\t"+p.Half], p.Kind+"\t"+p.Half
			count[0]++
			isOf := func(h Hit) bool {
				return slices.ContainsFunc(p.Want, func(line int) bool { return of[line] == h.Hash })
			}
			if len(found.Hits) > 0 && isOf(found.Hits[0]) {
				count[1]++
			}
			if slices.ContainsFunc(found.Hits, func(h Hit) bool {
				return slices.ContainsFunc(p.Want, func(line int) bool { return of[line] == h.Hash && saysPart(h, lines[line]) })
			}) {
				count[2]++
			}
			counts[key] = count
		}
	}
	var table []string
	for key, n := range counts {
		table = append(table, fmt.Sprintf("%s\t%d\t%.1f\t%.1f", key, n[0], 100*float64(n[1])/float64(n[0]), 100*float64(n[2])/float64(n[0])))
	}
	slices.Sort(table)
	t.Log("\n" + strings.Join(table, "\n"))
}

// saysPart reports whether a hit shows the beginning of a line.
func saysPart(h Hit, line probeLine) bool {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	begin := strings.ToValidUTF8(line.Text[:min(len(line.Text), 40)], "")
	return strings.Contains(words(h.Shown()), words(blobs.Escape(begin)))
}

// tells lets the next lines fade, at most eight of one session, and syncs behind the last. It returns the originals so far.
func (w *world) tells(lines []probeLine, of []blobs.Hash) []blobs.Hash {
	w.t.Helper()
	body, from := "", len(of)
	end := from
	for end < len(lines) && end < from+8 && lines[end].S == lines[from].S {
		l := lines[end]
		if l.Who == "" {
			l.Who, l.At = "ann", w.now
		}
		body += fmt.Sprintf("◆ e%d inbound room=dev ◱hash=0123456789abcdef gist=…◲\n[USER:%s %s] %s\n",
			w.next, strings.ToLower(l.Who), l.At.UTC().Format(time.RFC3339), blobs.Escape(l.Text))
		w.next++
		end++
	}
	hash := w.fades(body)[0]
	if end == len(lines) {
		w.synced()
	}
	return append(of, slices.Repeat([]blobs.Hash{hash}, end-from)...)
}
