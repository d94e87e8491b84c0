// Package blobs is the content-addressed store: every answer, tool result and
// inbound batch a life has seen is a file here, named by the BLAKE3-256 of its
// bytes.
//
//	store, err := blobs.Open(filepath.Join(home, "blobs"))
//	h, err := store.Put(blobs.Meta{At: now, Life: self, Gist: "turn 3"}, body)
//	blob, err := store.Get(h)
//
// What survives a crash: when Put returns nil, the blob survives kill -9 and
// power loss, bytes and name. A crash in the middle of Put leaves either
// nothing, or a temporary file that no reader sees, or the whole blob under its
// right name, never a blob with other bytes than its name says. Every read
// checks the hash; a mismatch is an error and never data.
//
// Bodies are stored raw. Escaping belongs to text as it is rendered into a
// prompt: see Escape, and Ref for what an address looks like there.
//
// Nothing scans the store at start; a short hash is resolved by listing the one
// shard it falls into. A Store is safe for concurrent use, also by several
// processes.
package blobs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zeebo/blake3"
)

// Hash is the address of a blob: BLAKE3-256 of its whole file, which is what
// b3sum prints.
type Hash [32]byte

// Sum returns the hash of data.
func Sum(data []byte) Hash { return blake3.Sum256(data) }

// ParseHash reads 64 hex digits in lower case, the one spelling of an address.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) || !isHex(s) {
		return h, fmt.Errorf("parse hash %q: want %d hex digits in lower case", s, 2*len(h))
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// String returns the 64 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is no address at all.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText makes a hash its hex digits in JSON; the zero hash is empty.
func (h Hash) MarshalText() ([]byte, error) {
	if h.IsZero() {
		return nil, nil
	}
	return []byte(h.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hash{}
		return nil
	}
	p, err := ParseHash(string(b))
	*h = p
	return err
}

// Meta is a blob's frontmatter.
type Meta struct {
	At      time.Time // when it was made; stored in UTC to the microsecond
	Gist    string    // one line that says what it holds; see Gist for its form
	Life    string    // the identity it belongs to; empty in a boot blob, which is the identity
	Parent  Hash      // the previous blob of that life; zero in a boot blob
	Summary string    // of what has faded: what a model wrote of it, on one line
	Fork    string    // of the boot blob of a fork: the moment that it begins with; see event.Moment
}

// Text is the body of a blob to be, and its gist.
type Text struct {
	Gist string
	Data []byte
}

// Blob is a verified blob.
type Blob struct {
	Hash Hash
	Meta
	Body []byte
	Gone *Tombstone // its bytes are not, or not all, what they were
}

// Tombstone is the file that stands at the address of a blob whose bytes are gone: erased at
// their owner's wish, or lost. Meta and Body of the blob are what is left.
type Tombstone struct {
	Of  Hash
	Why string // Erased or Lost
	At  time.Time
	Sum Hash // of its file, when it was read
}

// Why a blob has a tombstone.
const (
	Erased = "erased"
	Lost   = "lost"
)

// TimeFormat is RFC 3339 in UTC to the microsecond, as blobs and LIFE write it.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

const fence = "---\n"

// Encode returns the bytes of a blob's file. It is a pure function: what it
// returns hashes to the blob's address.
func Encode(m Meta, body []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(body) + len(m.Summary) + 512)
	b.WriteString(fence)
	fmt.Fprintf(&b, "at: %s\n", m.At.UTC().Format(TimeFormat))
	fmt.Fprintf(&b, "gist: %s\n", Gist(m.Gist))
	if m.Life != "" {
		fmt.Fprintf(&b, "life: %s\n", m.Life)
	}
	if !m.Parent.IsZero() {
		fmt.Fprintf(&b, "parent: %s\n", m.Parent)
	}
	if s := oneLine(m.Summary); s != "" {
		fmt.Fprintf(&b, "summary: %s\n", s)
	}
	if m.Fork != "" {
		fmt.Fprintf(&b, "fork: %s\n", m.Fork)
	}
	b.WriteString(fence)
	b.Write(body)
	return b.Bytes()
}

// EncodeTombstone returns the bytes of the file that stands at t.Of, with what is left of
// the blob.
func EncodeTombstone(t Tombstone, m Meta, body []byte) []byte {
	head := fmt.Appendf(nil, fence+"tombstone: %s\nwhy: %s\nwhen: %s\n", t.Of, t.Why, t.At.UTC().Format(TimeFormat))
	return append(head, Encode(m, body)[len(fence):]...)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Decode splits the bytes of a blob's file, or of a tombstone's, into frontmatter and body. Its address is not asked
// for. Keys it does not know are passed over, so that later versions can add some.
func Decode(data []byte) (b Blob, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return Blob{}, errors.New("decode blob: no frontmatter")
	}
	t := Tombstone{Sum: Sum(data)}
	for {
		line, tail, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return Blob{}, errors.New("decode blob: frontmatter does not end")
		}
		rest = tail
		if string(line) == "---" {
			if !t.Of.IsZero() && (t.Why == Erased || t.Why == Lost) && !t.At.IsZero() {
				b.Gone = &t
			}
			b.Body = rest
			return b, nil
		}
		key, value, ok := strings.Cut(string(line), ": ")
		if !ok {
			key = strings.TrimSuffix(string(line), ":")
		}
		switch key {
		case "at":
			b.At, err = time.Parse(TimeFormat, value)
		case "gist":
			b.Gist = value
		case "life":
			b.Life = value
		case "parent":
			b.Parent, err = ParseHash(value)
		case "summary":
			b.Summary = value
		case "fork":
			b.Fork = value
		case "tombstone":
			t.Of, err = ParseHash(value)
		case "why":
			t.Why = value
		case "when":
			t.At, err = time.Parse(TimeFormat, value)
		}
		if err != nil {
			return Blob{}, fmt.Errorf("decode blob: %s: %w", key, err)
		}
	}
}
