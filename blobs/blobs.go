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
// prompt: see Escape, and Ref for the form of an address there.
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

// Hash is the address of a blob: BLAKE3-256 of its whole file, as b3sum prints it.
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

// IsZero reports whether h is the zero Hash, which is the address of no blob.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText makes a hash its hex digits in JSON; the zero hash is empty.
func (h Hash) MarshalText() ([]byte, error) {
	if h.IsZero() {
		return nil, nil
	}
	return []byte(h.String()), nil
}

// UnmarshalText reads the text that MarshalText wrote.
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
	At      time.Time // when the blob was made; stored in UTC to the microsecond
	Gist    string    // one line about the body, in the form that the function Gist gives it
	Life    string    // the identity it belongs to; empty in a boot blob, whose hash is the identity
	Parent  Hash      // the previous blob of that life; zero in a boot blob
	Summary string    // a model's summary on one line, if the blob holds faded entries
	Fork    string    // the moment at which a fork begins, as event.Moment writes it; only in its boot blob
}

// Text is the body and the gist of a blob that is still to be put.
type Text struct {
	Gist string
	Data []byte
}

// Blob is a verified blob.
type Blob struct {
	Hash Hash
	Meta
	Body []byte
	Gone *Tombstone // set if the original bytes were erased or lost, in whole or in part
}

// Tombstone is the file that stands at the address of a blob whose bytes are gone: erased at
// their owner's wish, or lost. Meta and Body of the blob hold the rest.
type Tombstone struct {
	Of  Hash      // the address of the original blob
	Why string    // Erased or Lost
	At  time.Time // when it took the blob's place
	Sum Hash      // the BLAKE3 of the tombstone's file; Decode sets it, EncodeTombstone ignores it
}

// Values of Tombstone.Why.
const (
	Erased = "erased"
	Lost   = "lost"
)

// TimeFormat is RFC 3339 in UTC to the microsecond, as blobs and LIFE write it.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

const fence = "---\n"

// Encode returns the bytes of a blob's file. The hash of these bytes is the blob's address.
func Encode(meta Meta, body []byte) []byte {
	var file bytes.Buffer
	file.Grow(len(body) + len(meta.Summary) + 512)
	file.WriteString(fence)
	fmt.Fprintf(&file, "at: %s\n", meta.At.UTC().Format(TimeFormat))
	fmt.Fprintf(&file, "gist: %s\n", Gist(meta.Gist))
	if meta.Life != "" {
		fmt.Fprintf(&file, "life: %s\n", meta.Life)
	}
	if !meta.Parent.IsZero() {
		fmt.Fprintf(&file, "parent: %s\n", meta.Parent)
	}
	if summary := oneLine(meta.Summary); summary != "" {
		fmt.Fprintf(&file, "summary: %s\n", summary)
	}
	if meta.Fork != "" {
		fmt.Fprintf(&file, "fork: %s\n", meta.Fork)
	}
	file.WriteString(fence)
	file.Write(body)
	return file.Bytes()
}

// EncodeTombstone returns the bytes of a tombstone's file. left and body are the parts of the blob that are left.
func EncodeTombstone(t Tombstone, left Meta, body []byte) []byte {
	head := fmt.Appendf(nil, fence+"tombstone: %s\nwhy: %s\nwhen: %s\n", t.Of, t.Why, t.At.UTC().Format(TimeFormat))
	return append(head, Encode(left, body)[len(fence):]...)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// complete reports whether the frontmatter had all three keys of a tombstone, with values that mean something.
func (t Tombstone) complete() bool {
	if t.Why != Erased && t.Why != Lost {
		return false
	}
	return !t.Of.IsZero() && !t.At.IsZero()
}

// Decode splits the bytes of a blob's file, or of a tombstone's, into frontmatter and body. It leaves Hash zero and
// checks no address: see Store.Get. It skips keys that it does not know, so that later versions can add some.
func Decode(data []byte) (blob Blob, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return Blob{}, errors.New("decode blob: no frontmatter")
	}
	grave := Tombstone{Sum: Sum(data)}
	for {
		line, tail, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return Blob{}, errors.New("decode blob: frontmatter does not end")
		}
		rest = tail
		if string(line) == "---" {
			if grave.complete() {
				blob.Gone = &grave
			}
			blob.Body = rest
			return blob, nil
		}
		key, value, ok := strings.Cut(string(line), ": ")
		if !ok {
			key = strings.TrimSuffix(string(line), ":")
		}
		switch key {
		case "at":
			blob.At, err = time.Parse(TimeFormat, value)
		case "gist":
			blob.Gist = value
		case "life":
			blob.Life = value
		case "parent":
			blob.Parent, err = ParseHash(value)
		case "summary":
			blob.Summary = value
		case "fork":
			blob.Fork = value
		case "tombstone":
			grave.Of, err = ParseHash(value)
		case "why":
			grave.Why = value
		case "when":
			grave.At, err = time.Parse(TimeFormat, value)
		}
		if err != nil {
			return Blob{}, fmt.Errorf("decode blob: %s: %w", key, err)
		}
	}
}
