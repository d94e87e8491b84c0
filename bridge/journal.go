package bridge

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeebo/blake3"

	"lethe/chat"
	"lethe/internal/durable"
)

const (
	// At least keepSeen ids of messages are remembered.
	keepSeen = 10_000
	// At least keepSaid of the lines it posted are remembered, to tell what an
	// answer may be to.
	keepSaid = 1000
)

// record is one line of inbox.jsonl. Its members take effect in this order.
type record struct {
	Seen []string `json:"seen,omitempty"`
	Said []Origin `json:"said,omitempty"`
	Take []taken  `json:"take,omitempty"`
	Done []done   `json:"done,omitempty"`
}

// taken is a message that may not be in its room yet: the intent to post it.
type taken struct {
	Message
	Line      string `json:"line"` // as it is posted, without its newline
	chat.Mark        // where the room ended when the message was taken
}

func (t *taken) origin() Origin { return Origin{Message: t.Message, Hash: chat.Hash([]byte(t.Line))} }

// done says that a message is in its room, at these bytes.
type done struct {
	ID   string `json:"id"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// lineKey identifies a line of a room whatever its position.
type lineKey struct{ room, hash string }

func (o Origin) key() lineKey { return lineKey{o.Room, o.Hash} }

// ledger is the fold of the records.
type ledger struct {
	seen   []string // idHash of the posted messages, oldest first
	posted map[string]bool

	waiting []*taken // in order of arrival
	byID    map[string]*taken

	said  []Origin           // posted, oldest first
	lines map[lineKey]Origin // these, and the waiting ones without their bytes
}

// idHash stands for a message's id: the first 16 hex digits of its BLAKE3.
func idHash(id string) string {
	sum := blake3.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// has reports whether a message was taken already.
func (l *ledger) has(id string) bool { return l.byID[id] != nil || l.posted[idHash(id)] }

// apply folds one record in.
func (l *ledger) apply(rec record) {
	for _, hash := range rec.Seen {
		l.see(hash)
	}
	for _, o := range rec.Said {
		l.keep(o)
	}
	for _, it := range rec.Take {
		// A record that was reported as failed and yet persisted comes twice.
		if l.has(it.ID) {
			continue
		}
		l.waiting = append(l.waiting, &it)
		l.byID[it.ID] = &it
		l.lines[it.origin().key()] = it.origin()
	}
	l.finish(rec.Done)
}

func (l *ledger) see(hash string) {
	if !l.posted[hash] {
		l.posted[hash] = true
		l.seen = newest(append(l.seen, hash), keepSeen, func(old string) { delete(l.posted, old) })
	}
}

// newest is a list, without its older part once it is twice as long as it has to be.
func newest[T any](list []T, keep int, forget func(T)) []T {
	if len(list) < 2*keep {
		return list
	}
	for _, old := range list[:keep] {
		forget(old)
	}
	return slices.Clone(list[keep:])
}

// finish moves messages from the waiting to the said.
func (l *ledger) finish(all []done) {
	for _, one := range all {
		it := l.byID[one.ID]
		if it == nil {
			continue
		}
		delete(l.byID, one.ID)
		l.see(idHash(one.ID))
		o := it.origin()
		o.From, o.To = one.From, one.To
		l.keep(o)
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(t *taken) bool { return l.byID[t.ID] != t })
}

// keep remembers a line that was posted.
func (l *ledger) keep(o Origin) {
	l.lines[o.key()] = o
	l.said = newest(append(l.said, o), keepSaid, func(old Origin) {
		if l.lines[old.key()].ID == old.ID {
			delete(l.lines, old.key())
		}
	})
}

// snapshot is the file that folds to l.
func (l *ledger) snapshot() []byte {
	first := record{Seen: l.seen[max(0, len(l.seen)-keepSeen):]}
	var out bytes.Buffer
	out.Write(first.encode())
	if len(l.said) > 0 {
		out.Write(record{Said: l.said}.encode())
	}
	for _, it := range l.waiting {
		out.Write(record{Take: []taken{*it}}.encode())
	}
	return out.Bytes()
}

// encode returns the record as a line with its newline.
func (r record) encode() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		// Strings, numbers, and times and notes that were checked can be encoded.
		panic(fmt.Sprintf("encode a record of the inbox: %v", err))
	}
	return out.Bytes()
}

// foldInbox reads a whole inbox.jsonl. torn says that its last line has no end:
// a write that was under way, which nobody was told had succeeded. Lines that
// cannot be read are passed over and make err.
func foldInbox(data []byte) (folded *ledger, torn bool, err error) {
	folded = &ledger{posted: map[string]bool{}, byID: map[string]*taken{}, lines: map[lineKey]Origin{}}
	if len(data) == 0 {
		return folded, false, errors.New("read the inbox: it is empty")
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line[len(line)-1] != '\n' {
			return folded, true, err
		}
		var rec record
		if jerr := json.Unmarshal(line, &rec); jerr != nil {
			err = errors.Join(err, fmt.Errorf("read line %d of the inbox: %w", n, jerr))
			continue
		}
		folded.apply(rec)
	}
	return folded, false, err
}

// Signers returns the names that have signed lines of a peer, by the inbox in a bridge's directory: of its newest
// thousand lines at least.
func Signers(dir, peer string) (names []string) {
	data, err := durable.ReadWhole(filepath.Join(dir, "inbox.jsonl"), maxState)
	if err != nil {
		return nil
	}
	folded, _, _ := foldInbox(data) // a line that cannot be read has no signer
	for _, line := range folded.said {
		if line.Peer == peer && !slices.Contains(names, line.User) {
			names = append(names, line.User)
		}
	}
	return names
}

// journal is the file inbox.jsonl. One goroutine at a time may use it.
type journal struct {
	*ledger // what it says
	path    string
	anew    bool  // the next write makes the file anew
	base    int64 // its size when it was made
	size    int64
	shared  Shared
}

// openJournal reads the file at path. What it cannot read is kept beside it.
func openJournal(path string, shared Shared, log *slog.Logger) (*journal, error) {
	data, err := durable.ReadWhole(path, maxState)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	folded, torn, err := foldInbox(data)
	size := int64(len(data))
	file := &journal{ledger: folded, path: path, anew: missing || torn, base: size, size: size, shared: shared}
	switch {
	case missing:
	case err != nil:
		kept, kerr := SetAside(path)
		if kerr != nil {
			return nil, kerr
		}
		log.Error("the inbox is damaged; going on with what can be read of it. Messages that waited may be lost, "+
			"and those that are repeated be there twice", "kept", kept, "waiting", len(folded.waiting), "err", err)
		return file, file.rewrite(folded.snapshot())
	case torn:
		log.Info("the end of the inbox was torn by a crash; nothing was acknowledged by it", "file", path)
	}
	return file, nil
}

// maxState bounds what is read of a state file, in bytes: what 10,000 long lines are as JSON, where they
// are no text, and twice that before inbox.jsonl is made anew.
const maxState = 1 << 30

// SetAside keeps the bytes of a state file that makes no sense beside it.
func SetAside(path string) (kept string, err error) {
	kept = path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000Z")
	data, err := durable.ReadWhole(path, maxState)
	if err == nil {
		err = durable.WriteFile(kept, data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep the damaged %s: %w", path, err)
	}
	return kept, nil
}

// write makes r durable, which the caller applies. After an error the record may be in the
// file or not, and the next write makes the file anew.
func (j *journal) write(r record) error {
	line := r.encode()
	const least = 256 << 10 // bytes that may be appended before the file is made anew; no less than it had when it was
	if j.anew || j.size-j.base+int64(len(line)) > max(least, j.base) {
		return j.rewrite(append(j.snapshot(), line...))
	}
	at, size, err := durable.Append(j.path, line, 0o600)
	if err == nil {
		j.size, err = size, j.shared.Wrote("inbox.jsonl", line, at)
	}
	j.anew = err != nil
	return err
}

func (j *journal) rewrite(data []byte) error {
	err := durable.WriteFile(j.path, data, 0o600)
	if err == nil {
		err = j.shared.Wrote("inbox.jsonl", data, 0)
	}
	j.anew, j.base, j.size = err != nil, int64(len(data)), int64(len(data))
	return err
}
