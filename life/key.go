package life

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
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

// LoadKey returns the key of a home. If there is no key, it durably makes one; several processes
// that do so at once all get the same.
func LoadKey(home string) (Key, error) {
	key, err := ReadKey(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
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

// ReadKey returns the key of a home. Its error wraps fs.ErrNotExist if there is no key.
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
	seed, _ := base64.StdEncoding.DecodeString(strings.SplitN(line, "+", 5)[4]) // NewSigner has decoded it
	return Key{ed25519.NewKeyFromSeed(seed[1:])}, nil
}

// Public returns the public key in the form of lines: Base64 of the byte 1, which stands for Ed25519, and the key.
func (k Key) Public() string { return Base64(append([]byte{1}, k.private[ed25519.SeedSize:]...)) }

// Derive returns 32 bytes for a purpose, which tell nothing of the key.
func (k Key) Derive(purpose string) []byte {
	mac := hmac.New(sha256.New, k.private.Seed())
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// Sign makes a checkpoint of an identity's first size lines and of its blobs; last is the newest blob.
func (k Key) Sign(self string, size int64, root tlog.Hash, last string) Checkpoint {
	signed := Checkpoint{Self: self, Size: size, Root: root, Last: last}
	if verifier, err := signed.verifier(k.Public()); err == nil {
		signature := ed25519.Sign(k.private, []byte(signed.text()))
		signed.Sig = append(binary.BigEndian.AppendUint32(nil, verifier.KeyHash()), signature...)
	}
	return signed
}
