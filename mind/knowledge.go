package mind

import (
	"maps"

	"lethe/life/event"
)

// Text is a named text from outside the life that the identity relies on, such as MEMORY.md. The log records the
// version that the identity knows: a Note tells it about a new one, or the next epoch begins with it.
type Text struct {
	Name string
	Body []byte
}

// Version returns the name and digest of the text for the log.
func (t Text) Version() event.File {
	return event.File{Name: t.Name, Hash: Digest(t.Body)}
}

// Knowledge lists texts, tools and blobs from elsewhere that an identity knows.
type Knowledge struct {
	// Files maps the names of texts to the digests of the versions that the identity knows; see Text.
	Files map[string]string `json:"files,omitempty"`
	// Used counts successful calls of others' tools, by name.
	Used map[string]int `json:"used,omitempty"`
	// Grants has the hashes of other lives' blobs that a user has named.
	Grants map[string]bool `json:"grants,omitempty"`
	// Given counts the workers that have begun for each plan, by its name.
	Given map[string]int `json:"given,omitempty"`
}

// counted returns counts with one more of name. Copies of a state share the map, so it makes another one.
func counted(counts map[string]int, name string) map[string]int {
	more := map[string]int{}
	maps.Copy(more, counts)
	more[name]++
	return more
}

// Knows reports whether the identity knows this version of a text.
func (k *Knowledge) Knows(t Text) bool { return k.Files[t.Name] == t.Version().Hash }

// learn notes the version of a text that the identity has got.
func (k *Knowledge) learn(v event.File) {
	if v.Name != "" {
		k.Files[v.Name] = v.Hash
	}
}
