package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/zeebo/blake3"

	"lethe/chat"
	"lethe/internal/durable"
)

// Bounds of pairing.
const (
	codeLife   = time.Hour
	maxPending = 50 // live codes at a time
	maxExpired = 50 // expired codes that are kept

	// codeLetters has no 0, O, 1 or I. There are 32, so a code of 8 is 40 bits.
	codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	codeLen     = 8
	keyLen      = 32
)

// Applicant is a stranger who asks to speak: a user in a private chat, or a group
// by the mouth of one of its members.
type Applicant struct {
	ID        string `json:"id"`             // of the user
	Name      string `json:"name,omitempty"` // as the user claims
	Chat      string `json:"chat,omitempty"`
	ChatTitle string `json:"title,omitempty"`
	Private   bool   `json:"private,omitempty"`
	// Member says that the chat is listed and only the user is not. Ask sees for itself.
	Member bool `json:"member,omitempty"`
}

// subject is who would be listed.
func (a Applicant) subject() (id string, isChat bool) {
	if a.Private || a.Member {
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

// NoCodeError is the refusal of a code to an applicant who, by the rules, gets none
// now.
type NoCodeError struct {
	Who   Applicant
	Why   string    // a clause
	Until time.Time // when asking again may help; zero when it cannot
}

func (e *NoCodeError) Error() string { return fmt.Sprintf("give %s a code: %s", e.Who, e.Why) }

// Errors of Approve and Revoke.
var (
	ErrNoSuchCode  = errors.New("no such code")
	ErrExpiredCode = errors.New("the code has expired")
	ErrUsedCode    = errors.New("the code was used already")
	ErrNotListed   = errors.New("not listed")
)

// request is an applicant's code as people.json holds it. The code is not in it: it
// follows from Salt and the key in people.key, so that the file can be shown.
type request struct {
	Applicant
	At   time.Time `json:"at"`
	Used bool      `json:"used,omitempty"`
	Salt []byte    `json:"salt"`
}

// codeState is what has become of a code.
type codeState int

const (
	codeLive codeState = iota
	codeExpired
	codeUsed
)

func (r request) state(now time.Time) codeState {
	switch {
	case r.Used:
		return codeUsed
	case !recent(r.At, now, codeLife):
		return codeExpired
	}
	return codeLive
}

// recent says whether at is less than span ago. What lies more than a minute in the
// future is not: the clock was put back.
func recent(at, now time.Time, span time.Duration) bool {
	age := now.Sub(at)
	return age < span && age > -time.Minute
}

// Ask gives an applicant a code for the owner to approve: 8 letters and digits, good for an
// hour and once. Another question meanwhile gets the same code, and fresh is false. It fails
// with a *NoCodeError for an applicant who may speak already or has used up a code within the
// hour, and for every new one while 50 codes are live.
func (p *Policy) Ask(who Applicant) (code string, fresh bool, err error) {
	f, err := p.read()
	if err == nil {
		who, err = p.admit(who, p.rules(f))
	}
	if err != nil {
		return "", false, err
	}
	// A repeated question must not make the disk busy.
	r, err := f.waiting(who, p.now())
	if err != nil {
		return "", false, err
	}
	if key, err := p.key(false); r != nil && err == nil {
		return codeOf(key, r.Salt), false, nil
	}
	err = p.change(func(f *peopleFile) error {
		r, err := f.waiting(who, p.now())
		if err != nil {
			return err
		}
		if fresh = r == nil; fresh {
			r = &request{Applicant: who, At: p.now().UTC().Truncate(time.Second), Salt: make([]byte, 16)}
			_, _ = rand.Read(r.Salt) // never fails
			f.Pending = append(f.Pending, *r)
		}
		key, err := p.key(true)
		if err == nil {
			code = codeOf(key, r.Salt)
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	return code, fresh, nil
}

// admit checks and cleans what a stranger says of itself.
func (p *Policy) admit(who Applicant, rules Rules) (Applicant, error) {
	if who.Private && !validID(who.ID) || !who.Private && !validID(who.Chat) ||
		who.ID != "" && !validID(who.ID) || who.Chat != "" && !validID(who.Chat) {
		return who, fmt.Errorf("give a code to user %q in chat %q: that is not an id", clipID(who.ID), clipID(who.Chat))
	}
	if who.Name != "" {
		who.Name = chat.CleanName(who.Name)
	}
	who.ChatTitle = cleanTitle(who.ChatTitle)
	who.Member = !who.Private && rules.Chat(who.Chat)
	if rules.Decide(who.ID, who.Chat, who.Private).Allowed {
		return who, &NoCodeError{Who: who, Why: "listed already"}
	}
	if who.Member && who.ID == "" {
		return who, &NoCodeError{Who: who, Why: "the chat is listed, and it is not told who in it asks"}
	}
	return who, nil
}

func clipID(id string) string { return id[:min(len(id), maxID)] }

// maxTitle bounds the title of a chat, in bytes.
const maxTitle = 200

func cleanTitle(s string) string {
	s = strings.Join(strings.Fields(chat.Sanitize(s)), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxTitle)], "")
}

// waiting finds the applicant's live code; nil when a fresh one may be made.
func (f peopleFile) waiting(who Applicant, now time.Time) (*request, error) {
	id, isChat := who.subject()
	live, next := 0, now.Add(codeLife)
	for i := range f.Pending {
		r := &f.Pending[i]
		state := r.state(now)
		rid, rchat := r.subject()
		switch same := rid == id && rchat == isChat; {
		case same && state == codeLive:
			return r, nil
		case same && state == codeUsed && recent(r.At, now, codeLife):
			return nil, &NoCodeError{who, "its last one was used up within the hour", r.At.Add(codeLife)}
		case state == codeLive:
			live++
			if end := r.At.Add(codeLife); end.Before(next) {
				next = end
			}
		}
	}
	if live >= maxPending {
		return nil, &NoCodeError{who, fmt.Sprintf("%d others wait for approval", live), next}
	}
	return nil, nil
}

// Approve lists the applicant to whom code was given, along with a room, which may be empty,
// and uses the code up. Case, white space and dashes do not matter.
func (p *Policy) Approve(code, room string) (who Applicant, err error) {
	if room != "" && !chat.ValidRoom(room) {
		return who, fmt.Errorf("approve a code: %q is not the name of a room", room)
	}
	if err := p.checkOwner(); err != nil {
		return who, fmt.Errorf("approve a code: %w", err)
	}
	err = p.change(func(f *peopleFile) error {
		key, err := p.key(true)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(f.Pending, func(r request) bool { return codeOf(key, r.Salt) == cleanCode(code) })
		if i < 0 {
			return ErrNoSuchCode
		}
		r := &f.Pending[i]
		switch who = r.Applicant; r.state(p.now()) {
		case codeUsed:
			return fmt.Errorf("%w, by %s", ErrUsedCode, who)
		case codeExpired:
			return fmt.Errorf("%w: it was given to %s at %s and was good for an hour", ErrExpiredCode, who, r.At.Format(time.RFC3339))
		}
		r.Used = true
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
	person := Person{ID: id, Name: who.ChatTitle, Room: room, At: p.now().UTC().Truncate(time.Second)}
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
	err := p.checkOwner()
	known := false
	if err == nil {
		err = p.change(func(f *peopleFile) error {
			is := func(person Person) bool { return person.ID == id }
			before := len(f.Users) + len(f.Chats)
			f.Users, f.Chats = slices.DeleteFunc(f.Users, is), slices.DeleteFunc(f.Chats, is)
			known = len(f.Users)+len(f.Chats) < before
			for i := range f.Pending {
				r := &f.Pending[i]
				if subject, _ := r.subject(); subject == id && r.state(p.now()) == codeLive {
					r.Used, known = true, true
				}
			}
			return nil
		})
	}
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

// codeOf makes the code of a salt.
func codeOf(key, salt []byte) string {
	h, err := blake3.NewKeyed(key)
	if err != nil {
		panic(err) // a key of another length, which key never returns
	}
	_, _ = h.Write(salt)
	code := h.Sum(nil)[:codeLen]
	for i, b := range code {
		code[i] = codeLetters[int(b)%len(codeLetters)]
	}
	return string(code)
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

// key reads people.key. With create, which needs the lock, one that is missing or damaged is
// made anew: the codes made with the old one are then void, and another question gets a new one.
func (p *Policy) key(create bool) ([]byte, error) {
	path := p.path("people.key")
	key, cut, err := durable.ReadRegular(path, keyLen)
	if err == nil && len(key) == keyLen && !cut {
		return key, nil
	}
	if err == nil {
		err = fmt.Errorf("read %s: it is not %d bytes long", path, keyLen)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !create {
		return nil, err
	}
	key = make([]byte, keyLen)
	_, _ = rand.Read(key) // never fails
	return key, durable.WriteFile(path, key, 0o600)
}
