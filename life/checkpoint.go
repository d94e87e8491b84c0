package life

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the RFC 6962 tree over the lines of a log. It keeps only the hashes that the next leaf and the root need:
//
//	var tree life.Tree
//	tree.Add(life.Leaf(line))                    // for each line
//	key, err := life.LoadKey(home)
//	c := key.Sign(self, tree.Size, tree.Root())
//	c.String()                                   // a C2SP signed note, to be kept elsewhere
//	err = c.Verify(key.Public())
//
// The home's Ed25519 key signs the root, so a changed line is found. A copy of a Tree grows by itself. A Tree from a
// file proves nothing before its root is compared. docs/check.md specifies the formats.
type Tree struct {
	Size  int64         `json:"size"`  // leaves
	Nodes [64]tlog.Hash `json:"nodes"` // roots of complete subtrees: Nodes[i] is valid if Size has bit i
}

// Add appends a leaf.
func (t *Tree) Add(leaf tlog.Hash) {
	level := 0
	for ; t.Size>>level&1 == 1; level++ {
		leaf = tlog.NodeHash(t.Nodes[level], leaf)
	}
	t.Nodes[level] = leaf
	t.Size++
}

// Root returns the hash of all leaves.
func (t *Tree) Root() tlog.Hash {
	root, _ := tlog.TreeHash(0, nil) // cannot fail
	for level, some := 0, false; level < len(t.Nodes); level++ {
		switch {
		case t.Size>>level&1 == 0:
		case some:
			root = tlog.NodeHash(t.Nodes[level], root)
		default:
			root, some = t.Nodes[level], true
		}
	}
	return root
}

// Checkpoint is a signed statement about the first lines of a log.
type Checkpoint struct {
	Self string // the identity
	Size int64  // lines
	Root tlog.Hash
	// Last is the address of the newest blob, which names its parent, and so on to the first. It is "" in seals of older
	// programs.
	Last string
	Sig  []byte // 4 bytes that identify the key, and the signature, in the form of a signed note
}

func (c Checkpoint) origin() string { return "lethe/" + c.Self }
func (c Checkpoint) text() string {
	text := fmt.Sprintf("%s\n%d\n%s\n", c.origin(), c.Size, c.Root)
	if c.Last != "" {
		text += lastLine + c.Last + "\n"
	}
	return text
}

const lastLine = "last="

// String returns the checkpoint as a C2SP signed note.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s\n— %s %s\n", c.text(), c.origin(), base64.StdEncoding.EncodeToString(c.Sig))
}

// MarshalText is String for JSON. An unsigned checkpoint is empty.
func (c Checkpoint) MarshalText() ([]byte, error) {
	if c.Sig == nil {
		return nil, nil
	}
	return []byte(c.String()), nil
}

// ParseCheckpoint reads the text that String wrote. It accepts line ends of other systems and
// space around the text. It does not check the signature: see Verify.
func ParseCheckpoint(text string) (Checkpoint, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) + "\n"
	var parsed Checkpoint
	var root string
	// A malformed number, hash or signature makes another text in String, below.
	_, _ = fmt.Sscanf(text, "lethe/%s\n%d\n%s", &parsed.Self, &parsed.Size, &root)
	parsed.Root, _ = tlog.ParseHash(root)
	if _, rest, ok := strings.Cut(text, "\n"+lastLine); ok {
		parsed.Last, _, _ = strings.Cut(rest, "\n")
	}
	parsed.Sig, _ = base64.StdEncoding.DecodeString(text[strings.LastIndexByte(text, ' ')+1 : len(text)-1])
	if !parsed.wellFormed() || parsed.String() != text {
		return Checkpoint{}, errors.New("this is not the checkpoint of an identity")
	}
	return parsed, nil
}

// wellFormed reports whether all values have their forms and lengths.
func (c Checkpoint) wellFormed() bool {
	if !address(c.Self) || c.Size < 0 {
		return false
	}
	if c.Last != "" && !address(c.Last) {
		return false
	}
	return len(c.Sig) == 4+ed25519.SignatureSize
}

func address(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// verifier returns a verifier for checkpoints of the same identity.
func (c Checkpoint) verifier(public string) (note.Verifier, error) {
	key := ParseBase64(public)
	if len(key) != 1+ed25519.PublicKeySize || key[0] != 1 {
		return nil, errors.New("malformed public key")
	}
	encoded, err := note.NewEd25519VerifierKey(c.origin(), key[1:])
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(encoded)
}

// Verify returns nil if the owner of a public key, in the form of Key.Public, signed the checkpoint.
func (c Checkpoint) Verify(public string) error {
	verifier, err := c.verifier(public)
	if err != nil {
		return err
	}
	_, err = note.Open([]byte(c.String()), note.VerifierList(verifier))
	return err
}

// Base64 encodes a binary value for a field of a line.
func Base64(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }

// ParseBase64 reads the text that Base64 wrote. It returns nil for any other text.
func ParseBase64(text string) []byte {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || Base64(b) != text {
		return nil
	}
	return b
}
