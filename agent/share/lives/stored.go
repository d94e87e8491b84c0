package lives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/life"
)

// Stored says what a restore brings of a life.
type Stored struct {
	Bytes  int64     // of LIFE
	End    time.Time // the newest line of them
	Behind int64     // bytes of LIFE behind lines that are lost: a restore sets them aside
	Host   streams.Host
	Ended  bool // the life was removed

	custody int
	large   map[blobs.Hash]string // what they are
}

// Read reads all that the store has of a life. It calls read for each text, and lost for each that is missing or damaged.
// It writes nothing.
func (l *Lives) Read(ctx context.Context, self string, read func(bytes int), lost func(what error)) (Stored, error) {
	s := &Stored{large: map[blobs.Hash]string{}}
	var list []byte
	_, err := l.Streams.Each(ctx, Stream(self), streams.At{}, func(n int, text []byte, err error) error {
		read(len(text))
		var segment Segment
		if err == nil {
			segment, err = decode(text)
		}
		if err == nil && segment.Self != self {
			err = errors.New("it is of another life")
		}
		if err != nil {
			lost(fmt.Errorf("segment %d: %w", n, err))
			return nil
		}
		for _, file := range segment.Files {
			if file.Name == workspaceFile {
				list = file.Data
			}
		}
		s.add(segment)
		return nil
	})
	if err != nil || s.Ended {
		return *s, err
	}
	for name, now := range parseList(list) {
		s.large[now.hash] = "workspace/" + name
	}
	for hash, what := range s.large {
		text, err := l.Streams.Large(ctx, Stream(self), hash)
		read(len(text))
		if err == nil && blobs.Sum(text) != hash {
			err = streams.ErrDamaged
		}
		switch {
		case streams.Unreadable(err):
			lost(fmt.Errorf("%s: %w", what, err))
		case err != nil:
			return *s, err
		}
	}
	return *s, nil
}

// add adds a segment, as apply does.
func (s *Stored) add(segment Segment) {
	if segment.Custody < s.custody {
		return
	}
	s.custody, s.Host, s.Ended = segment.Custody, segment.Host, segment.ends()
	for _, hash := range segment.Large {
		s.large[hash] = "text " + hash.String()
	}
	for _, file := range segment.Files {
		if !file.Large.IsZero() {
			s.large[file.Large] = file.Name
		}
	}
	if len(segment.Lines) == 0 {
		return
	}
	if segment.After.Offset > s.Bytes {
		s.Behind += int64(len(segment.Lines))
		return
	}
	s.Bytes = segment.After.Offset + int64(len(segment.Lines))
	for line := range bytes.Lines(segment.Lines) {
		if event, err := life.ParseLine(string(line)); err == nil {
			s.End = event.At
		}
	}
}
