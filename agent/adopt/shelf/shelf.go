// Package shelf lays down in a life what other agents have kept: as originals, which are found again and opened, and
// which nobody takes for words of the identity.
//
//	shelf, err := shelf.Open(journal)
//	found, err := shelf.From(ctx, adopt.Source{Agent: "codex", Place: "/home/me/.codex"}, adopt.Options{})
//	err = shelf.Close()
//
// A session, or a part of a long one, is one blob and one line of LIFE. A crash between two lines takes what came after
// the first: the next From goes on there, and takes nothing twice. Close lists what is new by months, for the prompt.
package shelf

import (
	"cmp"
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
	files    map[session]stamp       // that were read to their ends
	known    map[string]func() known // by agents: see knownOf
	pictures map[blobs.Hash]mind.Ref // of this run, by their bytes
	newest   blobs.Hash              // that no line has yet; zero if there is none
	records  []journal.Record        // that are not committed yet
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

// session is a session or a file of an agent.
type session struct{ agent, name string }

// stamp tells whether a file has changed.
type stamp struct{ size, changed int64 }

// Open reads from LIFE, and of a fork from those of its ancestors, what was adopted.
func Open(j *journal.Journal) (*Shelf, error) {
	s := &Shelf{
		Journal: j, told: map[string]kept{}, past: map[session]past{},
		files: map[session]stamp{}, known: map[string]func() known{}, pictures: map[blobs.Hash]mind.Ref{},
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

// Taken counts what was laid down of a store.
type Taken struct {
	*adopt.Report
	Adopted int `json:"adopted"` // sessions, or parts of long ones
	Added   int `json:"added"`   // entries in them
	Away    int `json:"away"`    // entries of sessions that were erased here
	// Struck counts the secrets that were struck out; Places names the first three.
	Struck int      `json:"struck"`
	Places []string `json:"places"`
	// Made has the gist of each original.
	Made []string `json:"made,omitempty"`
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
	s.records, s.newest = nil, blobs.Hash{}
	if err == nil && s.SinceEpoch >= max(leastFolded, s.State.Size/lineBytes) {
		err = s.Epoch("count", nil)
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
	ref, err := s.Put(blobs.Meta{Gist: gist, Parent: cmp.Or(s.newest, s.State.LastBlob)}, text)
	if err == nil {
		s.newest = ref.Hash
	}
	return ref, err
}
