package compactor

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind"
)

// echo returns the gist of units that are steps which only showed again what stands elsewhere: it leads there, so that
// they need no summary. It is "" for all others.
func (j Job) echo(units []unit) string {
	var from []string
	for _, u := range units {
		if u.Kind != mind.Hint && !done(u.Entry) {
			return ""
		}
		for _, c := range u.Calls {
			source := cmp.Or(lookedUp(c), j.readBefore(c))
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

// readBefore tells which of the newest originals shows the same lines of the same file as a call did.
func (j Job) readBefore(c *mind.Call) string {
	if c.Tool != "READ_FILE" || c.Status != mind.OK {
		return ""
	}
	for _, r := range j.request.Faded[max(0, len(j.request.Faded)-perCard):] {
		original, err := j.in.Read(r.Original.Hash)
		if err == nil && bytes.Contains(original, []byte("\n"+c.Text+"\n")) {
			return "read again, unchanged since hash=" + r.Original.Short + ": " + c.Target()
		}
	}
	return ""
}
