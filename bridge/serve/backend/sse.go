package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// pingEvery limits the silence of a stream, which a proxy would take for its end.
const pingEvery = 15 * time.Second

// MostStreams limits the streams that are open at once. Each takes some 200 KB.
const MostStreams = 100

// SSE is a stream of server-sent events:
//
//	s, err := b.Stream(w, r)
//	defer s.Close()
//	err := stream.Follow(s.Context(), b.Watcher, func(e events.Event) error { return s.Send(e.ID, e.Type, e) })
//
// Its methods may be called from any goroutine.
type SSE struct {
	ctx context.Context
	end context.CancelCauseFunc
	c   *http.ResponseController

	mu   sync.Mutex
	w    http.ResponseWriter
	ping *time.Timer
}

// Stream begins the stream of a request. It tells the client to come back after two seconds when
// it breaks off. The error is a StatusError where there are too many.
func (b *Backend) Stream(w http.ResponseWriter, r *http.Request) (*SSE, error) {
	if b.streams.Add(1) > MostStreams {
		b.streams.Add(-1)
		return nil, Refuse(http.StatusServiceUnavailable, "close pages and clients that nobody looks at",
			"%d streams of events are open already", MostStreams)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	stream := &SSE{w: w, c: http.NewResponseController(w)}
	stream.ctx, stream.end = context.WithCancelCause(r.Context())
	go func() { // ends with the server or the stream
		defer b.streams.Add(-1)
		select {
		case <-b.Done:
			stream.end(http.ErrServerClosed)
		case <-stream.ctx.Done():
		}
	}()
	stream.mu.Lock()
	stream.ping = time.AfterFunc(pingEvery, func() { _ = stream.write(":\n\n") })
	stream.mu.Unlock()
	_ = stream.write("retry: 2000\n\n") // a client that is gone ends the context
	return stream, nil
}

// Context ends when the client leaves, reads nothing for half a minute, or the server stops.
func (s *SSE) Context() context.Context { return s.ctx }

// Send sends a value as JSON. id and event are the program's own words; the client names the last id
// when it comes back, and an event with id "" does not change that.
func (s *SSE) Send(id, event string, value any) error {
	var out bytes.Buffer
	if id != "" {
		out.WriteString("id: " + id + "\n")
	}
	out.WriteString("event: " + event + "\ndata: ")
	enc := json.NewEncoder(&out) // one line, whatever v holds
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	out.WriteByte('\n')
	return s.write(out.String())
}

// From tells the client the id that it comes back with until an event has another one.
func (s *SSE) From(id string) error { return s.write("id: " + id + "\n\n") }

func (s *SSE) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	_, err := s.w.Write([]byte(text))
	if err == nil {
		err = s.c.Flush()
	}
	if err != nil {
		s.end(err)
	}
	s.ping.Reset(pingEvery)
	return err
}

// Close ends the stream. A handler calls it before it returns.
func (s *SSE) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ping.Stop()
	s.end(http.ErrServerClosed)
}
