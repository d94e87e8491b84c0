package access

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"lethe/chat"
)

// NameFor is the name that signs a user's lines: the listed one, or what the user
// claims to be called, made valid with chat.CleanName. "-" and the id follow where
// the name is, or looks like, another's: that of a listed user or a reserved one, or
// such a name with "-" and anything behind it. See Look.
func (r Rules) NameFor(user, claimed string) string {
	if own := find(r.fixed.Users, user); own != nil && own.Name != "" {
		return own.Name
	}
	name := chat.CleanName(claimed)
	if own := find(r.people.Users, user); own != nil && own.Name != "" {
		name = chat.CleanName(own.Name) // a person may have edited the file
	}
	for i, c := range name {
		if dash(c) && r.reserved(name[:i], user) {
			return NameWithID(name, user)
		}
	}
	if r.reserved(name, user) {
		return NameWithID(name, user)
	}
	return name
}

// owned is a name that only its owner may sign with.
type owned struct {
	look  Look
	owner string // the id; empty: nobody on the other side
}

// ownedNames are the names of users, and those that are reserved.
func ownedNames(reserved []string, users ...[]Person) []owned {
	all := []owned{{look: LookOf(chat.Unknown)}}
	for _, name := range reserved {
		all = append(all, owned{look: LookOf(name)})
	}
	for _, list := range users {
		for _, person := range list {
			all = append(all, owned{LookOf(person.Name), person.ID})
		}
	}
	return all
}

// reserved says whether a name belongs to somebody other than user, or shows nothing.
func (r Rules) reserved(name, user string) bool {
	look := LookOf(name)
	return look == Look{} && name != "" || slices.ContainsFunc(r.names, func(o owned) bool {
		return (o.owner == "" || o.owner != user) && look.Like(o.look)
	})
}

// maxTagName is chat's bound on names, in bytes.
const maxTagName = 64

// NameWithID puts the id of a user behind a name, unless it is there. An id that
// cannot stand in a name is represented by its hash.
func NameWithID(name, id string) string {
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
