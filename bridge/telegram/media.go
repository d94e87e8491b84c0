package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/bridge"
)

// atOnce is how many files are fetched at a time: each is held in memory.
const atOnce = 2

// downloads are the files of a batch, on their way.
type downloads struct {
	s     *session
	ctx   context.Context // ends with the batch
	late  context.Context // ends too when all files together have taken too long
	turns chan struct{}
	g     sync.WaitGroup
	came  map[*draft]chan result
}

// result is what a line says of a file, or why the disk does not take it.
type result struct {
	said string
	err  error
}

// fetching begins with no files. stop ends all that are under way and waits for
// them.
func (s *session) fetching(ctx context.Context) (d *downloads, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	late, done := context.WithTimeout(ctx, s.cfg.tune.files)
	d = &downloads{s: s, ctx: ctx, late: late, turns: make(chan struct{}, atOnce), came: map[*draft]chan result{}}
	return d, func() {
		cancel()
		done()
		d.g.Wait()
	}
}

// begin starts to fetch a draft's file.
func (d *downloads) begin(of *draft) {
	c := make(chan result, 1)
	d.came[of] = c
	d.g.Go(func() {
		d.turns <- struct{}{}
		defer func() { <-d.turns }()
		said, err := d.fetch(*of.file, of.Message)
		c <- result{said, err}
	})
}

// end waits for a draft's file, if it has one, and returns what its line says of
// it.
func (d *downloads) end(ctx context.Context, of *draft) (said string, err error) {
	c, has := d.came[of]
	if !has {
		return "", nil
	}
	select {
	case r := <-c:
		return r.said, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// errLocalFile is a server in local mode, which names a path on its own disk.
var errLocalFile = errors.New("the server runs in local mode")

// fetch stores a file that came with a message, and returns what its line says of
// it. That it cannot be fetched is said too; an error is one of the disk, or the end
// of the batch.
func (d *downloads) fetch(f file, m bridge.Message) (string, error) {
	s, most := d.s, d.s.cfg.tune.maxFile
	tooLarge := fmt.Sprintf("[%s %s, larger than the %s that a bot can fetch]", f.label(), size(f.Size), size(most))
	if f.Size > most {
		return tooLarge, nil
	}
	data, err := s.tryFetch(d.late, f)
	if d.ctx.Err() != nil {
		return "", d.ctx.Err()
	}
	switch {
	case tooBig(err):
		if f.Size == 0 {
			tooLarge = fmt.Sprintf("[%s, larger than the %s that a bot can fetch]", f.label(), size(most))
		}
		return tooLarge, nil
	case err != nil:
		s.log.Warn("a file could not be fetched; its line says so", "kind", f.Kind, "bytes", f.Size, "error", err)
		return fmt.Sprintf("[%s %s: could not be fetched, %s]", f.label(), size(f.Size), whyNot(err)), nil
	}
	what := f.Kind
	if name := inert(f.Name); name != "" {
		what += " " + name
	}
	// All of it is the message's own, so that a message that comes again makes the
	// same blob.
	h, err := s.cfg.Store.Put(blobs.Meta{
		At: m.At, Gist: blobs.Gist(fmt.Sprintf("%s (%s, %d bytes) from %s", what, inert(f.Mime), len(data), m.User)),
	}, data)
	if err != nil {
		return "", fmt.Errorf("store a file: %w", err)
	}
	return fmt.Sprintf("[%s %s hash=%s]", f.label(), size(int64(len(data))), s.cfg.Store.Short(h)), nil
}

// tooBig says that a file is larger than a bot can fetch.
func tooBig(err error) bool {
	var refusal *apiError
	var status *statusError
	return errors.As(err, &refusal) && strings.Contains(refusal.Description, "too big") ||
		errors.As(err, &status) && status.Code == http.StatusRequestEntityTooLarge
}

// final says that trying again does not help.
func final(err error) bool {
	if errors.Is(err, errLocalFile) {
		return true
	}
	var refusal *apiError
	var status *statusError
	code := 0
	switch {
	case errors.As(err, &refusal) && !strings.Contains(refusal.Description, "temporarily"):
		code = refusal.Code
	case errors.As(err, &status):
		code = status.Code
	}
	return code >= 400 && code < 500 && code != http.StatusTooManyRequests
}

// errFilesOff is a file that was not asked for: the newest ones took too long, and
// messages wait behind them.
var errFilesOff = errors.New("files take too long at the moment")

// whyNot says in a line why its file is not there, in words of our own.
func whyNot(err error) string {
	var refusal *apiError
	var status *statusError
	switch {
	case errors.As(err, &refusal):
		return fmt.Sprintf("telegram answered %d", refusal.Code)
	case errors.As(err, &status):
		return fmt.Sprintf("the server answered %d", status.Code)
	case errors.Is(err, errLocalFile), errors.Is(err, errFilesOff):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "the connection failed"
}

// fileServer is how the server of files has done lately. A file holds up the messages
// behind it, everybody's, so one that is slow is given less and less.
type fileServer struct {
	mu   sync.Mutex
	slow int       // files in a row that took too long
	last time.Time // when the newest of them was given up
}

// sickFor is how long a file that took too long counts against those behind it.
const sickFor = 5 * time.Minute

// patience is how long a file may take; 0: it is not asked for.
func (f *fileServer) patience(t tuning, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch ago := now.Sub(f.last); {
	case f.slow == 0 || ago >= sickFor:
		return t.file
	case f.slow > 1 && ago < t.filesOff:
		return 0
	}
	return min(t.file, t.fileSick)
}

// note counts what came of a file that was asked for.
func (f *fileServer) note(late bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !late {
		f.slow = 0
		return
	}
	f.slow++
	f.last = now
}

// tryFetch downloads a file, some times if need be, within the time that the server
// of files deserves.
func (s *session) tryFetch(ctx context.Context, f file) (data []byte, err error) {
	patience := s.files.patience(s.cfg.tune, time.Now())
	if patience == 0 {
		return nil, errFilesOff
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err = s.tryWithin(within, f)
	if ctx.Err() == nil { // else the batch has ended, or its time: that says nothing of this file
		s.files.note(err != nil && within.Err() != nil, time.Now())
	}
	return data, err
}

func (s *session) tryWithin(ctx context.Context, f file) (data []byte, err error) {
	wait := s.newBackoff()
	for try := 1; ; try++ {
		data, err = s.fetchOnce(ctx, f)
		if err == nil || ctx.Err() != nil {
			return data, err
		}
		pause := wait.NextBackOff()
		var refusal *apiError
		if errors.As(err, &refusal) {
			if verdictOf(refusal) == noToken {
				s.fail(fmt.Errorf("%w: %w", ErrToken, err))
			}
			pause = max(pause, refusal.RetryAfter)
		}
		end, bound := ctx.Deadline()
		if try >= s.cfg.tune.fileTries || final(err) || bound && time.Until(end) < pause || !sleep(ctx, pause) {
			return nil, err
		}
	}
}

func (s *session) fetchOnce(ctx context.Context, f file) ([]byte, error) {
	var at models.File
	if err := s.api.call(ctx, s.api.calls, "getFile", &bot.GetFileParams{FileID: f.ID}, &at); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(at.FilePath, "/"):
		return nil, errLocalFile
	case at.FilePath == "":
		return nil, errors.New("getFile: no path")
	case at.FileSize > s.cfg.tune.maxFile:
		return nil, &statusError{http.StatusRequestEntityTooLarge}
	}
	data, err := s.api.download(ctx, at.FilePath, s.cfg.tune.maxFile)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if at.FileSize > 0 && int64(len(data)) != at.FileSize {
		return nil, fmt.Errorf("download: %d bytes came of %d", len(data), at.FileSize)
	}
	return data, nil
}
