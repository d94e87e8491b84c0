package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
)

// Amend carries out an edit. put stores a blob and returns its ref. The caller
// renders the stable parts anew and commits the result as an epoch. After an
// error the caller must drop the state.
func (s *State) Amend(ed Edit, put func(gist string, body []byte) (Ref, error)) error {
	for _, c := range ed.Changed {
		var err error
		if c.Faded {
			err = s.amendFaded(c, put)
		} else {
			err = s.amend(c, put)
		}
		if err != nil {
			return err
		}
	}
	if ed.Pins != nil {
		s.Pins = *ed.Pins
	}
	for rest := ed.Deleted; len(rest) > 0; {
		run := 1 // the length of the first run of consecutive entries
		for run < len(rest) && rest[run] == rest[0]+run {
			run++
		}
		if err := s.drop(rest[0], rest[run-1], s.Epoch+1, put); err != nil {
			return err
		}
		rest = rest[run:]
	}
	return nil
}

// amend gives a live entry, or the result of one of its calls, another text.
func (c *Context) amend(change Change, put func(string, []byte) (Ref, error)) error {
	at := slices.IndexFunc(c.Live, func(e *Entry) bool { return e.N == change.N })
	entry := *c.Live[at]
	body := []byte(change.Text)
	if entry.Kind == Reply && change.K == 0 {
		var answer Answer
		answer.Reasoning, answer.Text = splitReply(change.Text)
		body = answer.Encode()
	}
	view, err := put(fmt.Sprintf("e%d as a person edited it", change.N), body)
	if err != nil {
		return err
	}
	c.Live[at] = &entry
	if change.K == 0 {
		entry.View = &view
		return entry.look(body)
	}
	call := *entry.Calls[change.K-1]
	call.View, call.Text = &view, string(body) // a copy: the original would hold the whole file in memory
	entry.Calls = slices.Clone(entry.Calls)
	entry.Calls[change.K-1] = &call
	return nil
}

// amendFaded gives a faded range another text. An empty one leaves only the range's ref.
func (c *Context) amendFaded(change Change, put func(string, []byte) (Ref, error)) error {
	at := slices.IndexFunc(c.Faded, func(r Range) bool { return r.From == change.N })
	if at < 0 {
		return nil
	}
	c.Faded = slices.Clone(c.Faded)
	amended := &c.Faded[at]
	if strings.TrimSpace(change.Text) == "" {
		if amended.Level == Summary {
			amended.Level = Gist
		}
		amended.Summary, amended.Text = nil, ""
		return nil
	}
	body := blobs.Unescape(change.Text)
	ref, err := put(amended.Original.Gist, []byte(body))
	if err != nil {
		return err
	}
	if amended.Level == Gist {
		amended.Level = Summary
	}
	amended.Summary, amended.Text = &ref, outside(body)
	return nil
}

// drop turns the live entries from..to into a faded range with a bare ref, as of an epoch.
func (c *Context) drop(from, to, epoch int, put func(string, []byte) (Ref, error)) error {
	var text strings.Builder
	first := ""
	c.Live = without(c.Live, func(e *Entry) bool {
		gone := from <= e.N && e.N <= to
		if gone {
			first = cmp.Or(first, e.FirstLine())
			text.WriteString(e.Full())
		}
		return gone
	})
	gist := fmt.Sprintf("e%d..e%d, removed from the context by a person: %s", from, to, blobs.Unescape(first))
	ref, err := put(gist, []byte(text.String()))
	if err != nil {
		return err
	}
	dropped := Range{From: from, To: to, Level: Gist, Original: ref, Epoch: epoch}
	c.Faded = Ordered(plus(c.Faded, dropped))
	return nil
}
