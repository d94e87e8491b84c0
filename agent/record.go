package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
	"lethe/proof"
)

// record is an event to be committed, with its blobs in the order of its refs.
type record struct {
	event  event.Event
	stored []mind.Ref // that are durable already
	bodies []body     // that commit stores
}

// body is the text of a blob, and one line about it.
type body struct {
	gist string
	data []byte
}

// note records what the daemon tells the agent. What is kept goes into blobs beside
// the note's own.
func (a *Agent) note(e event.Note, gist, text string, kept ...body) record {
	e.N = a.state.Next
	return record{event: e, bodies: append([]body{{gist, []byte(text)}}, kept...)}
}

// posting fixes when and where a line is posted.
func (a *Agent) posting(rooms ...string) event.Posting {
	p := event.Posting{TS: time.Now().UTC().Truncate(time.Second)}
	for _, room := range rooms {
		inode, size, err := chat.End(a.path(room))
		if err != nil { // found when it is posted, and searched from the start
			inode, size = 0, 0
		}
		p.Posts = append(p.Posts, event.Place{Room: room, Inode: inode, Size: size})
	}
	return p
}

// notice is a line that the daemon says in rooms; with no rooms, it says nothing.
func (a *Agent) notice(text string, rooms ...string) event.Notice {
	if len(rooms) == 0 {
		return event.Notice{}
	}
	return event.Notice{Say: text, Posting: a.posting(rooms...)}
}

// notify returns rooms, and behind them those of Config.Notify: where something is posted
// that people are to notice wherever they are.
func (a *Agent) notify(rooms ...string) []string {
	for _, room := range a.cfg.Notify {
		if !slices.Contains(rooms, room) {
			rooms = append(rooms[:len(rooms):len(rooms)], room)
		}
	}
	return rooms
}

// alert tells the people of Config.Notify, and nobody else, of something that needs one of
// them. Where nobody is to be told, it is no record.
func (a *Agent) alert(what, text string) []record {
	if len(a.cfg.Notify) == 0 {
		return nil
	}
	return []record{{event: event.Error{ID: a.noticeID(), What: what, Text: text, Notice: a.notice(text, a.notify()...)}}}
}

// prepared is a line whose blobs are stored.
type prepared struct {
	life.Event
	bodies []mind.Body
}

// commit makes records happen, together: blobs are written first, then their lines in one
// append, which waits until all of that is durable; then the state in memory changes. After an error nothing in memory has
// changed, and the log alone knows what happened: the identity has to be opened
// again.
func (a *Agent) commit(records ...record) error {
	events, err := a.prepare(records)
	if err != nil {
		return err
	}
	a.log.broken = errBehind // a panic from here on may be recovered, as in a tool
	if err := a.append(events, false); err != nil {
		return err
	}
	if err := a.apply(events); err != nil {
		return err
	}
	a.log.broken = nil
	return nil
}

// errBehind says that events were recorded and not applied.
var errBehind = errors.New("the state in memory is behind the log; the identity has to be opened again")

// prepare stores the blobs of records. No secret of this process gets into them or
// their lines; an epoch holds what was recorded before, and is left as it is.
func (a *Agent) prepare(records []record) ([]prepared, error) {
	at, parent := a.now(), a.state.LastBlob
	var last body // what many calls share is stored once
	var ref mind.Ref
	var out []prepared
	for _, r := range records {
		if note, ok := r.event.(event.Note); ok {
			if text := r.bodies[0]; len(text.data) >= 1000 { // a person's file has any length
				weigh := func(s string) int { return llm.Weight(mind.Indent(s)) }
				note.Show = mind.Fit(mind.Result(text.data), text.gist, compactor.MaxResult, a.batchChars(), weigh)
				note.Places = note.Show > 0
			}
			r.event = note
		}
		l := prepared{Event: event.Line(at, r.event)}
		_, epoch := r.event.(event.Epoch)
		if !epoch {
			redactLine(l.Event)
		}
		for _, stored := range r.stored {
			if !stored.Hash.IsZero() {
				l.add(stored, nil)
			}
		}
		for _, b := range r.bodies {
			if !epoch {
				b = body{secret.Text(b.gist), secret.Bytes(b.data)}
			}
			if ref.Hash.IsZero() || b.gist != last.gist || !bytes.Equal(b.data, last.data) {
				var err error
				if ref, err = a.put(blobs.Meta{At: at, Gist: b.gist, Parent: parent}, b.data); err != nil {
					return nil, fmt.Errorf("record %s: %w", l.Kind, err)
				}
				parent, last = ref.Hash, b
			}
			l.add(ref, b.data)
		}
		out = append(out, l)
	}
	return out, nil
}

func (p *prepared) add(r mind.Ref, data []byte) {
	p.Refs = append(p.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
	p.bodies = append(p.bodies, mind.Body{Hash: r.Hash, Data: data})
}

// put stores a text of this life with all that m says of it. It is durable with the next append.
func (a *Agent) put(m blobs.Meta, text []byte) (mind.Ref, error) {
	m.Life = a.id.Self
	h, err := a.store.PutLater(&a.log.Syncs, m, text)
	if err != nil {
		return mind.Ref{}, err
	}
	return mind.Ref{Hash: h, Short: a.store.Short(h), Gist: blobs.Gist(m.Gist)}, nil
}

// redactLine takes secrets out of a line, in place.
func redactLine(e life.Event) {
	for i, arg := range e.Args {
		e.Args[i] = secret.Text(arg)
	}
	for i, f := range e.Fields {
		e.Fields[i].Value = secret.Text(f.Value)
	}
}

// append writes the lines of events, which then have happened, and behind them the seal of the log if
// that is asked for.
func (a *Agent) append(events []prepared, sealed bool) error {
	lines, last := make([]life.Event, len(events)), a.state.LastBlob
	for i, e := range events {
		lines[i] = e.Event
		if len(e.bodies) > 0 {
			last = e.bodies[len(e.bodies)-1].Hash
		}
	}
	var err error
	if sealed {
		lines, err = a.log.AppendSealed(func(size int64, root tlog.Hash) (life.Event, error) { return a.seal(size, root, last) }, lines...)
	} else {
		err = a.log.Append(lines...)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", events[0].Kind, err)
	}
	a.log.sinceEpoch += len(events)
	if a.cfg.Tell != nil {
		for _, e := range lines {
			a.cfg.Tell(a.id, e)
		}
	}
	return nil
}

// apply folds events into the state.
func (a *Agent) apply(events []prepared) error {
	for _, e := range events {
		if io := a.rooms[e.Get("room")]; io != nil {
			io.readAhead = nil // the state's cursor knows better now
		}
		if err := a.state.Apply(e.Event, e.bodies...); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

// now is the time of the next event: the clock's, but never before the last
// event's, so that a clock that jumps back does not turn a life around.
func (a *Agent) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if now.Before(a.log.last) {
		return a.log.last
	}
	a.log.last = now
	return now
}

// epoch appends an epoch event, a snapshot to resume from. The epoch of the prompt
// goes on: no byte of the request changes; renew begins the next one. The snapshot has
// the records of before already, which go out in the same append; so does the seal behind it.
func (a *Agent) epoch(why string, before ...record) error { return a.epochOf(why, nil, before) }

// epochOf is epoch of the state that change, which may be nil, makes of it. The records of after stand
// between it and the seal.
func (a *Agent) epochOf(why string, change func(*mind.State) error, before []record, after ...record) error {
	events, err := a.prepare(before)
	if err != nil {
		return err
	}
	if err := a.apply(events); err != nil {
		return err
	}
	if change != nil {
		if err := change(a.state); err != nil {
			return err
		}
	}
	var snapshot []byte
	var failed error
	var made sync.WaitGroup
	made.Go(func() { // while the disk syncs
		defer a.recovered(&failed)
		snapshot, failed = a.state.Snapshot()
	})
	err = a.log.Syncs.Wait() // no line names the texts that a snapshot alone names
	made.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	epoch, err := a.prepare(append([]record{{
		event:  event.Epoch{K: a.state.Epoch, Why: why},
		bodies: []body{{fmt.Sprintf("epoch %d of %s (%s)", a.state.Epoch, a.id.Name, why), snapshot}},
	}}, after...))
	if err != nil {
		return err
	}
	if err := a.append(append(events, epoch...), true); err != nil {
		return err
	}
	if err := a.apply(epoch); err != nil {
		return err
	}
	a.log.sinceEpoch = 0
	a.indexIfFaded() // or was cut out by a person, or was opened meanwhile
	return nil
}

// seal states, signed, what the lines of the log are, and its blobs down from the last.
func (a *Agent) seal(size int64, root tlog.Hash, last blobs.Hash) (life.Event, error) {
	key, err := proof.LoadKey(a.cfg.Home.Dir)
	if err != nil {
		return life.Event{}, err
	}
	c := key.Sign(a.id.Self, size, root, last.String())
	return event.Line(a.now(), event.Sealed{Size: size, Root: proof.Text(root[:]), Last: c.Last, Key: key.Public(), Sig: proof.Text(c.Sig)}), nil
}

// A resume has to fold at most so many events, or as many as weigh in LIFE what the snapshot does: so
// snapshots together weigh no more than the events, however long the context is.
const (
	epochEvery = 200
	lineBytes  = 150 // about as much an event has in LIFE
)

// epochIfDue writes an epoch when a user wants another model, or when a resume
// would have too much to fold.
func (a *Agent) epochIfDue() error {
	if want := a.state.WantModel; want != "" && want != a.state.Stable.Params.Model {
		return a.renew("model")
	}
	if a.log.sinceEpoch >= max(epochEvery, a.state.Size/lineBytes) {
		return a.epoch("count")
	}
	return nil
}

// renew begins a new epoch.
func (a *Agent) renew(why string, before ...record) error {
	if err := a.refresh(a.state); err != nil {
		return err
	}
	return a.epoch(why, before...)
}

// refresh makes the stable parts of a state anew from what is on disk: the request's
// beginning changes.
func (a *Agent) refresh(s *mind.State) error {
	in := mind.Inputs{Tools: a.tools.Schemas(), Params: a.wanted(), Files: map[string]string{}}
	refs := map[string]mind.Ref{}
	for _, name := range editable {
		text, err := a.files.read(name)
		if err != nil {
			return err
		}
		in.Files[name] = digest(text)
		if name == memoryFile {
			continue
		}
		if refs[name], err = a.put(blobs.Meta{At: time.Unix(0, 0), Gist: name}, text); err != nil {
			return err
		}
	}
	soul, err := a.files.read("SOUL.md")
	if err != nil {
		return err
	}
	in.System = mind.System(a.id.Name, a.id.Self, string(soul), refs["SEGMENT.md"], refs["SUMMARISE.md"])
	s.Renew(in)
	shown, lines, err := a.notes(s.Stable) // in what space the stable parts leave
	if err == nil {
		s.Open(shown, lines, a.now())
	}
	return err
}

// wanted are the parameters that a new epoch takes.
func (a *Agent) wanted() mind.Params {
	p := a.state.NextParams(a.cfg.Params, a.cfg.DefaultModel)
	limit := a.limit()
	if !p.SameModel(a.state.Stable.Params) {
		limit = a.cfg.ContextLimit // what was learned of the other model does not hold
	}
	if p.MaxTokens == 0 || limit != a.cfg.ContextLimit {
		p.MaxTokens = compactor.AnswerTokens(p.MaxTokens, limit)
	}
	return p
}
