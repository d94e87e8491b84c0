package compactor

import (
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind"
)

// echo returns the gist of units that are steps which only showed again what stands elsewhere: it leads there, so that
// they need no summary. It is "" for all others.
func echo(units []unit) string {
	var from []string
	for _, u := range units {
		if u.Kind != mind.Hint && !done(u.Entry) {
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
