package bridge

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"lethe/chat"
)

// NameFor is the name that signs a user's lines: the listed one, or what the user
// claims to be called, made valid with chat.CleanName. "-" and the id follow where
// the name is another's: that of a listed user or a reserved one, in whatever case,
// or such a name with "-" and anything behind it.
func (p *Policy) NameFor(user, claimed string) string {
	t, err := p.table()
	if err != nil {
		return withID(chat.CleanName(claimed), user)
	}
	return t.nameFor(user, claimed)
}

func (t table) nameFor(user, claimed string) string {
	if own := find(t.fixed.Users, user); own != nil && own.Name != "" {
		return own.Name
	}
	name := chat.CleanName(claimed)
	if own := find(t.people.Users, user); own != nil && own.Name != "" {
		name = chat.CleanName(own.Name) // a person may have edited the file
	}
	for i := range len(name) + 1 {
		if (i == len(name) || name[i] == '-') && t.reserved(name[:i], user) {
			return withID(name, user)
		}
	}
	return name
}

// reserved says whether a name belongs to somebody other than user.
func (t table) reserved(name, user string) bool {
	belongs := func(p Person) bool { return p.ID != user && p.Name != "" && strings.EqualFold(p.Name, name) }
	return strings.EqualFold(name, chat.Unknown) || slices.ContainsFunc(t.names, func(s string) bool { return strings.EqualFold(s, name) }) ||
		slices.ContainsFunc(t.fixed.Users, belongs) || slices.ContainsFunc(t.people.Users, belongs)
}

// maxTagName is chat's bound on names, in bytes.
const maxTagName = 64

// withID puts the id behind a name, unless it is there. An id that cannot stand in
// a name is represented by its hash.
func withID(name, id string) string {
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
	return strings.TrimRight(name, "-") + end
}
