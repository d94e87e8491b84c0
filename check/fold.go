package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/proof"
)

// LostText stands where a text was that is lost.
const LostText = "This text is lost: its file was missing or damaged."

// folder folds a life from its first line on, as its resumes did.
type folder struct {
	*checker
	id      agent.Identity
	log     *life.Reader
	line    int
	s       *mind.State
	altered bool               // since the last epoch a text was folded that is not what it was
	stand   map[[8]byte][]byte // for texts that are missing, by the beginning of their addresses
	last    life.Append        // as far as it was read
	told    map[string]string  // tombstones that LIFE states, and seals
	lasts   []string           // addresses that seals name
}

// life checks one life.
func (c *checker) life(id agent.Identity) (err error) {
	f := &folder{checker: c, id: id, s: mind.New(), stand: map[[8]byte][]byte{}, told: map[string]string{}}
	c.Lives++
	if err := id.Erasing(); err != nil {
		f.find("unfinished erasure", id.Dir, err.Error(), nil)
	}
	var untold []blobs.Hash
	r := newReacher(id, c.all, func(h blobs.Hash) error { untold, c.named[h] = append(untold, h), true; return nil }, f.missUnnamed)
	if f.log, err = life.ReadFrom(id.LIFE(), life.Mark{}); err == nil {
		defer f.log.Close()
		f.log.Until(c.all.end(id))
	}
	for err == nil {
		var e life.Event
		var follows bool
		if e, follows, err = f.log.Next(); err == nil {
			f.line++
			f.last.Add(e, follows)
			err = errors.Join(f.fold(e), r.line(e))
		}
	}
	c.Lines += f.line
	if f.log == nil || errors.As(err, new(*life.CorruptError)) {
		f.line++
		f.find("damaged LIFE", f.where(), err.Error(), nil)
		return nil
	}
	if err != io.EOF {
		f.find("senseless line", f.where(), err.Error(), nil)
		return nil
	}
	untold = slices.DeleteFunc(untold, func(h blobs.Hash) bool { return c.lost[h].IsZero() || f.told[h.String()] == c.lost[h].String() })
	if len(untold) > 0 {
		f.find("untold loss", id.LIFE(), fmt.Sprintf("%d, the first %s", len(untold), untold[0]), func() error { return f.tellLost(untold) })
	}
	if _, err := f.s.Conserved(); err != nil {
		f.find("lost entry", id.LIFE(), err.Error(), nil)
	}
	if c.Faults == 0 { // otherwise it would tell of the same
		o := VerifyOptions{Key: "none"}
		if key, err := proof.ReadKey(c.home.Dir); err == nil {
			o.Key = key.Public()
		}
		if v, err := Verify(id, c.all.Store, o); err != nil || v.Fault != nil {
			f.find("altered life", id.LIFE(), cmp.Or(err, v.Fault).Error(), nil)
		}
	}
	return f.beside()
}

func (f *folder) where() string { return fmt.Sprintf("%s:%d", f.id.LIFE(), f.line) }

// fold applies a line. Where a text is missing, another one stands in, so that what follows is checked, too.
func (f *folder) fold(e life.Event) error {
	var bodies []mind.Body
	parent, gone := f.s.LastBlob, false
	for i, ref := range e.Refs {
		h, err := f.all.find(ref.Hash)
		b, gerr := f.all.Get(h)
		if err = cmp.Or(err, gerr); err != nil {
			b.Body = f.standIn(e)
			f.miss(e, i, h, parent, b.Body, err)
		}
		gone = gone || err != nil || b.Gone != nil
		bodies, parent = append(bodies, mind.Body{Hash: h, Data: b.Body}), h
	}
	f.altered = f.altered || gone
	if e, ok := event.As[event.Sealed](e); ok {
		f.lasts = append(f.lasts, e.Last)
		for _, line := range f.last {
			stated(line, f.told)
		}
	}
	if e.Kind == life.Epoch && len(bodies) == 1 {
		if err := f.epoch(e, bodies[0].Data); err != nil {
			return err
		}
		f.altered = gone
	}
	return f.s.Apply(e, bodies...)
}

// epoch holds a snapshot against the state that the lines before it make, and goes on from it.
func (f *folder) epoch(e life.Event, snapshot []byte) error {
	folded, err := f.s.Snapshot()
	if err != nil || bytes.Equal(folded, snapshot) {
		return err
	}
	before := f.s
	f.s, err = mind.Restore(snapshot, func(h blobs.Hash) ([]byte, error) {
		b, err := f.all.Get(h)
		if stands, ok := f.stand[[8]byte(h[:8])]; err != nil && ok {
			return stands, nil
		} else if err != nil { // a person's edit, which the snapshot alone names
			return mind.Answer{Text: LostText}.Encode(), nil
		}
		return b.Body, nil
	})
	if err != nil {
		return err
	}
	why, sealed := e.Get("why"), len(f.lasts) > 0
	all := why == "count" || why == "stop"
	same := why == "fork" || why == "erased" || bytes.Equal(determined(before, all, sealed), determined(f.s, all, sealed))
	if !same && !f.altered {
		f.find("differing epoch", f.where(), "epoch "+e.Arg(0)+" is not what the lines before it make", nil)
	}
	return nil
}

// determined is what of a snapshot follows from the lines before it: where not all does, whatever the epoch is made for, and
// where no seal stands before it, whatever program wrote it. Programs from before seals kept some members otherwise.
func determined(s *mind.State, all, sealed bool) []byte {
	d := *s
	m := &d.Spending // whose days programs of before judged by other rules
	m.Date, m.Spent.Day, m.Spent.Month, m.Raised, m.Others = "", 0, 0, mind.State{}.Spending.Raised, nil
	if !all {
		d.Context, d.Stable, d.Epoch, d.Files, d.Forgets, d.WantModel, d.LastBlob = mind.Context{}, mind.Stable{}, 0, nil, nil, "", blobs.Hash{}
		d.Window, d.Overflows = 0, 0
	}
	if !sealed {
		d.Outbox, d.Said, d.Spoken, d.Told, d.Spending, d.Rooms = nil, nil, false, "", mind.State{}.Spending, maps.Clone(d.Rooms)
		for name, r := range d.Rooms {
			d.Rooms[name] = &mind.Room{Joined: r.Joined, Cursor: r.Cursor, Began: r.Began, AgentTurns: r.AgentTurns}
		}
	}
	text, _ := d.Snapshot()
	return text
}

// miss notes a text that a line names and nobody has.
func (f *folder) miss(e life.Event, i int, h, parent blobs.Hash, body []byte, err error) {
	m := blobs.Meta{At: e.At, Gist: e.Refs[i].Gist, Life: f.id.Self, Parent: parent}
	if e.Kind == "boot" {
		m.Life = ""
	}
	heard := blobs.Encode(m, f.heard(e))
	fix := func() error { return f.replace(h, m, body, heard) }
	if e.Kind == life.Epoch && len(f.stand) > 0 { // its snapshot is to name what was put in the place of those
		fix = nil
	}
	f.stand[[8]byte(h[:8])] = body
	f.find("missing blob", f.where(), fmt.Sprintf("%s %s: %v", e.Kind, e.Arg(0), err), fix)
}

// missUnnamed notes a text that a snapshot alone names.
func (f *folder) missUnnamed(h blobs.Hash, err error) {
	f.named[h] = true
	if f.stand[[8]byte(h[:8])] != nil {
		return
	}
	m, body := blobs.Meta{At: time.Unix(0, 0), Gist: "lost", Life: f.id.Self}, mind.Answer{Text: LostText}.Encode()
	f.stand[[8]byte(h[:8])] = body
	var own [][]byte
	for _, name := range []string{"SEGMENT.md", "SUMMARISE.md"} {
		text, _, _ := durable.ReadRegular(filepath.Join(f.id.Dir, name), 1<<28)
		own = append(own, blobs.Encode(blobs.Meta{At: m.At, Gist: name, Life: m.Life}, text))
	}
	f.find("missing blob", f.where(), err.Error(), func() error { return f.replace(h, m, body, own...) })
}

// standIn is a text that folds in the place of a missing one.
func (f *folder) standIn(e life.Event) []byte {
	body := []byte(LostText)
	switch e, _ := event.Parse(e); e := e.(type) {
	case event.Boot:
		body, _, _ = durable.ReadRegular(filepath.Join(f.id.Dir, "SOUL.md"), 1<<28)
	case event.Epoch:
		f.s.Epoch = e.K
		body, _ = f.s.Snapshot()
	case event.Reply:
		body = mind.Answer{Text: LostText, Calls: f.calls(e.N)}.Encode()
	case event.Asked: // the call has what is asked
		k := mind.Ask{Self: f.id.Self, Call: e.Call, Text: LostText}
		for _, p := range f.s.Owed().Calls {
			if args := blobs.Unescape(p.Call.Args); p.ID() == e.Call && p.Call.Tool == "WAIT" {
				_ = json.Unmarshal([]byte(args), &k)
			} else if p.ID() == e.Call {
				k.Tool, k.Args = p.Call.Tool, args
			}
		}
		if k.Room = "lost"; len(e.Posts) > 0 {
			k.Room = e.Posts[0].Room
		}
		body = k.Encode()
	}
	return body
}

// calls are the calls of a reply, as far as later lines tell.
func (f *folder) calls(n int) (calls []mind.AnswerCall) {
	at := f.log.At
	_ = life.ReadOn(f.id.LIFE(), &at, func(e life.Event, _ bool) error {
		if e.Kind == mind.Reply {
			return io.EOF
		}
		for entry, k, _ := mind.ParseID(e.Arg(0)); entry == n && len(calls) < k; {
			calls = append(calls, mind.AnswerCall{Tool: cmp.Or(e.Arg(1), "LOST"), Args: `{"message":"lost","brief":"lost"}`})
		}
		return nil
	})
	return calls
}

// heard is what a room has where an inbound entry came from.
func (f *folder) heard(e life.Event) (body []byte) {
	in, _ := event.As[event.Inbound](e)
	text, err := durable.ReadWhole(chat.Path(f.home.Dir, in.Room), 1<<30)
	if err != nil || in.At.To > int64(len(text)) {
		return nil
	}
	for line := range bytes.Lines(text[in.At.From:in.At.To]) {
		if len(bytes.TrimSpace(line)) > 0 {
			body = append(body, line...)
		}
	}
	return body
}
