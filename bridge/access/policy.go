// Package access says who may speak through a bridge. Nobody may until listed: by the
// configuration (Static), or by the owner (Allow).
//
//	p := access.New(filepath.Join(home, "bridges", "pager"))
//	err := p.Static(access.Lists{Users: []string{"42 ada"}})
//	rules, err := p.Rules()                           // at each batch of messages
//	allowed, why := rules.Decide(user, chat, private) // a stranger is told an id for the owner
//	name, text := rules.NameFor(user, claimed), rules.Obeyed(user, text)
//	who, err := p.Allow("43 bob", "dev", false)       // by the owner, in another process
//
// Whom the owner allowed is in people.json in the bridge's directory: each change is made under
// a lock that other processes see, on the newest file, and is durable when the call returns nil.
// A file that cannot be read or understood refuses everyone, those of the configuration too, and
// is never written over.
package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"lethe/chat"
)

// Policy is the policy of one bridge. It may be used by many goroutines.
type Policy struct {
	dir string

	mu     sync.Mutex
	lists  Lists
	users  []Person // those of lists
	chats  []Person
	listed bool      // people.json was there
	gone   time.Time // since when it is not
}

// Person is somebody, or a group or channel, who may speak.
type Person struct {
	ID string `json:"id"`
	// Name signs a user's lines and belongs to that user alone; of a chat it is
	// the title, for people.
	Name string `json:"name,omitempty"`
	// Room is the room that the owner gave along with it; may be empty.
	Room string `json:"room,omitempty"`
	// At is when the owner allowed it; zero for the configuration's.
	At time.Time `json:"at,omitzero"`
	// Config says that the configuration lists the person, and alone can take that back.
	Config bool `json:"config,omitzero"`
}

// Lists come from the configuration.
type Lists struct {
	// Users and Chats are allowed: "ID", or "ID NAME".
	Users, Chats []string
	// Members says who may speak in a listed chat: "" or MembersAll is everyone in it,
	// MembersListed only users who are listed too.
	Members string
	// Names are reserved beside those of listed users: the owner's, say.
	Names []string
	// People may answer questions, approve calls and raise budgets. Nobody signs with such a
	// name by claiming it: the configuration or the owner has to give it.
	People []string
}

// Values of Lists.Members.
const (
	MembersAll    = "all"
	MembersListed = "listed"
)

// maxID bounds ids, in bytes.
const maxID = 256

// New is the policy in dir, the directory of a bridge, which need not be there yet.
func New(dir string) *Policy {
	return &Policy{dir: dir}
}

// Static sets what the configuration allows, in the place of what was set before.
// An entry that makes no sense is an error, and then nothing is changed.
func (p *Policy) Static(l Lists) error {
	users, uerr := parseList("user", l.Users)
	chats, cerr := parseList("chat", l.Chats)
	var merr error
	if !slices.Contains([]string{"", MembersAll, MembersListed}, l.Members) {
		merr = fmt.Errorf("members = %q: use %s or %s", l.Members, MembersAll, MembersListed)
	}
	if err := errors.Join(uerr, cerr, merr); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists, p.users, p.chats = l, users, chats
	return nil
}

// parseList reads "ID" and "ID NAME".
func parseList(kind string, entries []string) ([]Person, error) {
	var all []Person
	for _, entry := range entries {
		id, name, _ := strings.Cut(strings.TrimSpace(entry), " ")
		name = strings.TrimSpace(name)
		same := func(other Person) bool { return kind == "user" && name != "" && strings.EqualFold(other.Name, name) }
		switch {
		case !validID(id):
			return nil, fmt.Errorf("read %s %q: it does not begin with an id", kind, entry)
		case kind == "user" && name != "" && !chat.ValidName(name):
			return nil, fmt.Errorf("read %s %q: %q cannot sign a line: no spaces, ] or invisible letters", kind, entry, name)
		case find(all, id) != nil:
			return nil, fmt.Errorf("read %s %q: the id is listed twice", kind, entry)
		case slices.ContainsFunc(all, same):
			return nil, fmt.Errorf("read %s %q: the name is listed twice", kind, entry)
		}
		all = append(all, Person{ID: id, Name: name, Config: true})
	}
	return all, nil
}

func validID(id string) bool {
	return id != "" && len(id) <= maxID && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
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
	// Users who may speak, and Chats: groups and channels that are listed, and so may hear a
	// room. Those of the configuration come first.
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
	return p.rules(f), nil
}

func (p *Policy) rules(f peopleFile) Rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	members := cmp.Or(p.lists.Members, MembersAll)
	return Rules{merge(p.users, f.Users), merge(p.chats, f.Chats), members, p.lists.Names, p.lists.People}
}

// merge lists the persons of the configuration, and then those that the owner allowed.
func merge(fixed, people []Person) []Person {
	all := append([]Person{}, fixed...)
	for _, person := range people {
		if f := find(all, person.ID); f != nil {
			f.Name, f.Room, f.At = cmp.Or(f.Name, person.Name), person.Room, person.At
			continue
		}
		person.Config = false
		all = append(all, person)
	}
	return all
}

// User says whether a user is listed.
func (r Rules) User(id string) bool { return find(r.Users, id) != nil }

// Chat says whether a group or channel is listed.
func (r Rules) Chat(id string) bool { return find(r.Chats, id) != nil }

// Decide says whether user may speak in chat. In a private chat the user has to be
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

// Room is the room that the owner gave to a private chat's user or to a group; empty when there was none.
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

// Obeyed is what a user says, as the line of a room: where it would change the model and the user is
// not listed, it says that it is not obeyed.
func (r Rules) Obeyed(user, text string) string {
	if name, rest := chat.Command(chat.Line{Text: text}); name != "model" || rest == "" || r.User(user) {
		return text
	}
	return "(not obeyed: only people who are listed may use /model) " + text
}
