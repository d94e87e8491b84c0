package guard

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

const (
	// slowest is the time that a client gets for each piece of a body or of an answer.
	slowest = 30 * time.Second
	// headerTime is the time that it gets for its headers.
	headerTime = 10 * time.Second

	maxForm   = 1 << 20
	maxBody   = 16 << 20
	maxUpload = 81 << 20 // eight files of 10 MB
)

// Server is an HTTP server with the guard in front of next, for clients that may be slow, silent or
// hostile.
func (g *Guard) Server(next http.Handler) *http.Server {
	return &http.Server{
		Handler:           g.Protect(next),
		ReadHeaderTimeout: headerTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelWarn), // a panic of a handler, too,
	}
}

// pace bounds the body of a request, and how long its client may be silent in the middle of it or
// of the answer. Between two pieces of an answer, as of a stream, any time may pass.
func pace(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	slow := &paced{ResponseWriter: w, c: http.NewResponseController(w)}
	if r.Body != nil && r.Body != http.NoBody {
		slow.expect()
		r.Body = &pacedBody{http.MaxBytesReader(w, r.Body, bound(r.Header.Get("Content-Type"))), slow}
	}
	return slow
}

// bound limits the bytes of a body. Handlers may bound it further.
func bound(contentType string) int64 {
	switch kind, _, _ := strings.Cut(contentType, ";"); strings.ToLower(strings.TrimSpace(kind)) {
	case "application/x-www-form-urlencoded":
		return maxForm
	case "multipart/form-data":
		return maxUpload
	}
	return maxBody
}

// paced is a ResponseWriter that gives each piece its own time.
type paced struct {
	http.ResponseWriter
	c   *http.ResponseController
	end time.Time // of the whole body, if a handler has set one
}

func (p *paced) Write(data []byte) (int, error) {
	_ = p.c.SetWriteDeadline(time.Now().Add(slowest)) // a test's recorder has no deadline
	return p.ResponseWriter.Write(data)
}

// FlushError is called by a ResponseController.
func (p *paced) FlushError() error {
	_ = p.c.SetWriteDeadline(time.Now().Add(slowest))
	return p.c.Flush()
}

// Unwrap is for a ResponseController.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// SetReadDeadline is called by a ResponseController. It bounds the whole body, beside the time of each piece.
func (p *paced) SetReadDeadline(end time.Time) error {
	p.end = end
	p.expect()
	return nil
}

func (p *paced) expect() {
	until := time.Now().Add(slowest)
	if !p.end.IsZero() && p.end.Before(until) {
		until = p.end
	}
	_ = p.c.SetReadDeadline(until) // a test's recorder has no deadline
}

// pacedBody gives the client some time for each piece. At the end it takes the deadline away, which
// would end the request while it is answered.
type pacedBody struct {
	io.ReadCloser
	p *paced
}

func (b *pacedBody) Read(data []byte) (int, error) {
	b.p.expect()
	n, err := b.ReadCloser.Read(data)
	if err == io.EOF { // after any other error the rest may still have to be read, to be thrown away
		_ = b.p.c.SetReadDeadline(time.Time{})
	}
	return n, err
}
