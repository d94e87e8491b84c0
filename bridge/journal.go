package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"lethe/internal/durable"
)

// rotateAt is how much may be appended to inbox.jsonl before it is written anew,
// in bytes; no less than it had when it was.
const rotateAt = 256 << 10

// journal is the file inbox.jsonl. One goroutine at a time may use it.
type journal struct {
	path string
	file *os.File // nil: the next write makes the file anew
	base int64    // its size when it was made
	size int64
}

// openJournal reads the file at path. What it cannot read is kept beside it.
func openJournal(path string, log *slog.Logger) (*journal, *ledger, error) {
	j := &journal{path: path}
	data, err := readInbox(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, newLedger(), nil
	}
	if err != nil {
		return nil, nil, err
	}
	l, torn, err := foldInbox(data)
	switch {
	case err != nil:
		kept, kerr := setAside(path, data)
		if kerr != nil {
			return nil, nil, kerr
		}
		log.Error("the inbox is damaged; going on with what can be read of it. Messages that waited may be lost, "+
			"and those that are repeated be there twice", "kept", kept, "waiting", len(l.waiting), "position", l.position, "err", err)
		return j, l, j.rewrite(l.snapshot())
	case torn:
		// The next write makes the file anew, without the torn line.
		log.Info("the end of the inbox was torn by a crash; nothing was acknowledged by it", "file", path)
	default:
		j.reopen()
		j.base = j.size
	}
	return j, l, nil
}

// maxInbox bounds what is read of inbox.jsonl, in bytes: what 10,000 long lines are as JSON,
// where they are no text, and twice that before the file is made anew.
const maxInbox = 1 << 30

func readInbox(path string) ([]byte, error) { return durable.ReadWhole(path, maxInbox) }

// setAside keeps the bytes of a state file that makes no sense beside it.
func setAside(path string, data []byte) (kept string, err error) {
	kept = path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := durable.WriteFile(kept, data, 0o600); err != nil {
		return "", fmt.Errorf("keep the damaged %s: %w", path, err)
	}
	return kept, nil
}

// reopen takes the file as it is now. If that fails, the next write makes it anew.
func (j *journal) reopen() {
	j.close()
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return
	}
	j.file, j.size = f, fi.Size()
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
}

// write makes r durable; l is what the file holds without it. After an error the
// record may be in the file or not, and the next write makes the file anew.
func (j *journal) write(l *ledger, r record) error {
	line := r.encode()
	if j.file == nil || j.size-j.base+int64(len(line)) > max(rotateAt, j.base) {
		return j.rewrite(append(l.snapshot(), line...))
	}
	if _, _, err := durable.AppendTo(j.file, line); err != nil {
		j.close()
		return fmt.Errorf("append to %s: %w", j.path, err)
	}
	j.size += int64(len(line))
	return nil
}

func (j *journal) rewrite(data []byte) error {
	j.close()
	if err := durable.WriteFile(j.path, data, 0o600); err != nil {
		return err
	}
	j.reopen()
	j.base = j.size
	return nil
}
