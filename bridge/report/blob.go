package report

import (
	"fmt"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/mind"
)

// Blob is a stored text, and what is known of it.
type Blob struct {
	Hash    blobs.Hash `json:"hash"`
	At      time.Time  `json:"at"`
	Gist    string     `json:"gist"`
	Life    string     `json:"life,omitempty"` // the identity that it belongs to
	Parent  blobs.Hash `json:"parent,omitzero"`
	Summary string     `json:"summary,omitempty"`
	Bytes   int        `json:"bytes"`
	Body    string     `json:"body,omitempty"`
	Text    string     `json:"text,omitempty"` // of an answer of the model, what it says and calls
}

// BlobOf describes a blob, without its body.
func BlobOf(b blobs.Blob) Blob {
	return Blob{Hash: b.Hash, At: b.At, Gist: b.Gist, Life: b.Life, Parent: b.Parent, Summary: b.Summary,
		Bytes: len(b.Body)}
}

// Read describes a blob with its body. For an answer of the model, Text is the part that a person reads.
func Read(b blobs.Blob) Blob {
	out := BlobOf(b)
	out.Body = string(b.Body)
	answer, err := mind.DecodeAnswer(b.Body)
	if err != nil {
		return out
	}
	if answer.Text != "" {
		out.Text = strings.TrimSuffix(answer.Text, "\n") + "\n"
	}
	for _, c := range answer.Calls {
		out.Text += fmt.Sprintf("%s %s\n", c.Tool, c.Args)
	}
	return out
}
