package mind

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
)

// Snapshot renders the state as the body of an epoch's blob: everything to
// resume from, with the texts of entries left to their own blobs.
func (s *State) Snapshot() ([]byte, error) {
	body, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write epoch: %w", err)
	}
	body = append(body, '\n')
	s.Size = len(body)
	return body, nil
}

// StandIn renders a snapshot that folds in the place of a lost one.
func (s *State) StandIn(epoch int) ([]byte, error) {
	s.Epoch = epoch
	return s.Snapshot()
}

// Carry has snapshots keep what package budget has folded of the same lines.
func (s *State) Carry(spending json.RawMessage) { s.Carried = spending }

// Determined renders the part of a snapshot that follows from the lines before it: all that is the mind's, or,
// where an epoch changes the request, without that.
func (s *State) Determined(all bool) []byte {
	d := *s
	d.Carried = nil
	if !all {
		d.Context, d.Stable, d.Epoch, d.Files, d.Forgets = Context{}, Stable{}, 0, nil, nil
		d.WantModel, d.Away, d.LastBlob, d.Window, d.Overflows = "", "", blobs.Hash{}, 0, 0
	}
	text, _ := d.Snapshot()
	return text
}

// Inputs are what an epoch's requests begin with, beside what the life itself has.
type Inputs struct {
	System string
	Tools  json.RawMessage
	Params Params
	Texts  []Text // that are in them
}

// Renew begins a new epoch. The caller opens its past with Open and commits its
// Snapshot.
func (s *State) Renew(in Inputs) {
	if s.Stable.System != "" { // there was an epoch before
		s.Epoch++
	}
	if !in.Params.SameModel(s.Stable.Params) {
		s.Window, s.Overflows = 0, 0 // what was learned was the other one's
	}
	if was := s.Stable.Params; in.Params.Endpoint != was.Endpoint || in.Params.Asked != was.Asked {
		s.Away = ""
	}
	s.WantModel = ""
	s.Files = maps.Clone(s.Files)
	for _, t := range in.Texts {
		s.learn(t.Version())
	}
	s.Stable = Stable{System: in.System, Tools: string(in.Tools), Params: in.Params, Indented: true}
	s.withhold()
}

// withhold ends the time in which the Opaque of the entries so far goes back.
func (s *State) withhold() {
	if slices.ContainsFunc(s.Live, (*Entry).opaque) {
		s.Stable.Since = s.Next
	}
}

// Open renders the user message that opens the epoch: what is still asked, what has faded, oldest first, the
// pins and, in the default order, MEMORY and what is shown of LIFE: mostly no line, but
// where it is and when the epoch began.
func (s *State) Open(memory string, life []string, began time.Time) {
	s.Stable.Past = pastHeader + s.stillOpen() + "\n" + s.Forgotten()
	if s.Stable.Params.Order != OrderTail {
		s.Stable.Past += "\n" + Notes(memory, life)
	}
	if len(life) == 0 {
		s.Stable.Past += "\n" + lifeHeader + ": self/LIFE.md logs all that happened; this " +
			"context began " + began.UTC().Format(time.DateOnly)
	}
}

// NextParams returns the parameters of the next epoch: what is asked for now, then
// what the life has, then the defaults. MaxTokens is as asked.
func (s *State) NextParams(asked Params, defaultModel string) Params {
	has, wanted := s.Stable.Params, s.WantModel
	if asked.Endpoint != has.Endpoint { // another server need not know the old model
		has.Model, wanted = "", ""
	}
	if asked.Model != has.Asked { // configured since; otherwise a /model stays
		if has.Model = cmp.Or(asked.Model, s.Away, has.Model); s.Away != "" {
			wanted = ""
		}
	}
	return Params{
		Model:     cmp.Or(wanted, has.Model, asked.Model, defaultModel),
		MaxTokens: asked.MaxTokens,
		Thinking:  cmp.Or(asked.Thinking, has.Thinking, "enabled"),
		Effort:    cmp.Or(asked.Effort, has.Effort),
		Order:     cmp.Or(asked.Order, has.Order),
		Endpoint:  asked.Endpoint,
		Asked:     asked.Model,
	}
}

// Restore reads an epoch's body. It asks read for the blobs of the entries that
// are in the context, and for no others.
func Restore(body []byte, read func(blobs.Hash) ([]byte, error)) (*State, error) {
	s := New()
	s.Size = len(body)
	if err := json.Unmarshal(body, s); err != nil {
		return nil, fmt.Errorf("read epoch: %w", err)
	}
	for _, e := range s.Live {
		e.Kind, e.Own = kindOf(e.Kind), joinSpans(e.Own) // older programs kept the event's, and spans that touch each other
		if err := e.reload(read); err != nil {
			return nil, fmt.Errorf("read epoch: entry e%d: %w", e.N, err)
		}
	}
	return s, nil
}

// stillOpen lists the questions whose calls have faded, as the past begins with them.
func (s *State) stillOpen() (text string) {
	for _, q := range s.Questions {
		if n, _, _ := ParseID(q.Call); s.Entry(n) == nil {
			text += fmt.Sprintf("\n%s is still open, asked in %s in room %s: %s", q.ID, EntryID(n), q.Room, q.Ref)
		}
	}
	return text
}
