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

// Tree is the RFC 6962 tree over the lines of a log. It keeps only what the next leaf and the root take:
//
//	var tree life.Tree
//	tree.Add(life.Leaf(line))                    // for each line
//	key, err := life.LoadKey(home)
//	c := key.Sign(self, tree.Size, tree.Root())
//	c.String()                                   // a C2SP signed note, to be kept elsewhere
//	err = c.Verify(key.Public())
//
// Nobody can change a line without that being found: the home's Ed25519 key signs the root. A copy is a tree of its own.
// Only its root can tell whether one that was read is true. docs/proof.md specifies the formats.
type Tree struct {
	Size  int64         `json:"size"`  // leaves
	Nodes [64]tlog.Hash `json:"nodes"` // roots of the complete subtrees, by level; one counts if Size has that bit
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

// Root is the hash of all leaves.
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

// Checkpoint says, signed, what the first lines of a log are.
type Checkpoint struct {
	Self string // the identity
	Size int64  // lines
	Root tlog.Hash
	// Last is the address of the newest blob, which names its parent, and so all of them. Seals of older programs have
	// none.
	Last string
	Sig  []byte // 4 bytes that tell keys apart and the signature, as a signed note has them
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

// String is the checkpoint as a C2SP signed note.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s\n— %s %s\n", c.text(), c.origin(), base64.StdEncoding.EncodeToString(c.Sig))
}

// MarshalText is String for JSON; of none it is nothing.
func (c Checkpoint) MarshalText() ([]byte, error) {
	if c.Sig == nil {
		return nil, nil
	}
	return []byte(c.String()), nil
}

// ParseCheckpoint reads what String wrote. Line ends of other systems and space around it do no
// harm. Whether the signature is true, Verify tells.
func ParseCheckpoint(text string) (Checkpoint, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) + "\n"
	var c Checkpoint
	var root string
	// What is no number, hash or signature is not written again as it stands.
	_, _ = fmt.Sscanf(text, "lethe/%s\n%d\n%s", &c.Self, &c.Size, &root)
	c.Root, _ = tlog.ParseHash(root)
	if _, rest, ok := strings.Cut(text, "\n"+lastLine); ok {
		c.Last, _, _ = strings.Cut(rest, "\n")
	}
	c.Sig, _ = base64.StdEncoding.DecodeString(text[strings.LastIndexByte(text, ' ')+1 : len(text)-1])
	known := address(c.Self) && (c.Last == "" || address(c.Last))
	if !known || c.String() != text || c.Size < 0 || len(c.Sig) != 4+ed25519.SignatureSize {
		return Checkpoint{}, errors.New("this is not the checkpoint of an identity")
	}
	return c, nil
}

func address(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// verifier checks signatures of an identity's checkpoints.
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

// Verify returns nil if the owner of a public key, as Key.Public writes it, signed the checkpoint.
func (c Checkpoint) Verify(public string) error {
	v, err := c.verifier(public)
	if err != nil {
		return err
	}
	_, err = note.Open([]byte(c.String()), note.VerifierList(v))
	return err
}

// Base64 writes binary values as the fields of a line have them.
func Base64(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }

// ParseBase64 reads what Base64 wrote; what is not of that form is nothing.
func ParseBase64(text string) []byte {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || Base64(b) != text {
		return nil
	}
	return b
}
