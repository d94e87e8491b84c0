package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lethe"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/life/event"
	"lethe/mind"
)

// store keeps blobs in memory, by the addresses that they would have on disk.
type store struct {
	bodies map[blobs.Hash][]byte
	shorts map[string]blobs.Hash
}

func (s *store) put(m blobs.Meta, body []byte) mind.Ref {
	h := blobs.Sum(blobs.Encode(m, body))
	short := h.String()[:16]
	s.bodies[h], s.shorts[short] = body, h
	return mind.Ref{Hash: h, Short: short, Gist: blobs.Gist(m.Gist)}
}

func (s *store) read(h blobs.Hash) ([]byte, error) {
	body, ok := s.bodies[h]
	if !ok {
		return nil, fmt.Errorf("read blob %s: %w", h, blobs.ErrNotFound)
	}
	return body, nil
}

// The one room of a replay, who speaks in it, and who listens.
const (
	room    = "dev"
	speaker = "user"
	self    = "replay"
)

// identity is a life in memory: the events that an agent would write, folded by
// the real mind, with a clock that only events move.
type identity struct {
	store store
	state *mind.State
	at    time.Time
	roomN int64      // bytes of the room
	last  blobs.Hash // the newest blob
}

// born is when every replayed life begins: a Saturday, when prices are low.
var born = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

// tick is how far an event moves the clock.
const tick = 20 * time.Second

func newIdentity() (*identity, error) {
	d := &identity{
		store: store{map[blobs.Hash][]byte{}, map[string]blobs.Hash{}},
		state: mind.New(), at: born,
	}
	boot := d.store.put(blobs.Meta{At: d.at, Gist: "boot of " + self}, []byte(lethe.Soul))
	d.at = d.at.Add(tick)
	if err := d.apply(event.Boot{Name: self, Version: lethe.Version}, boot); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
	return d, d.record(
		event.Joined{N: d.state.Next, Room: room, First: &event.First{}},
		blob{"joined room " + room, []byte(text)},
	)
}

// blob is a body before it is stored.
type blob struct {
	gist string
	data []byte
}

// record records one event: its blobs, its line, its effect.
func (d *identity) record(e event.Event, bodies ...blob) error {
	d.at = d.at.Add(tick)
	var refs []mind.Ref
	for _, b := range bodies {
		refs = append(refs, d.put(b.gist, b.data))
	}
	return d.apply(e, refs...)
}

// put stores a blob of the life as its newest.
func (d *identity) put(gist string, body []byte) mind.Ref {
	r := d.store.put(blobs.Meta{At: d.at, Gist: gist, Life: d.state.Self, Parent: d.last}, body)
	d.last = r.Hash
	return r
}

func (d *identity) apply(e event.Event, refs ...mind.Ref) error {
	var bodies []mind.Body
	for _, r := range refs {
		bodies = append(bodies, mind.Body{Hash: r.Hash, Data: d.store.bodies[r.Hash]})
	}
	line := event.Line(d.at, e)
	for _, r := range refs {
		line.Refs = append(line.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
	}
	return d.state.Apply(line, bodies...)
}

// hear takes in what was said since the last request: entries of bounded size,
// which share a budget in weighted characters.
func (d *identity) hear(texts []string, budget int) error {
	var lines [][]byte
	total := 0
	for _, text := range texts {
		line, err := chat.Format(false, speaker, d.at, text)
		if err != nil {
			continue // blank: nobody hears it
		}
		lines = append(lines, line)
		total += len(line)
	}
	size := min(compactor.MaxEntry, max(compactor.EntryBytes, total/compactor.MaxEntries))
	var entries [][]byte
	for _, line := range lines {
		if n := len(entries); n > 0 && len(entries[n-1])+len(line) <= size {
			entries[n-1] = append(entries[n-1], line...)
			continue
		}
		entries = append(entries, line)
	}
	for i, body := range entries {
		text := mind.Heard(body, nil)
		gist := room + ": " + text
		e := event.Inbound{N: d.state.Next, Passage: d.passage(body)}
		share := budget / (len(entries) - i)
		if e.Show = mind.Fit(text, gist, len(text), share, llm.Weight); e.Show > 0 {
			e.Places = true
			budget -= share
		} else {
			budget -= llm.Weight(text)
		}
		if err := d.record(e, blob{gist, body}); err != nil {
			return err
		}
	}
	return nil
}

// passage appends bytes to the room.
func (d *identity) passage(body []byte) event.Passage {
	from := d.roomN
	d.roomN += int64(len(body))
	return event.Passage{Room: room, At: event.Span{From: from, To: d.roomN}}
}

// calledTool is what a recorded result is taken to come from. A trace tells
// nothing of a call but its result, so the call itself has no arguments.
const calledTool = "BASH"

// answer records a reply with so many calls, and posts it when there are none.
func (d *identity) answer(text string, calls int, u llm.Usage, weight int) error {
	a := mind.Answer{Text: text}
	for range calls {
		a.Calls = append(a.Calls, mind.RepairCall(calledTool, "{}"))
	}
	e := event.Reply{
		N: d.state.Next, Turn: d.state.Turn + 1, Model: d.state.Stable.Params.Model, Weight: int64(weight), Finish: "stop",
		Tokens: event.Tokens{In: int64(u.Input), Cached: int64(u.Cached), Out: int64(u.Output)},
	}
	line, err := chat.Format(true, self, d.at, text)
	final := calls == 0 && err == nil && len(d.state.Audience()) > 0
	if final {
		e.Posting = event.Posting{TS: d.at, Posts: []event.Place{{Room: room, Mark: chat.Mark{From: d.roomN}}}}
	}
	if err := d.record(e, blob{a.Gist(e.Turn), a.Encode()}); err != nil || !final {
		return err
	}
	return d.record(event.Posted{ID: mind.EntryID(e.N), Passage: d.passage(line)})
}

// results records what the calls of the newest reply gave. They share a budget
// in weighted characters.
func (d *identity) results(texts []string, budget int) error {
	for i, p := range d.state.Owed().Calls {
		if err := d.record(event.Call{ID: p.ID(), Tool: p.Call.Tool}); err != nil {
			return err
		}
		body := []byte(texts[i])
		gist := fmt.Sprintf("turn %d %s: %s", d.state.Turn+1, p.Call.Tool, blobs.Gist(texts[i][:min(len(texts[i]), 1000)]))
		text := mind.Result(body)
		share := budget / (len(texts) - i)
		e := event.Result{ID: p.ID(), Tool: p.Call.Tool, Status: mind.OK}
		if e.Show = mind.Fit(text, gist, compactor.MaxResult, share, llm.Weight); e.Show > 0 {
			e.Places = true
			budget -= min(compactor.MaxResult, share)
		} else {
			budget -= llm.Weight(text)
		}
		if err := d.record(e, blob{gist, body}); err != nil {
			return err
		}
	}
	return nil
}

// epoch records everything to resume from.
func (d *identity) epoch(why string) error {
	snapshot, err := d.state.Snapshot()
	if err != nil {
		return err
	}
	return d.record(
		event.Epoch{K: d.state.Epoch, Why: why},
		blob{fmt.Sprintf("epoch %d of %s (%s)", d.state.Epoch, self, why), snapshot},
	)
}

// toolset is the tools array of an agent, whose tokens are part of every request.
// Nothing is ever run with it.
func toolset() (json.RawMessage, error) {
	home, err := os.MkdirTemp("", "lethe-replay-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	set, err := tools.New(tools.Config{Home: home, AgentDir: filepath.Join(home, "agent")})
	if err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	return set.Schemas(), nil
}
