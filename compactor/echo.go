package compactor

import (
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind"
)

// echo returns the gist of units that need no summary: of turns in which nothing had to be said, or of steps which only
// showed again what stands elsewhere; it leads there. It is "" for all others.
func echo(units []unit) string {
	if !slices.ContainsFunc(turns(units), func(t []unit) bool { return !quiet(t) }) {
		return gist("nothing to say: " + first(units[0]))
	}
	var from []string
	for _, u := range units {
		if u.Kind != mind.Hint && !u.done() {
			return ""
		}
		for _, c := range u.Calls {
			source := lookedUp(c)
			if source == "" {
				return ""
			}
			from = append(from, source)
		}
	}
	return gist(blobs.Unescape(strings.Join(slices.Compact(from), "; ")))
}

// lookedUp tells what a call opened or searched for; it is "" for other calls.
func lookedUp(c *mind.Call) string {
	if opened, ok := strings.CutPrefix(c.Text, mind.OpenedText); ok && c.Tool == "UNCOMPACT" {
		original, _, _ := strings.Cut(opened, ": characters ")
		return "opened again: hash=" + original
	}
	if c.Tool == "RECALL" {
		return "searched for " + c.Target()
	}
	return ""
}
