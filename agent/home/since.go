package home

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// harmless are tools that a note leaves out, since they change nothing; the lines of SAY are told as posted.
var harmless = strings.Fields("READ_FILE LIST GLOB GREP UNCOMPACT RECALL COMPACT WAIT SAY FETCH SEARCH")

// DoneSince lists acts behind a moment that nobody can undo: calls and what they were about, and lines said.
func DoneSince(id Identity, store *blobs.Store, then Then) (lines []string, err error) {
	about := map[string][]string{}
	var answer mind.Answer
	from := life.Mark{Offset: then.End}
	err = life.ReadOn(id.LIFE(), &from, func(line life.Event, _ bool) (err error) {
		switch e, perr := event.Parse(line); e := e.(type) {
		case event.Reply:
			bodies, err := Load(line, store)
			if err == nil {
				answer, err = mind.DecodeAnswer(bodies[0].Data)
			}
			return err
		case event.Call:
			_, k, err := mind.ParseID(e.ID)
			isKnown := err == nil && k <= len(answer.Calls)
			if isKnown && !slices.Contains(harmless, e.Tool) {
				call := &mind.Call{Args: answer.Calls[k-1].Args}
				about[e.Tool] = append(about[e.Tool], blobs.Gist(call.Target()))
			}
		case event.Run:
			about[e.Tool] = append(about[e.Tool], "approved as "+e.ID)
		case event.Posted:
			about["lines that you said"] = append(about["lines that you said"], "room "+e.Room)
		default:
			return perr
		}
		return nil
	})
	for _, what := range slices.Sorted(maps.Keys(about)) {
		n := len(about[what])
		slices.Sort(about[what])
		each := strings.Join(slices.Compact(about[what]), "; ")
		lines = append(lines, fmt.Sprintf("- %s (%d): %s", what, n, mind.CutRunes(each, 500)))
	}
	return lines, err
}
