// Package proof states what the lines of a log are, so that nobody can change them without that
// being found: an RFC 6962 tree over them, whose root the home's Ed25519 key signs.
//
//	var tree proof.Tree
//	tree.Add(tlog.RecordHash(line))              // each line, without its newline
//	key, err := proof.LoadKey(home)
//	c := key.Sign(self, tree.Size(), tree.Root())
//	c.String()                                   // a C2SP signed note, to be kept elsewhere
//	err = c.Verify(key.Public())
//
// The formats are specified in docs/proof.md.
package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint says, signed, what the first lines of a log are.
type Checkpoint struct {
	Self string // the identity
	Size int64  // lines
	Root tlog.Hash
	Sig  []byte // the hash of the key and the signature, as a signed note has them
}

func origin(self string) string { return "lethe/" + self }

func (c Checkpoint) text() string { return fmt.Sprintf("%s\n%d\n%s\n", origin(c.Self), c.Size, c.Root) }

// String is the checkpoint as a C2SP signed note.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s\n— %s %s\n", c.text(), origin(c.Self), base64.StdEncoding.EncodeToString(c.Sig))
}

// ErrForm is the error of ParseCheckpoint.
var ErrForm = errors.New("not a checkpoint of a life")

// ParseCheckpoint reads what String wrote. Line ends of other systems and space around it do no
// harm. The signature is not checked: Verify does.
func ParseCheckpoint(text string) (Checkpoint, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) + "\n"
	lines := strings.Split(text, "\n")
	if len(lines) != 6 {
		return Checkpoint{}, ErrForm
	}
	c := Checkpoint{Self: strings.TrimPrefix(lines[0], "lethe/")}
	c.Size, _ = strconv.ParseInt(lines[1], 10, 64) // what is not read as it stands differs below
	c.Root, _ = tlog.ParseHash(lines[2])
	c.Sig, _ = base64.StdEncoding.DecodeString(lines[4][strings.LastIndexByte(lines[4], ' ')+1:])
	if c.String() != text || c.Size < 0 || len(c.Sig) != 4+ed25519.SignatureSize || len(c.Self) != 64 || strings.Trim(c.Self, "0123456789abcdef") != "" {
		return Checkpoint{}, ErrForm
	}
	return c, nil
}

// Verify returns nil if the owner of a public key, as Key.Public writes it, signed the checkpoint.
func (c Checkpoint) Verify(public string) error {
	key, err := Binary(public)
	if err != nil || len(key) != 1+ed25519.PublicKeySize {
		return errors.New("malformed public key")
	}
	name := fmt.Sprintf("%s+%08x+%s", origin(c.Self), keyHash(c.Self, key), base64.StdEncoding.EncodeToString(key))
	v, err := note.NewVerifier(name)
	if err == nil {
		_, err = note.Open([]byte(c.String()), note.VerifierList(v))
	}
	return err
}

// SignedBy reports whether the checkpoint names a public key as its signer's. Verify tells whether
// that is true.
func (c Checkpoint) SignedBy(public string) bool {
	key, err := Binary(public)
	return err == nil && len(c.Sig) >= 4 && string(c.Sig[:4]) == string(keyHash(c.Self, key))
}

// keyHash tells keys apart in the signatures of an identity's notes.
func keyHash(self string, key []byte) []byte {
	sum := sha256.Sum256(append([]byte(origin(self)+"\n"), key...))
	return sum[:4]
}

// Text writes binary values as the fields of a line have them: base64 without padding.
func Text(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }

// Binary reads what Text wrote.
func Binary(text string) ([]byte, error) { return base64.RawStdEncoding.Strict().DecodeString(text) }
