package shelf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"lethe/agent/adopt"
)

// Taking is a store that is being read, or a model that is being asked. A goroutine of its own does it; what has come is in
// batches, for whoever writes the journal.
type Taking struct {
	in      *intake // nil: no store is read
	source  adopt.Source
	batches chan Batch
	cancel  context.CancelFunc
	err     error // of the reading, when batches is closed
}

// Batch is what is to be laid down together.
type Batch []func() error

// A batch weighs about so many bytes, and is one append with one sync of LIFE. A session weighs more than its texts.
const (
	mostBatch   = 4 << 20
	sessionSize = mostBatch / 64
)

// From lays down what is new in a source. After an error what was taken stays; Close makes it count. Without a Shelf it
// counts what a life without a past would take, and the secrets that it would strike out.
func (s *Shelf) From(ctx context.Context, source adopt.Source, options adopt.Options) (found Finding, err error) {
	t, err := s.begin(ctx, source, options)
	if err != nil {
		return found, err
	}
	defer t.stop()
	for batch := range t.batches {
		if err := t.add(batch); err != nil {
			return found, err
		}
	}
	found, err = t.end()
	return found, errors.Join(t.err, err)
}

func (s *Shelf) begin(ctx context.Context, source adopt.Source, options adopt.Options) (t *Taking, err error) {
	agent := adopt.Find(source.Agent)
	if agent == nil {
		return nil, fmt.Errorf("no such agent: %q", source.Agent)
	}
	store, err := source.Open(&options)
	if err != nil {
		return nil, err
	}
	in := &intake{Shelf: s, agent: agent, taken: &Taken{Report: new(adopt.Report)}, now: new(original)}
	t = &Taking{in: in, source: source, batches: make(chan Batch, 1)}
	if s != nil {
		in.knows = s.knows(agent.Name, &options)
	}
	t.start(ctx, func(ctx context.Context, out chan<- Batch) (err error) {
		defer store.Close()
		queue := &queue{ctx: ctx, in: in, out: out}
		if in.taken.Report, err = adopt.Read(ctx, agent, store.FS, queue, options); err == nil {
			err = queue.send()
		}
		return err
	})
	return t, nil
}

// start runs work, which ends soon after ctx.
func (t *Taking) start(ctx context.Context, work func(context.Context, chan<- Batch) error) {
	ctx, t.cancel = context.WithCancel(ctx)
	go func() { // ends with work
		defer close(t.batches)
		defer func() {
			if p := recover(); p != nil {
				t.err = fmt.Errorf("adopt %s: panic: %v", t.source.Place, p)
			}
		}()
		t.err = work(ctx, t.batches)
	}()
}

// knows has a reading pass over what was taken before. The reading sees the Shelf as it is now.
func (s *Shelf) knows(agent string, options *adopt.Options) func() known {
	known, files, past := s.knownOf(agent), maps.Clone(s.files), maps.Clone(s.past)
	options.Known = func(key uint64) bool { return known().keys.Has(key) }
	options.Past = func(id string) (file, parent string) {
		of := past[session{agent, id}]
		return of.file, of.parent
	}
	options.Skip = func(piece adopt.Piece) bool {
		return files[session{agent, piece.Path}] == stamp{piece.Size, piece.Changed.Unix()}
	}
	return known
}

// add lays a batch down. The journal may have written more since the last one.
func (t *Taking) add(batch Batch) error {
	for _, do := range batch {
		if err := do(); err != nil {
			return err
		}
	}
	if t.in == nil {
		return nil
	}
	return t.in.rest()
}

// stop ends the reading.
func (t *Taking) stop() {
	t.cancel()
	for range t.batches {
	}
}

// end lays down the rest of what was read.
func (t *Taking) end() (Finding, error) {
	var err error
	if t.err == nil {
		err = t.in.flush(nil)
	}
	if t.in.Shelf != nil {
		delete(t.in.known, t.source.Agent) // another store of the agent reads anew what there is
	}
	return Finding{t.source.Agent, t.source.Place, t.in.taken}, err
}

// Finding is a store that was read.
type Finding struct {
	Agent string `json:"agent"`
	Store string `json:"store"`
	*Taken
}

// queue is the sink of a reading.
type queue struct {
	ctx    context.Context
	in     *intake
	out    chan<- Batch
	batch  Batch
	weight int
}

func (q *queue) Session(session adopt.Session) error {
	return q.add(sessionSize, func() error { return q.in.Session(session) })
}

func (q *queue) Entry(entry adopt.Entry) error {
	weight := len(entry.Text)
	for _, media := range entry.Media {
		weight += len(media.Data)
	}
	return q.add(weight, func() error { return q.in.Entry(entry) })
}

func (q *queue) Read(piece adopt.Piece) error {
	return q.add(0, func() error { return q.in.Read(piece) })
}

func (q *queue) add(weight int, do func() error) error {
	q.batch = append(q.batch, do)
	if q.weight += weight; q.weight < mostBatch {
		return nil
	}
	return q.send()
}

func (q *queue) send() error {
	select {
	case q.out <- q.batch:
	case <-q.ctx.Done():
		return q.ctx.Err()
	}
	q.batch, q.weight = nil, 0
	return nil
}

// known is what the originals of an agent have. It is read when something new is.
type known struct {
	keys   *adopt.Keys     // of entries
	erased map[string]bool // sessions that stay away
}

// knownOf reads the originals of an agent, once.
func (s *Shelf) knownOf(agent string) func() known {
	if s.known[agent] == nil {
		kept := s.kept
		s.known[agent] = sync.OnceValue(func() known {
			all := known{new(adopt.Keys), map[string]bool{}}
			for _, part := range kept {
				if part.Agent != agent {
					continue
				}
				blob, err := s.Store.Find(part.Ref.Hash)
				if err == nil {
					err = readKeys(blob.Body, all.keys)
				}
				if err != nil { // nobody knows what it was: nothing of its session comes again
					all.erased[part.Session] = true
				}
			}
			return all
		})
	}
	return s.known[agent]
}
