package access

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"lethe/chat"
)

// NameFor is the name that signs a user's lines. Only a listed user has a bare name: the one
// that the owner gave, or else the one that the user claims. Everybody else has "-" and the id
// behind the claimed name, and so has a listed user whose name is another's, or is claimed and
// reserved, could be a name with an id, or may answer questions. A claim is made valid with
// chat.CleanName.
func (r Rules) NameFor(user, claimed string) string {
	own, name := find(r.Users, user), chat.CleanName(claimed)
	given := own != nil && own.Name != ""
	if given {
		name = chat.CleanName(own.Name)
	}
	same := func(other string) bool { return strings.EqualFold(name, other) }
	end := strings.LastIndexByte(name, '-')
	switch {
	case own == nil && !r.Chat(user), slices.ContainsFunc(r.Users, Person{ID: user, Name: name}.rivals):
		return nameWithID(name, user)
	case !given && (same(chat.Unknown) || slices.ContainsFunc(slices.Concat(r.people, r.reserved), same) ||
		end >= 0 && strings.ContainsAny(name[end:], "0123456789")):
		return nameWithID(name, user)
	}
	return name
}

// maxTagName is chat's bound on names, in bytes.
const maxTagName = 64

// nameWithID puts the id of a user behind a name, unless it is there. The hash of an id
// stands for one that cannot stand in a name.
func nameWithID(name, id string) string {
	if len(id) > maxTagName/2 || !chat.ValidName(id) {
		sum := blake3.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:8])
	}
	end := "-" + id
	if strings.HasSuffix(name, end) {
		return name
	}
	if room := maxTagName - len(end); len(name) > room {
		name = strings.ToValidUTF8(name[:room], "") // a rune that was cut
	}
	// The id of a chat has a sign of its own: "x--1" is chat -1, and not user 1.
	return strings.TrimRight(name, "-") + end
}
