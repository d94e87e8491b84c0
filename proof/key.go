package proof

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/durable"
)

// Key is the private key of a home. It is printed as nothing.
type Key struct{ private ed25519.PrivateKey }

// Format keeps the key out of everything that is printed.
func (Key) Format(fmt.State, rune) {}

// KeyFile is where a home keeps its key.
func KeyFile(home string) string { return filepath.Join(home, "key") }

// LoadKey returns the key of a home, which it makes where there is none: one, however many
// processes ask for it at once. It is durable then.
func LoadKey(home string) (Key, error) {
	k, err := ReadKey(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	private, _, err := note.GenerateKey(rand.Reader, "lethe")
	if err == nil {
		_, err = durable.Swap(KeyFile(home), []byte(private+"\n"), 0o600, func(there fs.FileInfo) bool { return there == nil })
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
	text, _, err := durable.ReadRegular(KeyFile(home), 1<<10)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of the home: %w", err)
	}
	line := strings.TrimSpace(string(text))
	if _, err := note.NewSigner(line); err != nil {
		return Key{}, fmt.Errorf("read %s: %w; put it back from a copy", KeyFile(home), err)
	}
	seed, _ := base64.StdEncoding.DecodeString(strings.SplitN(line, "+", 5)[4]) // it was read just now
	return Key{ed25519.NewKeyFromSeed(seed[1:])}, nil
}

// public is the public key behind the number of its algorithm, as in a note's verifier key.
func (k Key) public() []byte { return append([]byte{1}, k.private[ed25519.SeedSize:]...) }

// Public is the public key as lines state it.
func (k Key) Public() string { return Text(k.public()) }

// Sign makes the checkpoint of an identity's first lines.
func (k Key) Sign(self string, size int64, root tlog.Hash) Checkpoint {
	c := Checkpoint{Self: self, Size: size, Root: root}
	c.Sig = append(keyHash(self, k.public()), ed25519.Sign(k.private, []byte(c.text()))...)
	return c
}
