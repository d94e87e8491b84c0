// Package journal writes what happens in a life: texts go into blobs, then lines into LIFE, in one append that waits
// until all of it is durable, and then both into the fold. Who owns the State hands it in; the journal alone writes.
// Branch takes a life back to another of its moments.
package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/sumdb/tlog"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Journal is the log of a life, and what it takes to write on in it.
type Journal struct {
	*life.Log
	State      *mind.State     // what the log says
	Spending   budget.Spending // what it says of money
	SinceEpoch int             // events after the newest epoch

	Tell  func(life.Event) // called for each line that was written
	Shown func(Text) int   // how much of a note a request shows; nil for all

	Home  home.Home
	ID    home.Identity
	Store *blobs.Store

	log  *slog.Logger
	lock *flock.Flock
	last time.Time // of the newest event
	err  error     // why State is behind the log, which is closed then

	custody home.Tenure     // nil where no other host shares the home
	put     []blobs.Hash    // texts that the store of the hosts may lack
	due     time.Time       // when that store is to have the lines that wait; zero: none waits
	until   context.Context // it is waited for that store until this ends
}

// Record is an event to be committed, with its texts in the order of its refs. An entry and a notice that have no
// number get the next one of the life.
type Record struct {
	Event  event.Event
	Stored []mind.Ref // texts that are durable already
	Texts  []Text     // that Commit stores
}

// Text is a text that Commit stores.
type Text = blobs.Text

// Told is a record with a text. What is kept goes into blobs beside it.
func Told[T string | []byte](e event.Event, gist string, text T, kept ...Text) Record {
	return Record{Event: e, Texts: append([]Text{{Gist: gist, Data: []byte(text)}}, kept...)}
}

// strike takes secrets out of the texts of a record, and out of its fields: by their shape only where people or tools
// wrote them. What a model has said stays, since its requests repeat it.
func (r *Record) strike() {
	text, data := secret.Text, secret.Bytes
	switch r.Event.(type) {
	case event.Epoch: // holds what was recorded before
		return
	case event.Result, event.Note, event.Fired, event.Error, event.Paused:
		text, data = shape.Text, shape.Bytes
	}
	struck := make([]Text, len(r.Texts))
	for i, t := range r.Texts {
		struck[i] = Text{Gist: text(t.Gist), Data: data(t.Data)}
	}
	r.Texts = struck
}

// prepared is a line whose blobs are stored.
type prepared struct {
	life.Event
	bodies []mind.Body
}

// Commit makes records happen, together: blobs are written first, then their lines in one append, which waits until
// all of that is durable; then the state in memory changes. After an error the log alone knows what happened: the
// identity has to be opened again.
func (j *Journal) Commit(records ...Record) error {
	events, err := j.prepare(records)
	if err == nil {
		err = j.append(events, false)
	}
	if err == nil {
		err = j.apply(events)
	}
	return err
}

// prepare stores the blobs of records. No secret gets into them or their lines.
func (j *Journal) prepare(records []Record) ([]prepared, error) {
	at, parent := j.Now(), j.State.LastBlob
	entries, notices := j.State.Next, j.State.Notices
	var last Text // what many calls share is stored once
	var ref mind.Ref
	var out []prepared
	for _, record := range records {
		record.strike()
		if note, ok := record.Event.(event.Note); ok {
			if text := record.Texts[0]; j.Shown != nil && len(text.Data) >= 1000 { // a person's file has any length
				note.Show = j.Shown(text)
				note.Places = note.Show > 0
			}
			record.Event = note
		}
		line := prepared{Event: event.Line(at, record.Event)}
		switch {
		case line.Arg(0) == "e0":
			line.Args[0] = mind.EntryID(entries)
			entries++
		case len(line.Args) > 0 && line.Args[0] == "":
			notices++ // of one commit only questions are several
			line.Args[0] = fmt.Sprintf("k%d", notices)
		}
		_, epoch := record.Event.(event.Epoch)
		if !epoch {
			redactLine(line.Event)
		}
		for _, stored := range record.Stored {
			if !stored.Hash.IsZero() {
				line.add(stored, nil)
			}
		}
		for _, b := range record.Texts {
			repeats := b.Gist == last.Gist && bytes.Equal(b.Data, last.Data)
			if ref.Hash.IsZero() || !repeats {
				var err error
				if ref, err = j.Put(blobs.Meta{At: at, Gist: b.Gist, Parent: parent}, b.Data); err != nil {
					return nil, fmt.Errorf("record %s: %w", line.Kind, err)
				}
				parent, last = ref.Hash, b
			}
			line.add(ref, b.Data)
		}
		out = append(out, line)
	}
	return out, nil
}

func (line *prepared) add(r mind.Ref, data []byte) {
	line.Refs = append(line.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
	line.bodies = append(line.bodies, mind.Body{Hash: r.Hash, Data: data})
}

// Put stores a text of this life with all that m says of it; its time is now, unless m has one. It is durable with the
// next append.
func (j *Journal) Put(m blobs.Meta, text []byte) (mind.Ref, error) {
	m.Life = j.ID.Self
	if m.At.IsZero() {
		m.At = j.Now()
	}
	hash, err := j.Store.PutLater(&j.Syncs, m, text)
	if err != nil {
		return mind.Ref{}, err
	}
	if j.custody != nil {
		j.put = append(j.put, hash)
	}
	return mind.Ref{Hash: hash, Short: j.Store.Short(hash), Gist: blobs.Gist(m.Gist)}, nil
}

// redactLine takes secrets out of a line, in place.
func redactLine(line life.Event) {
	for i, arg := range line.Args {
		line.Args[i] = shape.Text(arg)
	}
	for i, f := range line.Fields {
		line.Fields[i].Value = shape.Text(f.Value)
	}
}

// append writes the lines of events, which then have happened, and behind them the seal of the log if
// that is asked for.
func (j *Journal) append(events []prepared, sealed bool) error {
	if j.err != nil {
		return j.err
	}
	lines, last := make([]life.Event, len(events)), j.State.LastBlob
	for i, line := range events {
		lines[i] = line.Event
		if len(line.bodies) > 0 {
			last = line.bodies[len(line.bodies)-1].Hash
		}
	}
	var err error
	if sealed {
		seal := func(size int64, root tlog.Hash) (life.Event, error) { return j.seal(size, root, last) }
		lines, err = j.AppendSealed(seal, lines...)
	} else {
		err = j.Log.Append(lines...)
	}
	if err == nil && j.custody != nil {
		err = j.ship(events)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", events[0].Kind, err)
	}
	for _, e := range lines {
		j.Tell(e)
	}
	return nil
}

// mayWait is how long lines of a kind may be at this host alone, where no other line follows: nothing outside rests on
// them. Who takes the life of a host that has died finds again what was heard, hinted and posted, and says of a call that
// its effect is unknown.
var mayWait = map[string]time.Duration{
	"inbound": time.Minute, "hint": time.Minute, "posted": time.Minute, "result": 2 * time.Second,
}

// ship makes what was appended durable for the other hosts of the home, unless it may wait.
func (j *Journal) ship(events []prepared) error {
	for _, line := range events {
		if due := time.Now().Add(mayWait[line.Kind]); j.due.IsZero() || due.Before(j.due) {
			j.due = due
		}
		for _, address := range line.All("hash") { // of a grant: a file that somebody has attached
			if hash, err := blobs.ParseHash(address); err == nil && j.Store.Has(hash) {
				j.put = append(j.put, hash)
			}
		}
	}
	return j.ShipDue()
}

// Due is when ShipDue is to be called at the latest; zero if no line waits.
func (j *Journal) Due() time.Time { return j.due }

// ShipDue makes lines that may wait no longer durable for the other hosts.
func (j *Journal) ShipDue() error {
	if isDue := !j.due.IsZero() && !time.Now().Before(j.due); isDue && j.err == nil {
		j.shipAll()
	}
	return j.err
}

// lastWait bounds how long a process that ends waits for the store of the hosts.
const lastWait = 1500 * time.Millisecond

func (j *Journal) shipAll() {
	ctx := j.until
	if ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
		defer cancel()
		ctx = last
	}
	if j.err = j.custody.Ship(ctx, j.put); j.err == nil {
		j.put, j.due = nil, time.Time{}
	}
}

// Until has Commit wait for a store of the hosts that is away until ctx ends.
func (j *Journal) Until(ctx context.Context) { j.until = ctx }

// Snapshot has the next commit tell other hosts of the workspace as it is now.
func (j *Journal) Snapshot() {
	if j.custody != nil {
		j.custody.Snapshot(j.until)
	}
}

// Missing returns the names of files of the workspace that stayed at another host, since this one took the life.
func (j *Journal) Missing() []string {
	if j.custody == nil {
		return nil
	}
	return j.custody.Missing()
}

// Check makes sure that this host still has the life, before something is done that cannot be undone.
func (j *Journal) Check(ctx context.Context) error {
	if j.custody == nil {
		return nil
	}
	return j.custody.Check(ctx)
}

// apply folds events into the state.
func (j *Journal) apply(events []prepared) error {
	for _, line := range events {
		if j.err = j.State.Apply(line.Event, line.bodies...); j.err != nil {
			return fmt.Errorf("record: %w", j.err)
		}
		j.Spending.Line(line.Event)
		j.SinceEpoch++
	}
	return nil
}

// Now is the time of the next event: the clock's, but never before the last
// event's, so that a clock that jumps back does not turn a life around.
func (j *Journal) Now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if now.Before(j.last) {
		return j.last
	}
	j.last = now
	return now
}

// Epoch appends an epoch event, a snapshot to resume from. The epoch of the prompt goes on: no byte of the request
// changes. The snapshot has the records already, which go out in the same append; so does the seal behind
// it. It is of the state that change, which may be nil, makes.
func (j *Journal) Epoch(why string, change func(*mind.State) error, records ...Record) error {
	return j.epoch(why, change, records)
}

// Stop appends an epoch, and that the process ends in good order.
func (j *Journal) Stop(why string) error {
	return j.epoch("stop", nil, nil, Record{Event: event.Stopped{Why: why}})
}

// epoch is Epoch. The records of after stand between the epoch and the seal.
func (j *Journal) epoch(why string, change func(*mind.State) error, before []Record, after ...Record) error {
	events, err := j.prepare(before)
	if err != nil {
		return err
	}
	if err := j.apply(events); err != nil {
		return err
	}
	if change != nil {
		if err := change(j.State); err != nil {
			return err
		}
	}
	j.State.Carry(j.Spending.Encode())
	snapshot, err := j.State.Snapshot()
	if err != nil {
		return err
	}
	if err := j.Syncs.Wait(); err != nil { // no line names the texts that a snapshot alone names
		return err
	}
	gist := fmt.Sprintf("epoch %d of %s (%s)", j.State.Epoch, j.ID.Name, why)
	epoch, err := j.prepare(append([]Record{Told(event.Epoch{K: j.State.Epoch, Why: why}, gist, snapshot)}, after...))
	if err != nil {
		return err
	}
	if err := j.append(append(events, epoch...), true); err != nil {
		return err
	}
	err = j.apply(epoch)
	j.SinceEpoch = 0
	return err
}

// seal states, signed, what the lines of the log are, and its blobs down from the last.
func (j *Journal) seal(size int64, root tlog.Hash, last blobs.Hash) (life.Event, error) {
	key, err := life.LoadKey(j.Home.Dir)
	if err != nil {
		return life.Event{}, err
	}
	c := key.Sign(j.ID.Self, size, root, last.String())
	sealed := event.Sealed{
		Size: size, Root: life.Base64(root[:]), Last: c.Last, Key: key.Public(), Sig: life.Base64(c.Sig),
	}
	return event.Line(j.Now(), sealed), nil
}

// ReadOwn reads one of the identity's own files.
func (j *Journal) ReadOwn(name string) ([]byte, error) { return j.ID.ReadOwn(name, j.log) }

// CancelCalls commits a result for each call of the newest reply without one, so that a note can follow: why says why
// the call did not start.
func (j *Journal) CancelCalls(why string) error {
	var results []Record
	for _, p := range j.State.Owed().Calls {
		e := event.Result{ID: p.ID(), Tool: p.Call.Tool, Status: mind.NotStarted}
		text := "not started: " + why
		if p.Call.Started {
			e.Status, text, e.File = mind.Interrupted, Interrupted, j.Wrote(e.ID, e.Tool)
		}
		gist := fmt.Sprintf("turn %d: calls %s", j.State.Turn+1, e.Status)
		results = append(results, Told(e, gist, text))
	}
	if len(results) == 0 {
		return nil
	}
	return j.Commit(results...)
}

// Interrupted is the result of a call that ran when the process ended.
const Interrupted = "interrupted, effect unknown: the daemon stopped while this ran. Look before you repeat it."

// Wrote is the version of an own file that a call has written although it was cut short: the identity's text never has the
// power of a person's act.
func (j *Journal) Wrote(call, tool string) (file event.File) {
	if tool != "WRITE_FILE" && tool != "EDIT_FILE" {
		return file
	}
	for name, versions := range j.ID.Files().Files {
		own, isOwn := strings.CutPrefix(name, "self/")
		last := versions[len(versions)-1]
		if !isOwn || last.Call != call {
			continue
		}
		there, err := j.ReadOwn(own)
		if version := (mind.Text{Name: own, Body: there}).Version(); err == nil && version.Hash == last.Hash {
			file = version
		}
	}
	return file
}
