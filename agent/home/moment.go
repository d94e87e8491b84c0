package home

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Moment names a moment of a life, by one of its fields behind the first; the zero one is now.
type Moment struct {
	Text  string    // as a person wrote it
	Entry int       // when this entry was complete: a reply with all its results
	Epoch *int      // when this epoch began
	Label string    // that a person gave it
	At    time.Time // what had happened by then
	End   int64     // where its last line ends in LIFE, in bytes
}

// ends reports whether a line, which ends at an offset, is the last one of the moment. The newest is asked first.
func (m Moment) ends(line life.Event, offset int64) bool {
	epoch, _ := event.As[event.Epoch](line)
	id, _, _ := strings.Cut(line.Arg(0), ".")
	switch {
	case m.Entry > 0:
		isPart := line.Kind == "call" || line.Kind == "posted"
		return id == mind.EntryID(m.Entry) && !isPart
	case m.Epoch != nil:
		isPart := epoch.Why == "count" || epoch.Why == "stop"
		isEpoch := line.Kind == life.Epoch && epoch.K == *m.Epoch
		return isEpoch && !isPart
	case m.Label != "":
		return line.Kind == "labelled" && line.Get("label") == m.Label
	}
	inTime := m.At.IsZero() || !line.At.After(m.At)
	atEnd := m.End == 0 || offset == m.End
	return inTime && atEnd
}

// Then is a life as it was at a moment.
type Then struct {
	*mind.State
	End int64     // where the moment's last line ends in LIFE, in bytes
	At  time.Time // of that line
}

// At folds a life as it was at a moment, changing nothing; it may be running. Where a call was under way
// then, it is the moment before its reply. The fold begins at the epoch before the moment.
func At(id Identity, store *blobs.Store, m Moment) (Then, error) {
	log, err := View(id, store)
	if err != nil {
		return Then{}, err
	}
	defer log.Close()
	var labels []string
	target, start, booted, newest := int64(0), log.Size(), time.Time{}, 0
	err = log.Back(0, func(e life.Event, offset int64) bool {
		if target == 0 && m.ends(e, start) {
			target = start
		}
		if e.Kind == "labelled" && !slices.Contains(labels, e.Get("label")) {
			labels = append(labels, e.Get("label"))
		}
		n, _, _ := mind.ParseID(e.Arg(0))
		start, booted, newest = offset, e.At, max(newest, n)
		return target == 0 || e.Kind != life.Epoch
	})
	if err == nil && target == 0 {
		err = fmt.Errorf("find %q in the life of %s: %w: it began at %s, its newest entry is e%d, its labels are: %s",
			m.Text, id.Name, ErrNotFound, booted.Local().Format("2006-01-02 15:04:05"), newest,
			cmp.Or(strings.Join(labels, ", "), "none"))
	}
	if err != nil {
		return Then{}, ReadError(err)
	}
	var events []life.Event
	var starts []int64 // of their lines
	end := life.Mark{Offset: start}
	err = life.ReadOn(id.LIFE(), &end, func(e life.Event, follows bool) error {
		isExact := m.Label != "" || m.End != 0 // otherwise lines of the same append belong to it
		mayEnd := isExact || !follows
		if end.Offset >= target && mayEnd {
			return io.EOF
		}
		if e.Kind == life.Epoch {
			events, starts = nil, nil
		}
		events, starts = append(events, e), append(starts, end.Offset)
		return nil
	})
	if err != nil && err != io.EOF {
		return Then{}, ReadError(err)
	}
	state, err := foldEvents(id, events, store)
	inCall := func() bool { return state.Unit() != nil && state.Unit().Waits() }
	if err == nil && inCall() {
		n := len(events) - 1
		for n > 1 && events[n].Kind != "reply" {
			n--
		}
		events, end.Offset = events[:n], starts[n]
		state, err = foldEvents(id, events, store)
	}
	return Then{state, end.Offset, events[len(events)-1].At}, err
}

// LineAt is the line of LIFE that ends at an offset.
func (id Identity) LineAt(end int64) (m event.Moment, err error) {
	r, err := life.ReadFrom(id.LIFE(), life.Mark{})
	if err != nil {
		return m, err
	}
	defer r.Close()
	m.Self = id.Self
	for r.At.Offset < end {
		if _, _, err := r.Next(); err != nil {
			return m, err
		}
		m.Line++
	}
	leaf := life.Leaf(r.Line)
	m.Leaf = hex.EncodeToString(leaf[:])
	return m, nil
}
