package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
)

// removed stands where a person took something away that cannot be missing.
const removed = "(removed by a person)"

// Amend carries an edit out. put stores a blob and returns its ref. The caller
// renders the stable parts anew and commits the result as an epoch. After an
// error the state is not to be used.
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
		n := 1
		for n < len(rest) && rest[n] == rest[0]+n {
			n++
		}
		if err := s.drop(rest[0], rest[n-1], put); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (s *State) amend(c Change, put func(string, []byte) (Ref, error)) error {
	i := slices.IndexFunc(s.Live, func(e *Entry) bool { return e.N == c.N })
	e := *s.Live[i]
	body := []byte(c.Text)
	if e.Kind == Reply && c.K == 0 {
		var a Answer
		a.Reasoning, a.Text = splitReply(c.Text)
		body = a.Encode()
	}
	view, err := put(fmt.Sprintf("e%d as a person edited it", c.N), body)
	if err != nil {
		return err
	}
	s.Live[i] = &e
	if c.K == 0 {
		e.View = &view
		return e.look(body)
	}
	call := *e.Calls[c.K-1]
	call.View, call.Text = &view, string(body) // a copy: not the whole file
	e.Calls = slices.Clone(e.Calls)
	e.Calls[c.K-1] = &call
	return nil
}

// amendFaded gives a faded range another text, or takes it away: then the ref
// alone stands for it.
func (s *State) amendFaded(c Change, put func(string, []byte) (Ref, error)) error {
	i := slices.IndexFunc(s.Faded, func(r Range) bool { return r.From == c.N })
	if i < 0 {
		return nil
	}
	s.Faded = slices.Clone(s.Faded)
	r := &s.Faded[i]
	if strings.TrimSpace(c.Text) == "" {
		if r.Level == Summary {
			r.Level = Gist
		}
		r.Summary, r.Text = nil, ""
		return nil
	}
	body := blobs.Unescape(c.Text)
	ref, err := put(r.Original.Gist, []byte(body))
	if err != nil {
		return err
	}
	if r.Level == Gist {
		r.Level = Summary
	}
	r.Summary, r.Text = &ref, outside(body)
	return nil
}

// drop turns the live entries from..to into a faded range with a bare ref.
func (s *State) drop(from, to int, put func(string, []byte) (Ref, error)) error {
	var text strings.Builder
	first := ""
	s.Live = without(s.Live, func(e *Entry) bool {
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
	r := Range{From: from, To: to, Level: Gist, Original: ref, Epoch: s.Epoch + 1}
	s.Faded = Ordered(plus(s.Faded, r))
	return nil
}

// FirstLine is what an entry says first: its text, or its first call.
func (e *Entry) FirstLine() string {
	text := strings.TrimSpace(e.Text)
	if text == "" && len(e.Calls) > 0 {
		text = e.Calls[0].Tool + " " + e.Calls[0].Args
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}
