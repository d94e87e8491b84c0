package life

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/durable"
)

// Key is the private key of a home.
type Key struct{ private ed25519.PrivateKey }

// Format prints nothing of the key.
func (Key) Format(fmt.State, rune) {}

// LoadKey returns the key of a home, which it makes where there is none: one, however many
// processes ask for it at once. It is durable then.
func LoadKey(home string) (Key, error) {
	k, err := ReadKey(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	private, _, err := note.GenerateKey(rand.Reader, "lethe")
	if err == nil {
		missing := func(there fs.FileInfo) bool { return there == nil }
		_, err = durable.Swap(filepath.Join(home, "key"), []byte(private+"\n"), 0o600, missing)
	}
	if err == nil {
		err = durable.SyncDir(home)
	}
	if err != nil {
		return Key{}, fmt.Errorf("make the key of the home: %w", err)
	}
	return ReadKey(home)
}

// ReadKey returns the key of a home. It wraps fs.ErrNotExist where there is none.
func ReadKey(home string) (Key, error) {
	path := filepath.Join(home, "key")
	text, _, err := durable.ReadRegular(path, 1<<10)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of the home: %w", err)
	}
	line := strings.TrimSpace(string(text))
	if _, err := note.NewSigner(line); err != nil {
		return Key{}, fmt.Errorf("read %s: %w; put it back from a copy", path, err)
	}
	seed, _ := base64.StdEncoding.DecodeString(strings.SplitN(line, "+", 5)[4]) // it was read just now
	return Key{ed25519.NewKeyFromSeed(seed[1:])}, nil
}

// Public is the public key as lines state it: 1, which stands for Ed25519, and the key.
func (k Key) Public() string { return Base64(append([]byte{1}, k.private[ed25519.SeedSize:]...)) }

// Sign makes the checkpoint of an identity's first lines and of its blobs, of which last is the newest.
func (k Key) Sign(self string, size int64, root tlog.Hash, last string) Checkpoint {
	c := Checkpoint{Self: self, Size: size, Root: root, Last: last}
	if v, err := c.verifier(k.Public()); err == nil {
		c.Sig = append(binary.BigEndian.AppendUint32(nil, v.KeyHash()), ed25519.Sign(k.private, []byte(c.text()))...)
	}
	return c
}
