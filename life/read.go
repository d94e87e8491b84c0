package life

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"lethe/internal/durable"
)

// Epoch is the kind of the event that SinceEpoch looks for.
const Epoch = "epoch"

// SinceEpoch returns the newest epoch event and all that follow it, oldest
// first, each checked against the line before it. It reads the file backwards
// and no further than it must. With no epoch in the log it returns all events.
// A bad line in that range is a *CorruptError.
func (l *Log) SinceEpoch() ([]Event, error) {
	return l.Back(func(e Event) bool { return e.Kind == Epoch })
}

// Back returns the newest events, oldest first, back to and including the first
// for which enough is true.
func (l *Log) Back(enough func(Event) bool) ([]Event, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	return back(l.file, l.end, l.path, enough)
}

// back is Back on the first size bytes of r.
func back(r io.ReaderAt, size int64, path string, enough func(Event) bool) ([]Event, error) {
	var events []Event
	b := newBackward(r, size)
	for {
		line, start, err := b.prev()
		if err == errStart {
			break
		}
		if err != nil {
			return nil, failed(path, err)
		}
		rec, bad, err := b.verify(line)
		if err != nil {
			return nil, failed(path, err)
		}
		if bad != nil {
			return nil, blame(b, start, bad, path)
		}
		events = append(events, rec.event)
		if enough(rec.event) {
			break
		}
	}
	slices.Reverse(events)
	return events, nil
}

// blame names the bad line: a line does not fit also when the one before it has
// been damaged.
func blame(b *backward, start int64, bad error, path string) error {
	if line, before, err := b.prev(); err == nil {
		if _, worse, err := b.verify(line); err == nil && worse != nil {
			return &CorruptError{path, before, worse.Error()}
		}
	}
	return &CorruptError{path, start, bad.Error()}
}

// Scan reads a log from its first line, checks the whole chain, and calls f for
// each event with its line's offset in bytes. A torn end, as Open would set it
// aside, ends it without an error; a bad line is a *CorruptError, after f has
// seen those before it. It opens path itself, changes nothing, and may be called
// while another process writes: it ends where the log ended at the call.
func Scan(path string, f func(e Event, offset int64) error) error {
	file, fi, err := durable.OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("scan life: %w", err)
	}
	defer file.Close()
	// A damaged end is no reason to keep what comes before it from f.
	end, _, damage := soundEnd(file, fi.Size(), path)
	if damage != nil {
		end = fi.Size()
	}
	lines := forward(file, 0, end)
	var offset int64
	prev := ""
	for {
		line, err := lines.next()
		if err == io.EOF {
			return damage
		}
		if err != nil {
			return failed(path, err)
		}
		rec, bad := verify(prev, line)
		if bad != nil {
			return &CorruptError{path, offset, bad.Error()}
		}
		if err := f(rec.event, offset); err != nil {
			return err
		}
		prev = rec.sum
		offset += int64(len(line))
	}
}

// First returns the first event of a log: the boot.
func First(path string) (Event, error) {
	var first Event
	stop := errors.New("stop")
	err := Scan(path, func(e Event, _ int64) error {
		first = e
		return stop
	})
	if errors.Is(err, stop) {
		return first, nil
	}
	if err == nil {
		err = fmt.Errorf("read %s: empty", path)
	}
	return first, err
}

// Lines returns the last n lines of a log as they stand, oldest first, without
// their newlines.
func (l *Log) Lines(n int) ([]string, error) {
	if l.err != nil {
		return nil, fmt.Errorf("read life: %w", l.err)
	}
	b := newBackward(l.file, l.end)
	var out []string
	for len(out) < n {
		line, _, err := b.prev()
		if err == errStart {
			break
		}
		if err != nil {
			return nil, failed(l.path, err)
		}
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	slices.Reverse(out)
	return out, nil
}
