package replay

import (
	"fmt"
	"strconv"
	"time"

	"lethe"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/llm"
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
	if other, taken := s.shorts[short]; taken && other != h {
		short = h.String()
	}
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
	roomN int64    // bytes of the room
	lines []string // the last lines of LIFE
	sum   string   // of the newest of them
}

// born is when every replayed life begins.
var born = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

// tick is how far an event moves the clock.
const tick = 20 * time.Second

func newIdentity() (*identity, error) {
	d := &identity{
		store: store{map[blobs.Hash][]byte{}, map[string]blobs.Hash{}},
		state: mind.New(), at: born,
	}
	boot := d.store.put(blobs.Meta{At: d.at, Gist: "boot of " + self}, []byte(lethe.Soul))
	e := d.event("boot", nil, "name", self, "version", lethe.Version)
	if err := d.apply(e, boot); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("You now hear room %s. Nothing was said there yet.", room)
	return d, d.happen("joined", []string{d.next()}, []string{"room", room, "at", "0", "total", "0"}, blob{"joined room " + room, []byte(text)})
}

// blob is a body before it is stored.
type blob struct {
	gist string
	data []byte
}

func (d *identity) next() string { return mind.EntryID(d.state.Next) }

func (d *identity) event(kind string, args []string, kv ...string) life.Event {
	d.at = d.at.Add(tick)
	return life.New(d.at, kind, args, kv...)
}

// happen records one event: its blobs, its line, its effect.
func (d *identity) happen(kind string, args, kv []string, bodies ...blob) error {
	e := d.event(kind, args, kv...)
	var refs []mind.Ref
	for _, b := range bodies {
		refs = append(refs, d.put(b.gist, b.data))
	}
	return d.apply(e, refs...)
}

// put stores a blob of the life as its newest.
func (d *identity) put(gist string, body []byte) mind.Ref {
	r := d.store.put(blobs.Meta{At: d.at, Gist: gist, Life: d.state.Self, Parent: d.state.LastBlob}, body)
	d.state.LastBlob = r.Hash
	return r
}

func (d *identity) apply(e life.Event, refs ...mind.Ref) error {
	var bodies []mind.Body
	for _, r := range refs {
		e.Refs = append(e.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
		bodies = append(bodies, mind.Body{Hash: r.Hash, Data: d.store.bodies[r.Hash]})
	}
	d.log(e)
	return d.state.Apply(e, bodies...)
}

// log keeps the lines that a prompt shows, as LIFE has them.
func (d *identity) log(e life.Event) {
	text := e.String()
	d.sum = blobs.Sum([]byte(d.sum + text)).String()[:12]
	d.lines = append(d.lines, text+" #"+d.sum)
	if over := len(d.lines) - mind.MaxLifeLines; over > 0 {
		d.lines = append(d.lines[:0], d.lines[over:]...)
	}
}

// Bounds as package agent has them.
const (
	maxResult  = 8000     // characters of one result that enter the context
	entryBytes = 16 << 10 // of the room lines of an ordinary entry
	maxEntry   = 4 << 20  // of those of the largest
	maxEntries = 8        // that one look takes in
)

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
	size := min(maxEntry, max(entryBytes, total/maxEntries))
	var entries [][]byte
	for _, line := range lines {
		if n := len(entries); n > 0 && len(entries[n-1])+len(line) <= size {
			entries[n-1] = append(entries[n-1], line...)
			continue
		}
		entries = append(entries, line)
	}
	for _, body := range entries {
		first := chat.Parse(body[:len(firstLine(body))])
		args := []string{"room", room, "at", mind.Span{From: d.roomN, To: d.roomN + int64(len(body))}.String()}
		if show := max(400, budget/len(entries)); len(body) > show {
			args = append(args, "show", strconv.Itoa(fitting(body, show)))
		}
		d.roomN += int64(len(body))
		if err := d.happen(mind.Inbound, []string{d.next()}, args, blob{room + ": " + first.Text, body}); err != nil {
			return err
		}
	}
	return nil
}

func firstLine(body []byte) []byte {
	for i, c := range body {
		if c == '\n' {
			return body[:i]
		}
	}
	return body
}

// fitting is how many runes of a text weigh no more than so many plain
// characters; see package agent.
func fitting(text []byte, chars int) int {
	weight := llm.Weight(string(text))
	if weight <= chars {
		return max(1, len(text))
	}
	return max(1, int(int64(chars)*int64(len([]rune(string(text))))/int64(weight)))
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
	id, turn := d.next(), d.state.Turn+1
	kv := []string{"turn", strconv.Itoa(turn), "model", d.state.Stable.Params.Model,
		"in", strconv.Itoa(u.Input), "cached", strconv.Itoa(u.Cached), "out", strconv.Itoa(u.Output),
		"weight", strconv.Itoa(weight), "finish", "stop"}
	line, err := chat.Format(true, self, d.at, text)
	final := calls == 0 && err == nil && len(d.state.Audience()) > 0
	if final {
		kv = append(kv, "post", mind.Place{Room: room, Size: d.roomN}.String(), "ts", d.at.Format(time.RFC3339))
	}
	if err := d.happen(mind.Reply, []string{id}, kv, blob{a.Gist(turn), a.Encode()}); err != nil || !final {
		return err
	}
	from := d.roomN
	d.roomN += int64(len(line))
	return d.happen("posted", []string{id}, []string{"room", room, "at", mind.Span{From: from, To: d.roomN}.String()})
}

// results records what the calls of the newest reply gave. They share a budget
// in weighted characters.
func (d *identity) results(texts []string, budget int) error {
	for i, p := range d.state.Owed().Calls {
		if err := d.happen("call", []string{p.ID(), p.Call.Tool}, nil); err != nil {
			return err
		}
		body := []byte(texts[i])
		share := min(llm.Weight(texts[i]), max(400, budget/(len(texts)-i)))
		budget -= share
		kv := []string{"status", mind.OK}
		if show := min(maxResult, fitting(body, share)); len(body) > show {
			kv = append(kv, "show", strconv.Itoa(show))
		}
		gist := fmt.Sprintf("turn %d %s: %s", d.state.Turn+1, p.Call.Tool, blobs.Gist(texts[i][:min(len(texts[i]), 1000)]))
		if err := d.happen("result", []string{p.ID(), p.Call.Tool}, kv, blob{gist, body}); err != nil {
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
	return d.happen(life.Epoch, []string{strconv.Itoa(d.state.Epoch)}, []string{"why", why},
		blob{fmt.Sprintf("epoch %d of %s (%s)", d.state.Epoch, self, why), snapshot})
}
