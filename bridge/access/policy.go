// Package access decides whether somebody may speak through a bridge: nobody may, until the owner allows it.
//
//	p := &access.Policy{Dir: filepath.Join(home, "bridges", "pager")}
//	who, err := p.Allow("42 bob", "dev", false)       // by the owner, in another process
//	rules, err := p.Rules()                           // at each batch of messages
//	allowed, why := rules.Decide(user, chat, private) // a stranger is told an id for the owner
//	name, text := rules.NameFor(user, claimed), rules.Obeyed(user, text)
//
// Whom the owner allowed is in people.json in the bridge's directory: each change is made under
// a lock that other processes see, on the newest file, and is durable when the call returns nil.
// A file that cannot be read or understood refuses everyone, and is never written over.
package access

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/blake3"

	"lethe/chat"
)

// Policy is the policy of one bridge. It may be used by many goroutines.
type Policy struct {
	Dir string // the bridge's, which need not be there yet
	// Members names the people who may speak in a listed chat: "" or MembersAll is everyone in it,
	// MembersListed only users who are listed too.
	Members string
	// Names are reserved beside the names of listed users: the owner's, say. May be nil.
	Names func() []string
	// People may answer questions, approve calls and raise budgets. Nobody signs with such a
	// name by claiming it: the owner has to give it.
	People []string
	Shared Shared // nil where no other host shares the home

	mu     sync.Mutex
	listed bool      // people.json was there
	gone   time.Time // since when it is not
}

// Shared has the list of people that all hosts of a home share.
type Shared interface {
	// Refresh makes people.json equal to the other hosts'.
	Refresh() error
	// Change does so, calls do, and makes what that returns people.json at all hosts: each decision behind Change rests
	// on it.
	Change(do func() ([]byte, error)) error
}

// Person is somebody, or a group or channel, who may speak.
type Person struct {
	ID string `json:"id"`
	// Name signs a user's lines and belongs to that user alone; of a chat it is
	// the title, for people.
	Name string `json:"name,omitempty"`
	// Room is the room that the owner gave along with it; may be empty.
	Room string    `json:"room,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// Values of Policy.Members.
const (
	MembersAll    = "all"
	MembersListed = "listed"
)

// maxID bounds ids, in bytes.
const maxID = 256

// parse reads "ID" and "ID NAME".
func parse(entry string, isChat bool) (who Person, err error) {
	id, name, _ := strings.Cut(strings.TrimSpace(entry), " ")
	name = strings.TrimSpace(name)
	if !validID(id) {
		return who, fmt.Errorf("%q does not begin with an id", entry)
	}
	signs := !isChat && name != ""
	if signs && !chat.ValidName(name) {
		return who, fmt.Errorf("%q cannot sign a line: no spaces, ] or invisible letters", name)
	}
	return Person{ID: id, Name: name}, nil
}

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	unseen := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }
	return utf8.ValidString(id) && !strings.ContainsFunc(id, unseen)
}

func find(list []Person, id string) *Person {
	i := slices.IndexFunc(list, func(p Person) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Rules are the policy at one moment. Their methods read nothing.
type Rules struct {
	// Users who may speak, and Chats: groups and channels that are listed, and so may hear a room.
	Users    []Person `json:"users"`
	Chats    []Person `json:"chats"`
	Members  string   `json:"members"` // MembersAll or MembersListed
	reserved []string // names
	people   []string // names
}

// Rules reads the policy as it is now. It fails with ErrPeople while people.json cannot
// be read: then nobody may speak, and nobody is a stranger.
func (p *Policy) Rules() (Rules, error) {
	f, err := p.read()
	if err != nil {
		return Rules{}, err
	}
	r := Rules{Users: f.Users, Chats: f.Chats, Members: cmp.Or(p.Members, MembersAll), people: p.People}
	if p.Names != nil {
		r.reserved = p.Names()
	}
	return r, nil
}

// User reports whether a user is listed.
func (r Rules) User(id string) bool { return find(r.Users, id) != nil }

// Called returns the name that the owner gave a user, or else the id, and whether the user is listed.
func (r Rules) Called(id string) (name string, listed bool) {
	who := find(r.Users, id)
	if who == nil {
		return id, false
	}
	return cmp.Or(who.Name, id), true
}

// Chat reports whether a group or channel is listed.
func (r Rules) Chat(id string) bool { return find(r.Chats, id) != nil }

// Decide reports whether user may speak in chat. In a private chat the user has to be
// listed. A group or channel has to be listed itself; then everyone in it may
// speak, or with MembersListed every listed user. The user is empty where the
// other side does not tell it. why is the reason against it, a clause for a log.
func (r Rules) Decide(user, chat string, private bool) (allowed bool, why string) {
	switch {
	case !private && !r.Chat(chat):
		return false, fmt.Sprintf("chat %s is not listed", chat)
	case r.User(user), !private && r.Members != MembersListed:
		return true, ""
	}
	return false, fmt.Sprintf("user %s is not listed", user)
}

// Room returns the room that the owner gave to a private chat's user or to a group, or "".
func (r Rules) Room(id string, private bool) string {
	list := r.Chats
	if private {
		list = r.Users
	}
	if who := find(list, id); who != nil {
		return who.Room
	}
	return ""
}

// Obeyed returns a user's text as the line of a room. Before a command that would change the model it says that the
// command is not obeyed, unless the user is listed.
func (r Rules) Obeyed(user, text string) string {
	name, rest := chat.Command(chat.Line{Text: text})
	changesModel := name == "model" && rest != ""
	if changesModel && !r.User(user) {
		return "(not obeyed: only people who are listed may use /model) " + text
	}
	return text
}

// NameFor returns the name that signs a user's lines. Only a listed user has a bare name: the name that the owner gave,
// or else the name that the user claims. Everybody else has "-" and the id behind the claimed name. So has a listed
// user whose name another user has, and one who claims a name that is reserved, could be a name with an id, or may
// answer questions. A claim is made valid with chat.CleanName.
func (r Rules) NameFor(user, claimed string) string {
	own, name := find(r.Users, user), chat.CleanName(claimed)
	given := own != nil && own.Name != ""
	if given {
		name = chat.CleanName(own.Name)
	}
	switch {
	case own == nil && !r.Chat(user), slices.ContainsFunc(r.Users, Person{ID: user, Name: name}.rivals):
		return nameWithID(name, user)
	case !given && r.keeps(name):
		return nameWithID(name, user)
	}
	return name
}

// keeps reports whether nobody may claim a name: it is reserved, may answer questions, or could be a name with an id.
func (r Rules) keeps(name string) bool {
	taken := slices.Concat(r.people, r.reserved, []string{chat.Unknown})
	if slices.ContainsFunc(taken, func(other string) bool { return strings.EqualFold(name, other) }) {
		return true
	}
	end := strings.LastIndexByte(name, '-')
	return end >= 0 && strings.ContainsAny(name[end:], "0123456789")
}

// maxTagName is chat's bound on names, in bytes.
const maxTagName = 64

// nameWithID puts the id of a user behind a name, unless it is there. A hash takes the place of an id that cannot stand
// in a name.
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
