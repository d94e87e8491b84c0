// Package shelf lays down in a life what other agents have kept: as originals, which are found again and opened, and
// which nobody takes for words of the identity.
//
//	shelf, err := shelf.Open(journal)
//	taken, err := shelf.Take(ctx, agent, store, adopt.Options{})
//	err = shelf.Close()
//
// A session, or a part of a long one, is one blob and one line of LIFE. A crash between two lines takes what came after
// the first: the next Take goes on there, and takes nothing twice. Close lists what is new by months, for the prompt.
package shelf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Shelf is what a life has adopted.
type Shelf struct {
	*journal.Journal
	kept     []kept
	told     map[string]kept // those for whose gist a model was asked, by their hashes
	past     map[session]past
	files    map[session]stamp // that were read to their ends
	untold   []untold
	keys     map[string]map[uint64]bool // of the entries of an agent; made when something new is read
	erased   map[session]bool           // sessions that stay away
	pictures map[blobs.Hash]mind.Ref    // of this run, by their bytes
	newest   blobs.Hash                 // the parent of the next blob
	records  []journal.Record           // that are not committed yet
	weight   int                        // of their originals, in bytes
}

// kept is a line of LIFE: a session, or a part of one.
type kept struct {
	event.Adopted
	blobs.Ref
}

// past is what is kept of a session.
type past struct {
	parts        int
	file, parent string // the first file; the session that it was forked from
}

// untold is an original for whose gist a model is to be asked.
type untold struct {
	kept
	original blobs.Hash
}

// session is a session or a file of an agent.
type session struct{ agent, name string }

// stamp tells whether a file has changed.
type stamp struct{ size, changed int64 }

// Open reads from LIFE, and of a fork from those of its ancestors, what was adopted.
func Open(j *journal.Journal) (*Shelf, error) {
	s := &Shelf{
		Journal: j, told: map[string]kept{}, past: map[session]past{},
		files: map[session]stamp{}, keys: map[string]map[uint64]bool{}, erased: map[session]bool{},
		pictures: map[blobs.Hash]mind.Ref{}, newest: j.State.LastBlob,
	}
	for _, ancestor := range j.State.Ancestors {
		path := filepath.Join(j.Home.Agents(), ancestor.Self, "LIFE.md")
		err := s.read(path, ancestor.At)
		isUnknown := err != nil && len(j.State.Adopted) > 0 // else there is hardly anything to be found twice
		if isUnknown || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("see what %s has adopted before the fork: %w", j.ID.Name, err)
		}
	}
	return s, s.read(j.ID.LIFE(), time.Time{})
}

// read takes in the lines of a log, up to a time if it is not zero.
func (s *Shelf) read(path string, until time.Time) error {
	return life.Scan(path, func(line life.Event, _ int64) error {
		adopted, ok := event.As[event.Adopted](line)
		isLater := !until.IsZero() && line.At.After(until)
		if ok && len(line.Refs) > 0 && !isLater {
			s.keep(adopted, line.Refs[len(line.Refs)-1])
		}
		return nil
	})
}

func (s *Shelf) keep(adopted event.Adopted, ref blobs.Ref) {
	if adopted.Relevance > 0 {
		s.told[ref.Hash] = kept{adopted, ref}
		return
	}
	s.kept = append(s.kept, kept{adopted, ref})
	of := session{adopted.Agent, adopted.Session}
	before := s.past[of]
	s.past[of] = past{before.parts + 1, cmp.Or(before.file, adopted.File), adopted.Parent}
	if adopted.Size > 0 {
		s.files[session{adopted.Agent, adopted.File}] = stamp{adopted.Size, adopted.Changed.Unix()}
	}
}

// Taken counts what a Take has laid down.
type Taken struct {
	*adopt.Report
	Adopted int `json:"adopted"` // sessions, or parts of long ones
	Added   int `json:"added"`   // entries in them
	Away    int `json:"away"`    // entries of sessions that were erased here
	// Struck counts the secrets that were struck out; Places names the first three.
	Struck int      `json:"struck"`
	Places []string `json:"places"`
	// Made has the gist of each original.
	Made []string `json:"-"`
}

// Take lays down what is new in a store. After an error what was taken stays; Close makes it count. Without a Shelf it
// counts what a life without a past would take, and the secrets that it would strike out.
func (s *Shelf) Take(
	ctx context.Context, agent *adopt.Agent, store *adopt.Store, options adopt.Options,
) (*Taken, error) {
	in := &intake{Shelf: s, agent: agent, taken: new(Taken), now: new(original)}
	options.Only = store.Only
	if s != nil {
		s.knows(agent.Name, &options)
	}
	report, err := adopt.Read(ctx, agent, store.FS, in, options)
	if err == nil {
		err = in.flush(nil)
	}
	in.taken.Report = report
	return in.taken, err
}

// knows has a reading pass over what was taken before.
func (s *Shelf) knows(agent string, options *adopt.Options) {
	options.Known = func(key uint64) bool { return s.known(agent)[key] }
	options.Past = func(id string) (file, parent string) {
		of := s.past[session{agent, id}]
		return of.file, of.parent
	}
	options.Skip = func(piece adopt.Piece) bool {
		return s.files[session{agent, piece.Path}] == stamp{piece.Size, piece.Changed.Unix()}
	}
}

// strike returns the text of an entry without its secrets, which it counts.
func (t *Taken) strike(file string, entry adopt.Entry) string {
	text, found := shape.Strike(secret.Text(entry.Text))
	for _, f := range found {
		t.Struck++
		if len(t.Places) < 3 {
			t.Places = append(t.Places, fmt.Sprintf("%s:%d %s", file, entry.Line, f))
		}
	}
	return text
}

// known returns the keys of the entries that an agent's originals have.
func (s *Shelf) known(agent string) map[uint64]bool {
	keys := s.keys[agent]
	if keys != nil {
		return keys
	}
	keys = map[uint64]bool{}
	s.keys[agent] = keys
	for _, part := range s.kept {
		if part.Agent != agent {
			continue
		}
		blob, err := s.Store.Find(part.Ref.Hash)
		if err == nil {
			err = readKeys(blob.Body, keys)
		}
		if err != nil { // nobody knows what it was: nothing of its session comes again
			s.erased[session{agent, part.Session}] = true
		}
	}
	return keys
}

// Bounds of what one append has: it takes one sync of LIFE.
const (
	mostRecords = 64
	mostWeight  = 8 << 20 // bytes of originals
)

// add has a record committed, soon.
func (s *Shelf) add(record journal.Record, weight int) error {
	s.records = append(s.records, record)
	s.weight += weight
	if len(s.records) < mostRecords && s.weight < mostWeight {
		return nil
	}
	return s.commit()
}

// A resume folds at most so many lines, or as many as weigh what the snapshot does.
const (
	leastFolded = 200
	lineBytes   = 150
)

func (s *Shelf) commit() error {
	if len(s.records) == 0 {
		return nil
	}
	err := s.Commit(s.records...)
	s.records, s.weight = nil, 0
	if err == nil && s.SinceEpoch >= max(leastFolded, s.State.Size/lineBytes) {
		err = s.Epoch("count", nil)
		s.newest = s.State.LastBlob
	}
	return err
}

// Close commits what was taken, and lists it. Without news nothing is written.
func (s *Shelf) Close() error {
	if err := s.commit(); err != nil {
		return err
	}
	records, err := s.lists()
	if err != nil || len(records) == 0 {
		return err
	}
	return s.Epoch("adopted", nil, records...)
}

// put stores a text behind the newest one of the life.
func (s *Shelf) put(gist string, text []byte) (mind.Ref, error) {
	ref, err := s.Put(blobs.Meta{Gist: gist, Parent: s.newest}, text)
	if err == nil {
		s.newest = ref.Hash
	}
	return ref, err
}
