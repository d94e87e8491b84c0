package mind

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life/event"
)

// Snapshot renders the state as the body of an epoch's blob, for Restore. The texts
// of entries stay in their own blobs. It sets Size.
func (s *State) Snapshot() ([]byte, error) {
	body, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write epoch: %w", err)
	}
	body = append(body, '\n')
	s.Size = len(body)
	return body, nil
}

// StandIn renders a snapshot that replaces the lost one of an epoch.
func (s *State) StandIn(epoch int) ([]byte, error) {
	s.Epoch = epoch
	return s.Snapshot()
}

// Carry makes snapshots keep the JSON that package budget has folded from the same lines.
func (s *State) Carry(spending json.RawMessage) { s.Carried = spending }

// Determined renders the part of a snapshot that follows from the lines before it. With all, that is everything except
// the JSON of Carry. Without it, the fields that an epoch may change are left out, too.
func (s *State) Determined(all bool) []byte {
	copied := *s
	copied.Carried = nil
	if !all {
		copied.Context, copied.Stable, copied.Epoch, copied.Files, copied.Forgets = Context{}, Stable{}, 0, nil, nil
		copied.WantModel, copied.Away, copied.LastBlob = "", "", blobs.Hash{}
		copied.Window, copied.Short, copied.Overflows = 0, false, 0
	}
	text, _ := copied.Snapshot()
	return text
}

// Inputs are the parts of an epoch's requests that do not follow from the life.
type Inputs struct {
	System string
	Tools  json.RawMessage
	Params Params
	Texts  []Text // the texts that System and the past contain
	Spare  bool   // see Stable
}

// Renew begins a new epoch. The caller opens its past with Open and commits its
// Snapshot.
func (s *State) Renew(in Inputs) {
	if s.Stable.System != "" { // there was an epoch before
		s.Epoch++
	}
	if !in.Params.SameModel(s.Stable.Params) {
		s.Window, s.Short, s.Overflows = 0, false, 0 // they are about the other model
	}
	if was := s.Stable.Params; in.Params.Endpoint != was.Endpoint || in.Params.Asked != was.Asked {
		s.Away = ""
	}
	s.WantModel = ""
	s.Files = maps.Clone(s.Files)
	for _, text := range in.Texts {
		s.learn(text.Version())
	}
	s.Stable = Stable{System: in.System, Tools: string(in.Tools), Params: in.Params, Indented: true, Spare: in.Spare}
	s.Stable.withhold(s.Live, s.Next)
}

// Open renders the user message that opens the epoch: open questions, what was adopted, faded ranges, oldest first, the pins and, in the
// default order, MEMORY and the lines of LIFE. Without lines of LIFE it names the file and says when the epoch began, with
// the weekday and the offset of local time, by which the tags of later lines are read.
func (s *State) Open(memory string, life []string, began time.Time) {
	opened := pastHeader + s.stillOpen(s.Context) + s.Inheritance.text()
	s.Stable.Past = opened + "\n" + s.fadedText() + pinsText(s.shownPins())
	if s.Stable.Params.Order != OrderTail {
		s.Stable.Past += "\n" + Notes(memory, life)
	}
	if len(life) == 0 {
		s.Stable.Past += "\n" + lifeHeader + ": self/LIFE.md logs all that happened; this " +
			"context began " + began.Format("Monday 2006-01-02 15:04 -07:00")
	}
}

// ShowsAdopted reports whether the requests of this epoch list all that was adopted.
func (s *State) ShowsAdopted() bool { return strings.Contains(s.Stable.Past, s.Inheritance.text()) }

// NextParams returns the parameters of the next epoch: of each, the configured value, else the
// life's present one, else the default. A model that a person chose with /model stays until
// the configured one changes. MaxTokens is as configured.
func (s *State) NextParams(asked Params, defaultModel string) Params {
	has, wanted := s.Stable.Params, s.WantModel
	if asked.Endpoint != has.Endpoint { // another server may not know the old model
		has.Model, wanted = "", ""
	}
	if asked.Model != has.Asked { // the configuration has changed
		has.Model = cmp.Or(asked.Model, s.Away, has.Model)
		if s.Away != "" {
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

// Restore reads an epoch's body. It calls read for the blobs of the entries in
// the context, and for no others.
func Restore(body []byte, read func(blobs.Hash) ([]byte, error)) (*State, error) {
	state := New()
	state.Size = len(body)
	if err := json.Unmarshal(body, state); err != nil {
		return nil, fmt.Errorf("read epoch: %w", err)
	}
	if err := state.mend(); err != nil {
		return nil, fmt.Errorf("read epoch: %w", err)
	}
	for _, entry := range state.Live {
		// Older programs stored the event's kind, and spans that touch each other.
		entry.Kind, entry.Own = kindOf(entry.Kind), event.JoinSpans(entry.Own)
		if err := entry.reload(read); err != nil {
			return nil, fmt.Errorf("read epoch: entry e%d: %w", entry.N, err)
		}
	}
	return state, nil
}

// mend makes the maps that a snapshot has as null. It refuses a snapshot with a null in place of an entry, a call or a
// room. Snapshot writes no such null; a life from another home may have one.
func (s *State) mend() error {
	made := New()
	if s.Rooms == nil {
		s.Rooms = made.Rooms
	}
	if s.Files == nil {
		s.Files = made.Files
	}
	if s.Grants == nil {
		s.Grants = made.Grants
	}
	if s.Fires == nil {
		s.Fires = made.Fires
	}
	for _, entry := range s.Live {
		if entry == nil {
			return errors.New("an entry is null")
		}
		if slices.Contains(entry.Calls, nil) {
			return fmt.Errorf("a call of entry e%d is null", entry.N)
		}
	}
	for name, room := range s.Rooms {
		if room == nil {
			return fmt.Errorf("room %.99q is null", name)
		}
	}
	return nil
}
