package api

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/events"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/report"
)

// maxLines bounds the bytes of the lines of a log that are listed at once, as far as they are more
// than one.
const maxLines = 1 << 20

func (s server) life(_ *http.Request, id agent.Identity, p ofPage) (l List[events.Event], err error) {
	l.Items = []events.Event{}
	stream, err := s.open(id, p.After)
	if err != nil {
		return l, err
	}
	defer stream.Close()
	for bytes := 0; len(l.Items) < p.Limit && bytes < maxLines; {
		e, err := stream.Next()
		if err == io.EOF {
			l.Next = ""
			return l, nil
		}
		if err != nil {
			return l, err
		}
		l.Items, l.Next, bytes = append(l.Items, e), e.ID, bytes+len(e.Text)+len(e.Args)
	}
	return l, nil
}

type followed struct {
	of
	After string `name:"after" about:"The id to go on behind; 0 is the beginning. By default it is Last-Event-ID, or what happens from now on."`
	Last  string `name:"Last-Event-ID" in:"header" about:"What browsers send when they come back."`
}

func (s server) follow(w http.ResponseWriter, r *http.Request, p followed) error {
	id, err := s.Identity(r)
	if err != nil {
		return err
	}
	after := cmp.Or(p.Last, p.After)
	if after == "" {
		if after, err = events.End(id.LIFE()); err != nil {
			return id.Unread(err)
		}
	}
	stream, err := s.open(id, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if r.Method == http.MethodHead {
		return nil // it would wait for ever
	}
	sse := s.Stream(w, r)
	defer sse.Close()
	if err := sse.From(after); err != nil {
		return nil // the client has left
	}
	err = stream.Follow(sse.Context(), s.Watcher, func(e events.Event) error { return sse.Send(e.ID, e.Type, e) })
	if err != nil && sse.Context().Err() == nil {
		s.Log.Error("a stream of events has ended", "identity", id.Name, "err", err)
	}
	return nil
}

// open begins the events of an identity behind one of them.
func (s server) open(id agent.Identity, after string) (*events.Stream, error) {
	stream, err := events.Open(s.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	switch {
	case errors.Is(err, events.ErrAfter):
		err = report.Invalid("after is %q; it is the id of an event, or 0", after)
	case errors.Is(err, events.ErrGone):
		err = backend.Refuse(http.StatusGone, "begin anew, without Last-Event-ID", "the log of %s does not have the place %s any more", id.Name, after)
	case err != nil:
		err = id.Unread(err)
	}
	return stream, err
}

// Logged is a line of a log as it is stored.
type Logged struct {
	From int64  `json:"from"` // the bytes of LIFE.md that it has
	To   int64  `json:"to"`
	Line string `json:"line"`
}

func (s server) lifeLines(_ *http.Request, id agent.Identity, p ofPage) (l List[Logged], err error) {
	l.Items = []Logged{}
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return l, id.Unread(err)
	}
	defer f.Close()
	at, err := lineAt(f, p.After)
	if err != nil {
		return l, err
	}
	begin, r := at, bufio.NewReader(io.NewSectionReader(f, at, 1<<62))
	for len(l.Items) < p.Limit && (at-begin < maxLines) {
		line, err := life.ReadLine(r)
		if err == io.EOF { // a line that is still being written is none yet
			return l, nil
		}
		if err != nil {
			return l, id.Unread(err)
		}
		to := at + int64(len(line))
		l.Items = append(l.Items, Logged{at, to, strings.TrimSuffix(line, "\n")})
		at = to
	}
	l.Next = strconv.FormatInt(at, 10)
	return l, nil
}

// lineAt is the byte that after names, where a line has to begin.
func lineAt(f *os.File, after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	at, err := strconv.ParseInt(after, 10, 64)
	before := []byte{'\n'}
	if err == nil && at > 0 {
		if _, err = f.ReadAt(before, at-1); errors.Is(err, io.EOF) {
			err = errors.New("it is behind the end")
		}
	}
	if err != nil || at < 0 || before[0] != '\n' {
		return 0, report.Invalid("after is %q; it is the byte at which a line of the log begins: to of the line before", after)
	}
	return at, nil
}
