// Package access says who may speak through a bridge: the lists of the configuration, and
// the people whom the owner approved by a code.
package access

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"lethe/chat"
)

// Policy says who may speak through a bridge. Nobody may until listed: by the
// configuration (Static), or by the owner, who approves the code that a stranger
// was given (Ask, Approve).
//
// What was approved is in people.json in the bridge's directory, which the bridge
// and the command line change at the same time: each change is made under a lock
// that other processes see, on the newest file, and is durable when the call
// returns nil. Readers notice a changed file by themselves. A file that cannot be
// read or understood refuses everyone, those of the configuration too, and is
// never written over; so does one that has been missing for less than two seconds,
// since editors move a file away for a moment.
//
// A Policy may be used by many goroutines.
type Policy struct {
	dir string
	now func() time.Time
	uid int // of this process

	changing sync.Mutex // serialises changes of this process; people.lock those of all
	lock     *flock.Flock

	mu     sync.Mutex
	lists  Lists
	fixed  directory  // lists, parsed
	stamp  fileStamp  // of the file that people was read from
	people peopleFile // never changed in place
	rules  *Rules     // made of all these; nil: something has changed
	listed bool       // there was a list
	missed time.Time  // since when it is missing; zero: it is there
	denied denials
}

// Person is somebody, or a group or channel, who may speak.
type Person struct {
	ID string `json:"id"`
	// Name signs a user's lines and belongs to that user alone; of a chat it is
	// the title, for people.
	Name string `json:"name,omitempty"`
	// Room is the room that the owner gave along with the approval; may be empty.
	Room string `json:"room,omitempty"`
	// At is when the approval was given; zero for the configuration's.
	At time.Time `json:"at,omitzero"`
}

// Lists are what the configuration says.
type Lists struct {
	// Users and Chats are allowed: "ID", or "ID NAME".
	Users, Chats []string
	// Members says who may speak in a listed chat: "" or "all" is everyone in it,
	// "listed" only users who are listed too.
	Members string
	// Names are reserved beside those of listed users: the owner's, say.
	Names []string
	// Away is how long a people.json that was there may be missing before it counts
	// as a list of nobody; 0: two seconds.
	Away time.Duration
}

// Values of Lists.Members.
const (
	MembersAll    = "all"
	MembersListed = "listed"
)

// Verdict is whether somebody may speak. Why is the reason, a clause for a log.
type Verdict struct {
	Allowed bool
	Why     string
}

// maxID bounds ids, in bytes.
const maxID = 256

// New is the policy in dir, the directory of a bridge. It reads nothing yet: a
// people.json that is damaged is an error of what needs it, until it is mended.
func New(dir string) *Policy {
	p := &Policy{dir: dir, now: time.Now, uid: os.Geteuid(), denied: denials{}}
	p.lock = flock.New(p.path("people.lock"), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW))
	return p
}

// Open reads the policy in dir, the directory of a bridge, which need not be
// there yet. It fails with a *PeopleError when people.json is damaged. For one that
// is missing, though codes were made for it, it waits up to two seconds.
func Open(dir string) (*Policy, error) {
	p := New(dir)
	if _, _, err := p.await(); err != nil {
		return nil, err
	}
	return p, nil
}

// Static sets what the configuration allows, in the place of what was set before.
// An entry that makes no sense is an error, and then nothing is changed.
func (p *Policy) Static(l Lists) error {
	users, uerr := parseList("user", l.Users)
	chats, cerr := parseList("chat", l.Chats)
	var merr error
	if !slices.Contains([]string{"", MembersAll, MembersListed}, l.Members) {
		merr = fmt.Errorf("members = %q is none of %s, %s", l.Members, MembersAll, MembersListed)
	}
	if err := errors.Join(uerr, cerr, merr, distinct(users)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists, p.fixed, p.rules = l, directory{users, chats}, nil
	return nil
}

// parseList reads "ID" and "ID NAME".
func parseList(kind string, entries []string) ([]Person, error) {
	var all []Person
	for _, entry := range entries {
		id, name, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if !validID(id) {
			return nil, fmt.Errorf("read %s %q: it does not begin with an id", kind, entry)
		}
		name = strings.TrimSpace(name)
		if kind == "user" && name != "" && !chat.ValidName(name) {
			return nil, fmt.Errorf("read %s %q: %q cannot sign a line: no spaces, ] or characters that cannot be seen, like the one behind a coloured ❤", kind, entry, name)
		}
		if find(all, id) != nil {
			return nil, fmt.Errorf("read %s %q: the id is listed twice", kind, entry)
		}
		all = append(all, Person{ID: id, Name: name})
	}
	return all, nil
}

// distinct refuses two users whose names look alike.
func distinct(users []Person) error {
	for i, u := range users {
		for _, other := range users[:i] {
			if a, b := LookOf(u.Name), LookOf(other.Name); a.Like(b) || b.Like(a) {
				return fmt.Errorf("read users %s and %s: their names, %s and %s, look alike", other.ID, u.ID, other.Name, u.Name)
			}
		}
	}
	return nil
}

func validID(id string) bool {
	return id != "" && len(id) <= maxID && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
}

// directory is a list of users and one of chats.
type directory struct {
	Users []Person `json:"users"`
	Chats []Person `json:"chats"`
}

func find(list []Person, id string) *Person {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// Rules are the policy at one moment: all that decisions rest on. Its methods do not
// read anything.
type Rules struct {
	fixed, people directory
	listedOnly    bool
	names         []owned
}

func newRules(l Lists, fixed, people directory) Rules {
	return Rules{fixed, people, l.Members == MembersListed, ownedNames(l.Names, fixed.Users, people.Users)}
}

// Rules are the policy as it is now. They fail with a *PeopleError while people.json
// cannot be read, or is missing and may be back in a moment: nobody may speak then,
// and nobody is a stranger.
func (p *Policy) Rules() (Rules, error) {
	_, rules, err := p.current()
	return rules, err
}

// User says whether a user is listed.
func (r Rules) User(id string) bool {
	return find(r.fixed.Users, id) != nil || find(r.people.Users, id) != nil
}

// Chat says whether a group or channel is listed, and so may hear a room.
func (r Rules) Chat(id string) bool {
	return find(r.fixed.Chats, id) != nil || find(r.people.Chats, id) != nil
}

// Decide says whether user may speak in chat. In a private chat the user has to be
// listed. A group or channel has to be listed itself; then everyone in it may
// speak, or with members = "listed" every listed user. The user is empty where the
// other side does not tell it.
func (r Rules) Decide(user, chat string, private bool) Verdict {
	switch {
	case private && r.User(user):
		return Verdict{true, fmt.Sprintf("user %s is listed", user)}
	case private:
		return Verdict{false, fmt.Sprintf("user %s is not listed", user)}
	case !r.Chat(chat):
		return Verdict{false, fmt.Sprintf("chat %s is not listed", chat)}
	case !r.listedOnly:
		return Verdict{true, fmt.Sprintf("chat %s is listed", chat)}
	case r.User(user):
		return Verdict{true, fmt.Sprintf("chat %s and user %s are listed", chat, user)}
	}
	return Verdict{false, fmt.Sprintf("chat %s is listed, but user %s is not", chat, user)}
}

// Room is the room that was given along with the approval of a private chat's user
// or of a group; empty when there was none.
func (r Rules) Room(id string, private bool) string {
	list := r.people.Chats
	if private {
		list = r.people.Users
	}
	if person := find(list, id); person != nil {
		return person.Room
	}
	return ""
}

// Users lists who is listed, the configuration's first.
func (r Rules) Users() []Listed { return merge(r.fixed.Users, r.people.Users) }

// Chats lists the groups and channels that are listed, the configuration's first.
func (r Rules) Chats() []Listed { return merge(r.fixed.Chats, r.people.Chats) }

// Denials are told of once per person in this time; persons beyond the bound are
// not told of at all, so that no crowd fills the memory or the log.
const (
	deniedEvery = time.Hour
	maxDenied   = 4096
)

// Denied notes that somebody was refused, and says whether to log it: true once
// per person and hour, as far as this process remembers, and of at most 4096
// persons an hour.
func (p *Policy) Denied(id string) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied.note(now, id)
}

// denials is when the denial of a person was logged.
type denials map[string]time.Time

func (d denials) note(now time.Time, id string) (tell bool) {
	if len(id) > maxID {
		id = id[:maxID]
	}
	over := func(at time.Time) bool { return now.Sub(at) >= deniedEvery || at.After(now) }
	if at, told := d[id]; told && !over(at) {
		return false
	}
	if len(d) >= maxDenied {
		for id, at := range d {
			if over(at) {
				delete(d, id)
			}
		}
	}
	if len(d) >= maxDenied {
		return false
	}
	d[id] = now
	return true
}

// Listing is the policy in force, for people.
type Listing struct {
	Members string    `json:"members"` // MembersAll or MembersListed
	Users   []Listed  `json:"users"`
	Chats   []Listed  `json:"chats"`
	Pending []Pending `json:"pending"` // whose codes are live, oldest first
	// Blocked is until when no code is taken, after too many wrong ones; zero when
	// codes are taken.
	Blocked time.Time `json:"blocked_until,omitzero"`
}

// Listed is a Person with the source of the permission.
type Listed struct {
	Person
	Config bool `json:"config"` // in the configuration, which alone can take it away
}

// Pending is an applicant with a live code.
type Pending struct {
	Applicant
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
}

// List is who may speak and who has asked to.
func (p *Policy) List() (Listing, error) {
	people, rules, err := p.current()
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Members: MembersAll, Users: rules.Users(), Chats: rules.Chats(), Pending: []Pending{}}
	if rules.listedOnly {
		l.Members = MembersListed
	}
	now := p.now()
	for _, r := range people.Pending {
		if r.state(now) == codeLive {
			l.Pending = append(l.Pending, Pending{r.Applicant, r.At, r.At.Add(codeLife)})
		}
	}
	if people.blocked(now) {
		l.Blocked = people.Blocked
	}
	return l, nil
}

// merge lists everyone once, the configuration's first.
func merge(fixed, people []Person) []Listed {
	all := []Listed{}
	for _, f := range fixed {
		if known := find(people, f.ID); known != nil {
			f.Name, f.Room, f.At = cmp.Or(f.Name, known.Name), known.Room, known.At
		}
		all = append(all, Listed{f, true})
	}
	for _, k := range people {
		if find(fixed, k.ID) == nil {
			all = append(all, Listed{k, false})
		}
	}
	return all
}
