package access

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func private(id string) Applicant { return Applicant{ID: id, Chat: id, Private: true} }

func TestPairUser(t *testing.T) {
	p, c := newPolicy(t)
	cli := openAt(p.dir, c)
	code, fresh, err := p.Ask(Applicant{ID: "7", Name: "Eve L", Chat: "7", Private: true})
	if err != nil || !fresh || len(code) != 8 || strings.Trim(code, codeLetters) != "" {
		t.Fatalf("Ask: %q, %v, %v", code, fresh, err)
	}
	if must(p.Rules()).User("7") {
		t.Fatal("asking is enough")
	}
	who, err := cli.Approve(" "+strings.ToLower(code[:4])+" -\u2014"+code[4:]+"\n", "dev")
	if err != nil || who.ID != "7" || who.Name != "Eve_L" || who.String() != `user 7 ("Eve_L")` {
		t.Fatalf("Approve: %+v, %v", who, err)
	}
	if v := must(p.Rules()).Decide("7", "7", true); !v.Allowed {
		t.Error(v.Why)
	}
	if must(p.Rules()).User("8") || must(p.Rules()).Chat("7") {
		t.Error("others are listed along")
	}
	if must(p.Rules()).Room("7", true) != "dev" || must(p.Rules()).Room("8", true) != "" || must(p.Rules()).Room("7", false) != "" || must(p.Rules()).NameFor("7", "other") != "Eve_L" {
		t.Error("the room or the name is lost")
	}
	if _, err := cli.Approve(code, ""); !errors.Is(err, ErrUsedCode) {
		t.Errorf("used twice: %v", err)
	}
	var refused *NoCodeError
	if _, _, err := p.Ask(private("7")); !errors.As(err, &refused) {
		t.Errorf("a listed user asks: %v", err)
	}
}

func TestPairChat(t *testing.T) {
	p, _ := newPolicy(t)
	group := Applicant{ID: "7", Name: "eve", Chat: "-10", ChatTitle: "The\n team\x1b[2J"}
	code := must(p.askCode(group))
	if again, fresh, err := p.Ask(Applicant{ID: "8", Chat: "-10"}); err != nil || fresh || again != code {
		t.Errorf("another member of the group: %q, %v, %v; want the group's code", again, fresh, err)
	}
	if own := must(p.askCode(private("7"))); own == code {
		t.Error("the user has the code of the group")
	}
	who := must(p.Approve(code, ""))
	if strings.ContainsAny(who.String(), "\x1b\n") || !must(p.Rules()).Chat("-10") || must(p.Rules()).User("7") || !must(p.Rules()).Decide("9", "-10", false).Allowed {
		t.Errorf("approved %s", who)
	}
	var refused *NoCodeError
	if _, _, err := p.Ask(Applicant{ID: "9", Chat: "-10"}); !errors.As(err, &refused) {
		t.Errorf("a member of a listed group asks: %v", err)
	}
	must(0, p.Static(Lists{Members: MembersListed}))
	if must(p.Rules()).Decide("9", "-10", false).Allowed {
		t.Error("an unlisted member may speak")
	}
	if _, _, err := p.Ask(Applicant{Chat: "-10"}); !errors.As(err, &refused) {
		t.Errorf("nobody in particular asks in a listed group: %v", err)
	}
	who = must(p.Approve(must(p.askCode(Applicant{ID: "9", Name: "zoe", Chat: "-10"})), ""))
	if who.String() != `user 9 ("zoe")` || !must(p.Rules()).Decide("9", "-10", false).Allowed || must(p.Rules()).Decide("8", "-10", false).Allowed {
		t.Errorf("approved %s", who)
	}
}

func TestCodeLivesAnHour(t *testing.T) {
	p, c := newPolicy(t)
	code := must(p.askCode(private("7")))
	c.move(time.Hour - time.Second)
	restarted := openAt(p.dir, c)
	if again, fresh, err := restarted.Ask(private("7")); again != code || fresh || err != nil {
		t.Fatalf("the second code within the hour: %q, %v, %v; the first is %q", again, fresh, err, code)
	}
	c.move(time.Second)
	if _, err := p.Approve(code, ""); !errors.Is(err, ErrExpiredCode) || !strings.Contains(err.Error(), "user 7") || must(p.Rules()).User("7") {
		t.Errorf("after an hour: %v", err)
	}
	next, fresh, err := p.Ask(private("7"))
	if err != nil || !fresh || next == code {
		t.Errorf("a new code after an hour: %q, %v, %v", next, fresh, err)
	}
	if _, err := p.Approve(code, ""); !errors.Is(err, ErrExpiredCode) {
		t.Errorf("the old code beside a new one: %v", err)
	}
	must(p.Approve(next, ""))

	c.move(-24 * time.Hour) // the clock is put right
	early := must(p.askCode(private("8")))
	c.move(-time.Hour)
	if _, err := p.Approve(early, ""); !errors.Is(err, ErrExpiredCode) {
		t.Errorf("a code from the future: %v", err)
	}
}

func TestCodesAreNotInTheFile(t *testing.T) {
	p, _ := newPolicy(t)
	code := must(p.askCode(private("7")))
	for _, e := range must(os.ReadDir(p.dir)) {
		if fi := must(e.Info()); fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), fi.Mode())
		}
		if strings.Contains(string(must(os.ReadFile(p.path(e.Name())))), code) {
			t.Errorf("the code is in %s", e.Name())
		}
	}
	// Without its key the file is of no use, and who asks again gets a new code.
	must(0, os.Truncate(p.path("people.key"), 3))
	next, fresh, err := p.Ask(private("7"))
	if err != nil || fresh || next == code {
		t.Fatalf("after the key was lost: %q, %v, %v", next, fresh, err)
	}
	if _, err := p.Approve(code, ""); !errors.Is(err, ErrNoSuchCode) {
		t.Errorf("the code of the lost key: %v", err)
	}
	must(p.Approve(next, ""))
}

func TestApproveRefusesRooms(t *testing.T) {
	p, _ := newPolicy(t)
	code := must(p.askCode(private("7")))
	if _, err := p.Approve(code, "../x"); err == nil || must(p.Rules()).User("7") {
		t.Errorf("a room ../x: %v", err)
	}
	must(p.Approve(code, "dev"))
}

func TestStrangersCannotFillTheDisk(t *testing.T) {
	p, c := newPolicy(t)
	var largest int64
	for round := range 4 {
		for i := range maxPending {
			a := private(fmt.Sprintf("%d%03d", round+1, i))
			a.Name, a.ChatTitle = strings.Repeat("n", 1000), strings.Repeat("t", 16<<10)
			must(p.askCode(a))
		}
		before := must(os.ReadFile(p.path("people.json")))
		var refused *NoCodeError
		_, _, err := p.Ask(private("9999"))
		if !errors.As(err, &refused) || !refused.Until.Equal(must(p.List()).Pending[0].Expires) {
			t.Fatalf("stranger %d: %v", maxPending+1, err)
		}
		if code, fresh, err := p.Ask(private(fmt.Sprintf("%d000", round+1))); code == "" || fresh || err != nil {
			t.Errorf("one of the fifty asks again: %q, %v, %v", code, fresh, err)
		}
		if string(must(os.ReadFile(p.path("people.json")))) != string(before) {
			t.Error("a refused stranger changes the file")
		}
		if f, err := p.read(); err != nil || len(f.Pending) > maxPending+maxExpired {
			t.Errorf("%d codes are kept, %v", len(f.Pending), err)
		}
		largest = max(largest, int64(len(before)))
		c.move(time.Hour)
	}
	if most := int64((maxPending + maxExpired) * 1024); largest > most {
		t.Errorf("200 strangers made %d bytes; %d are the most", largest, most)
	}
	must(p.askCode(private("9999")))
}

func TestRevoke(t *testing.T) {
	p, c := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1"}}))
	must(p.Approve(must(p.askCode(private("7"))), ""))
	if err := openAt(p.dir, c).Revoke("7"); err != nil || must(p.Rules()).User("7") {
		t.Fatalf("Revoke: %v; still allowed: %v", err, must(p.Rules()).User("7"))
	}
	var refused *NoCodeError
	if _, _, err := p.Ask(private("7")); !errors.As(err, &refused) || !refused.Until.Equal(c.now().Add(time.Hour)) {
		t.Errorf("a second fresh code within the hour: %v", err)
	}
	if err := p.Revoke("7"); !errors.Is(err, ErrNotListed) {
		t.Errorf("revoked twice: %v", err)
	}
	if err := p.Revoke("1"); err == nil || errors.Is(err, ErrNotListed) || !must(p.Rules()).User("1") {
		t.Errorf("revoke who is in the configuration: %v", err)
	}
	c.move(time.Hour)
	code := must(p.askCode(private("7")))
	must(0, p.Revoke("7")) // no, thank you
	if _, err := p.Approve(code, ""); !errors.Is(err, ErrUsedCode) || must(p.Rules()).User("7") {
		t.Errorf("approve a code that was voided: %v", err)
	}
}

func TestApprovedNamesAreUnique(t *testing.T) {
	p, _ := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1 ada"}}))
	for id, claim := range map[string]string{"7": "Ada", "8": "bob"} {
		must(p.Approve(must(p.askCode(Applicant{ID: id, Name: claim, Private: true})), ""))
	}
	must(p.Approve(must(p.askCode(Applicant{ID: "9", Name: "BOB", Private: true})), ""))
	for id, want := range map[string]string{"1": "ada", "7": "Ada-7", "8": "bob", "9": "BOB-9"} {
		if got := must(p.Rules()).NameFor(id, "x"); got != want {
			t.Errorf("%s signs as %s, want %s", id, got, want)
		}
	}
}

func TestAskRefusesIDs(t *testing.T) {
	p, _ := newPolicy(t)
	for _, a := range []Applicant{
		{Private: true}, {Chat: "-1", Private: true}, {ID: "1 2", Private: true}, {ID: "1"}, {ID: "1", Chat: "a b"}, {ID: "a\nb", Chat: "-1"},
		{ID: strings.Repeat("1", maxID+1), Private: true},
	} {
		if code, _, err := p.Ask(a); err == nil {
			t.Errorf("%+v was given %s", a, code)
		}
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("and that left something: %v", err)
	}
}

// Who is listed by other means while a code is out is not listed twice by the code,
// which would make the file one that refuses everybody.
func TestApproveWhoIsListedMeanwhile(t *testing.T) {
	p, _ := newPolicy(t)
	code := must(p.askCode(private("7")))
	must(0, p.change(func(f *peopleFile) error {
		f.Users = append(f.Users, Person{ID: "7", Name: "eve"})
		return nil
	}))
	must(p.Approve(code, "dev"))
	if l := must(p.List()); len(l.Users) != 1 || l.Users[0].Room != "dev" {
		t.Errorf("%+v", l.Users)
	}
}

// A stranger who repeats the question is answered without a lock, and so without a
// write.
func TestAskingAgainIsCheap(t *testing.T) {
	p, c := newPolicy(t)
	code := must(p.askCode(private("7")))
	other := openAt(p.dir, c)
	must(0, other.lock.Lock())
	defer other.lock.Unlock()
	if again, fresh, err := p.Ask(private("7")); again != code || fresh || err != nil {
		t.Errorf("%q, %v, %v", again, fresh, err)
	}
}

// In any order of questions, approvals, refusals and hours, exactly those may speak
// whom the owner approved and did not revoke since.
func TestOnlyTheApprovedSpeak(t *testing.T) {
	ids := []string{"1", "2", "3"}
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		dir := must(os.MkdirTemp(t.TempDir(), ""))
		both := []*Policy{openAt(dir, c), openAt(dir, c)}
		codes, given, allowed := map[string]string{}, map[string]time.Time{}, map[string]bool{}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			p := rapid.SampledFrom(both).Draw(rt, "process")
			id := rapid.SampledFrom(ids).Draw(rt, "id")
			switch rapid.SampledFrom([]string{"ask", "ask", "approve", "approve", "revoke", "wait"}).Draw(rt, "step") {
			case "ask":
				code, fresh, err := p.Ask(private(id))
				at, had := given[id]
				within := had && c.now().Sub(at) < codeLife
				if fresh && (within || allowed[id]) || err == nil && !fresh && code != codes[id] {
					rt.Fatalf("Ask(%s): %q, %v, %v", id, code, fresh, err)
				}
				if fresh {
					codes[id], given[id] = code, c.now()
				}
			case "approve":
				_, err := p.Approve(codes[id], "")
				if err == nil && (codes[id] == "" || c.now().Sub(given[id]) >= codeLife || allowed[id]) {
					rt.Fatalf("Approve(%s) worked", id)
				}
				allowed[id] = allowed[id] || err == nil
			case "revoke":
				_ = p.Revoke(id)
				allowed[id] = false
			case "wait":
				c.move(rapid.SampledFrom([]time.Duration{time.Minute, 30 * time.Minute, time.Hour}).Draw(rt, "for"))
			}
			for _, p := range both {
				if i := slices.IndexFunc(ids, func(id string) bool { return must(p.Rules()).User(id) != allowed[id] }); i >= 0 {
					rt.Fatalf("%s may speak: %v, want %v", ids[i], must(p.Rules()).User(ids[i]), allowed[ids[i]])
				}
			}
		}
	})
}
