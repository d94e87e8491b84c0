package mind

import (
	"lethe/blobs"
	"lethe/life/event"
)

// Text is a named text that an identity goes by and that comes from elsewhere, such as MEMORY.md. The log records
// which version of it the identity knows: a Note tells of another one, or the next epoch begins with it.
type Text struct {
	Name string
	Body []byte
}

// Version is how the log names what the text says.
func (t Text) Version() event.File {
	return event.File{Name: t.Name, Hash: Digest(t.Body)}
}

// Digest is the part of a hash that tells texts of one kind apart.
func Digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// Knows reports whether the log has told the identity what a text says.
func (s *State) Knows(t Text) bool { return s.Files[t.Name] == t.Version().Hash }

// learn notes the version of a text that the identity knows from now on.
func (s *State) learn(v event.File) {
	if v.Name != "" {
		s.Files[v.Name] = v.Hash
	}
}
