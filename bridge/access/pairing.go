package access

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/chat"
)

// Bounds of pairing.
const (
	codeLife   = time.Hour
	maxPending = 50 // live codes at a time
	// maxExpired bounds how many expired codes are kept, so that who types one can be
	// told.
	maxExpired = 50

	maxWrong   = 10 // wrong codes within wrongSpan …
	wrongSpan  = 10 * time.Minute
	blockedFor = 10 * time.Minute // … and then none is taken for so long
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
	ErrTooMany     = errors.New("too many wrong codes")
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

// Ask gives an applicant a code for the owner to approve: 8 letters and digits, good
// for an hour and once. Who asks again meanwhile gets the same one, and fresh is
// false. It fails with a *NoCodeError for who may speak already, who has used up a
// code within the hour, and for everybody new while 50 codes are live.
func (p *Policy) Ask(who Applicant) (code string, fresh bool, err error) {
	if who, err = p.admit(who); err != nil {
		return "", false, err
	}
	// Who repeats the question must not make the disk busy.
	if f, _, err := p.current(); err == nil {
		r, err := f.waiting(who, p.now())
		if err != nil {
			return "", false, err
		}
		if key, kerr := p.key(false); r != nil && kerr == nil {
			code, err := codeOf(key, r.Salt)
			return code, false, err
		}
	}
	err = p.change(func(f *peopleFile) (bool, error) {
		r, err := f.waiting(who, p.now())
		if err != nil {
			return false, err
		}
		if fresh = r == nil; fresh {
			r = &request{Applicant: who, At: p.now().UTC().Truncate(time.Second), Salt: make([]byte, 16)}
			_, _ = rand.Read(r.Salt) // never fails
			f.Pending = append(f.Pending, *r)
		}
		key, err := p.key(true)
		if err == nil {
			code, err = codeOf(key, r.Salt)
		}
		return fresh && err == nil, err
	})
	if err != nil {
		return "", false, err
	}
	return code, fresh, nil
}

// admit checks and cleans what a stranger says of itself.
func (p *Policy) admit(who Applicant) (Applicant, error) {
	if who.Private && !validID(who.ID) || !who.Private && !validID(who.Chat) ||
		who.ID != "" && !validID(who.ID) || who.Chat != "" && !validID(who.Chat) {
		return who, fmt.Errorf("give a code to user %q in chat %q: that is not an id", clipID(who.ID), clipID(who.Chat))
	}
	_, rules, err := p.await()
	if err != nil {
		return who, err
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

// Approve lists the applicant who was given code, along with a room for it, which
// may be empty, and uses the code up. Case, white space and dashes do not matter.
// After 10 wrong codes within 10 minutes, to any process, none is taken for 10 minutes.
func (p *Policy) Approve(code, room string) (Applicant, error) {
	if room != "" && !chat.ValidRoom(room) {
		return Applicant{}, fmt.Errorf("approve a code: %q is not the name of a room", room)
	}
	if err := p.ours(); err != nil {
		return Applicant{}, fmt.Errorf("approve a code: %w", err)
	}
	var who Applicant
	err := p.change(func(f *peopleFile) (bool, error) {
		now := p.now()
		if f.blocked(now) {
			return false, fmt.Errorf("%w; none is taken until %s", ErrTooMany, f.Blocked.Format(time.RFC3339))
		}
		r, err := p.match(f, code)
		if err != nil {
			return false, err
		}
		if r == nil {
			f.countWrong(now)
			return true, ErrNoSuchCode
		}
		who = r.Applicant
		switch r.state(now) {
		case codeUsed:
			return false, fmt.Errorf("%w, by %s", ErrUsedCode, who)
		case codeExpired:
			return false, fmt.Errorf("%w: it was given to %s at %s and was good for an hour", ErrExpiredCode, who, r.At.Format(time.RFC3339))
		}
		r.Used = true
		p.enlist(f, who, room)
		return true, nil
	})
	if err != nil {
		return Applicant{}, fmt.Errorf("approve a code: %w", err)
	}
	return who, nil
}

// match finds the request that a typed code belongs to, or nil.
func (p *Policy) match(f *peopleFile, typed string) (*request, error) {
	key, err := p.key(true)
	if err != nil {
		return nil, err
	}
	typed = cleanCode(typed)
	var found *request
	for i := range f.Pending { // all of them: how long it takes tells nothing
		code, err := codeOf(key, f.Pending[i].Salt)
		if err != nil {
			return nil, err
		}
		if subtle.ConstantTimeCompare([]byte(code), []byte(typed)) == 1 {
			found = &f.Pending[i]
		}
	}
	return found, nil
}

// enlist adds the applicant to its list, under a name that is nobody else's.
func (p *Policy) enlist(f *peopleFile, who Applicant, room string) {
	id, isChat := who.subject()
	person := Person{ID: id, Name: who.ChatTitle, Room: room, At: p.now().UTC().Truncate(time.Second)}
	list := &f.Chats
	if !isChat {
		list = &f.Users
		if person.Name = who.Name; who.Name != "" {
			p.mu.Lock()
			rules := newRules(p.lists, p.fixed, f.directory)
			p.mu.Unlock()
			person.Name = rules.NameFor(id, who.Name)
		}
	}
	if old := find(*list, id); old != nil {
		*old = person
		return
	}
	*list = append(*list, person)
}

func (f peopleFile) blocked(now time.Time) bool {
	return f.Blocked.After(now) && f.Blocked.Sub(now) <= blockedFor
}

func (f *peopleFile) countWrong(now time.Time) {
	f.Wrong = slices.DeleteFunc(f.Wrong, func(at time.Time) bool { return !recent(at, now, wrongSpan) })
	if f.Wrong = append(f.Wrong, now.UTC()); len(f.Wrong) >= maxWrong {
		f.Wrong, f.Blocked = nil, now.UTC().Add(blockedFor)
	}
}

// prune forgets what decides nothing any more.
func (f *peopleFile) prune(now time.Time) {
	if !f.blocked(now) {
		f.Blocked = time.Time{}
	}
	f.Wrong = slices.DeleteFunc(f.Wrong, func(at time.Time) bool { return !recent(at, now, wrongSpan) })
	expired := 0
	for _, r := range f.Pending {
		if r.state(now) == codeExpired {
			expired++
		}
	}
	f.Pending = slices.DeleteFunc(f.Pending, func(r request) bool {
		switch r.state(now) {
		case codeUsed:
			return !recent(r.At, now, codeLife)
		case codeExpired: // the oldest come first
			expired--
			return expired >= maxExpired
		}
		return false
	})
}

// Revoke takes back what was approved for a user or chat, and voids the code that
// it may have. Who is in the configuration stays listed, which is an error.
func (p *Policy) Revoke(id string) error {
	if err := p.ours(); err != nil {
		return fmt.Errorf("revoke %q: %w", clipID(id), err)
	}
	err := p.change(func(f *peopleFile) (bool, error) {
		is := func(person Person) bool { return person.ID == id }
		before := len(f.Users) + len(f.Chats)
		f.Users, f.Chats = slices.DeleteFunc(f.Users, is), slices.DeleteFunc(f.Chats, is)
		known := len(f.Users)+len(f.Chats) < before
		for i := range f.Pending {
			r := &f.Pending[i]
			if subject, _ := r.subject(); subject == id && r.state(p.now()) == codeLive {
				r.Used, known = true, true
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case find(p.fixed.Users, id) != nil || find(p.fixed.Chats, id) != nil:
			return known, errors.New("it is listed in the configuration, and stays so until it is removed there")
		case !known:
			return false, ErrNotListed
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("revoke %q: %w", clipID(id), err)
	}
	return nil
}
