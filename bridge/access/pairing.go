package access

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"lethe/chat"
)

// Bounds of pairing.
const (
	codeLife   = time.Hour
	maxPending = 50 // live codes at a time

	// codeLetters has no 0, O, 1 or I. There are 32, so a code of 8 is 40 bits.
	codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	codeLen     = 8
)

// Applicant is a stranger who asks to speak: a user in a private chat, or a group
// by the mouth of one of its members.
type Applicant struct {
	ID        string `json:"id"`             // of the user
	Name      string `json:"name,omitempty"` // as the user claims
	Chat      string `json:"chat,omitempty"`
	ChatTitle string `json:"title,omitempty"`
	Private   bool   `json:"private,omitempty"`
}

// subject returns the id that an approval would list.
func (a Applicant) subject() (id string, isChat bool) {
	if a.Private {
		return a.ID, false
	}
	return a.Chat, true
}

// String names the applicant for people: who would be listed, and who asked.
func (a Applicant) String() string {
	named := func(kind, id, name string) string {
		if name == "" {
			return kind + " " + id
		}
		return fmt.Sprintf("%s %s (%q)", kind, id, name) // quoted: a title can look like anything
	}
	user := named("user", a.ID, a.Name)
	if _, isChat := a.subject(); !isChat {
		return user
	}
	group := named("chat", a.Chat, a.ChatTitle)
	if a.ID == "" {
		return group
	}
	return group + ", asked for by " + user
}

// Errors of Ask, Approve and Revoke.
var (
	ErrNoCode     = errors.New("no code is given") // by the rules, the applicant gets none now
	ErrNoSuchCode = errors.New("no such code")
	ErrNotListed  = errors.New("not listed")
)

// request is an applicant's code as people.json holds it.
type request struct {
	Applicant
	At   time.Time `json:"at"`
	Code string    `json:"code"`
	// Earlier versions made the code of a salt, kept used ones, and gave codes to members of
	// listed groups.
	Salt, Used, Member json.RawMessage `json:",omitempty"`
}

// live says whether a code is good at a time.
// A code of a time to come, more than a minute, is not: the clock was put back.
func (r request) live(now time.Time) bool {
	age := now.Sub(r.At)
	return r.Code != "" && age < codeLife && age > -time.Minute
}

// Ask gives an applicant a code for the owner to approve: 8 letters and digits, good for an
// hour and once. Another question meanwhile gets the same code, and fresh is false. It fails
// with ErrNoCode for an applicant who may speak already, and for every new one while 50
// codes are live.
func (p *Policy) Ask(who Applicant) (code string, fresh bool, err error) {
	if err := who.check(); err != nil {
		return "", false, err
	}
	who.clean()
	err = p.change(func(f *peopleFile) (err error) {
		if err := p.rules(*f).mayAsk(who); err != nil {
			return err
		}
		code, err = f.waiting(who, time.Now())
		if code != "" {
			return errUnchanged
		}
		if fresh = err == nil; fresh {
			code = newCode()
			f.Pending = append(f.Pending, request{Applicant: who, At: time.Now().UTC().Truncate(time.Second), Code: code})
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	return code, fresh, nil
}

func newCode() string {
	code := make([]byte, codeLen)
	_, _ = rand.Read(code) // never fails
	for i, b := range code {
		code[i] = codeLetters[int(b)%len(codeLetters)]
	}
	return string(code)
}

func (a Applicant) check() error {
	id, _ := a.subject()
	for _, given := range []string{cmp.Or(a.ID, id), cmp.Or(a.Chat, id), id} {
		if !validID(given) {
			return fmt.Errorf("give a code to user %q in chat %q: that is not an id", clipID(a.ID), clipID(a.Chat))
		}
	}
	return nil
}

// clean makes what a stranger says of itself safe to show.
func (a *Applicant) clean() {
	if a.Name != "" {
		a.Name = chat.CleanName(a.Name)
	}
	title := strings.Join(strings.Fields(chat.Sanitize(a.ChatTitle)), " ")
	a.ChatTitle = strings.ToValidUTF8(title[:min(len(title), 200)], "")
}

func (r Rules) mayAsk(who Applicant) error {
	if allowed, _ := r.Decide(who.ID, who.Chat, who.Private); allowed {
		return fmt.Errorf("%w to %s: listed already", ErrNoCode, who)
	}
	if !who.Private && r.Chat(who.Chat) {
		return fmt.Errorf("%w to %s: the chat is listed, and this user is not, who can ask in private", ErrNoCode, who)
	}
	return nil
}

func clipID(id string) string { return id[:min(len(id), maxID)] }

// waiting finds the applicant's live code; empty when a fresh one may be made.
func (f peopleFile) waiting(who Applicant, now time.Time) (code string, err error) {
	id, isChat := who.subject()
	live := 0
	for _, r := range f.Pending {
		if !r.live(now) {
			continue
		}
		if rid, rchat := r.subject(); rid == id && rchat == isChat {
			return r.Code, nil
		}
		live++
	}
	if live >= maxPending {
		return "", fmt.Errorf("%w to %s: %d others wait for approval", ErrNoCode, who, live)
	}
	return "", nil
}

// Approve lists the applicant to whom code was given, along with a room, which may be empty,
// and uses the code up. Case, white space and dashes do not matter.
func (p *Policy) Approve(code, room string) (who Applicant, err error) {
	if room != "" && !chat.ValidRoom(room) {
		return who, fmt.Errorf("approve a code: %q is not the name of a room", room)
	}
	err = p.change(func(f *peopleFile) error {
		i := slices.IndexFunc(f.Pending, func(r request) bool { return r.live(time.Now()) && r.Code == cleanCode(code) })
		if i < 0 {
			return ErrNoSuchCode
		}
		who = f.Pending[i].Applicant
		f.Pending = slices.Delete(f.Pending, i, i+1)
		p.enlist(f, who, room)
		return nil
	})
	if err != nil {
		return Applicant{}, fmt.Errorf("approve a code: %w", err)
	}
	return who, nil
}

// enlist adds the applicant to its list, under a name that is nobody else's.
func (p *Policy) enlist(f *peopleFile, who Applicant, room string) {
	id, isChat := who.subject()
	person := Person{ID: id, Name: who.ChatTitle, Room: room, At: time.Now().UTC().Truncate(time.Second)}
	list := &f.Chats
	if !isChat {
		list = &f.Users
		if person.Name = who.Name; who.Name != "" {
			person.Name = p.rules(*f).bareName(who.Name, id)
		}
	}
	if old := find(*list, id); old != nil {
		*old = person
		return
	}
	*list = append(*list, person)
}

// Revoke takes back what was approved for a user or chat, and voids a code that was given
// out for it. It fails for one that the configuration lists too, and stays listed there.
func (p *Policy) Revoke(id string) error {
	known := false
	err := p.change(func(f *peopleFile) error {
		is := func(person Person) bool { return person.ID == id }
		asks := func(r request) bool { subject, _ := r.subject(); return subject == id }
		before := len(f.Users) + len(f.Chats) + len(f.Pending)
		f.Users, f.Chats = slices.DeleteFunc(f.Users, is), slices.DeleteFunc(f.Chats, is)
		f.Pending = slices.DeleteFunc(f.Pending, asks)
		known = len(f.Users)+len(f.Chats)+len(f.Pending) < before
		return nil
	})
	rules := p.rules(peopleFile{})
	switch {
	case err != nil:
	case rules.User(id) || rules.Chat(id):
		err = errors.New("it is listed in the configuration, and stays so until it is removed there")
	case !known:
		err = ErrNotListed
	}
	if err != nil {
		return fmt.Errorf("revoke %q: %w", clipID(id), err)
	}
	return nil
}

// cleanCode is a code as it was given, of what a person typed.
func cleanCode(typed string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Dash, r) {
			return -1
		}
		return r
	}, typed))
}
