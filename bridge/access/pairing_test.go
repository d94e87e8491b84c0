package access

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func private(id string) Applicant { return Applicant{ID: id, Chat: id, Private: true} }

func TestPairUser(t *testing.T) {
	p := newPolicy(t)
	cli := New(p.dir) // another process
	code, fresh, err := p.Ask(Applicant{ID: "7", Name: "Eve L", Chat: "7", Private: true})
	if err != nil || !fresh || len(code) != 8 || strings.Trim(code, codeLetters) != "" {
		t.Fatalf("Ask: %q, %v, %v", code, fresh, err)
	}
	if _, err := p.Approve(code, "../x"); err == nil || rules(p).User("7") {
		t.Errorf("asking is enough, or a room ../x: %v", err)
	}
	who, err := cli.Approve(" "+strings.ToLower(code[:4])+" -\u2014"+code[4:]+"\n", "dev")
	if err != nil || who.ID != "7" || who.Name != "Eve_L" || who.String() != `user 7 ("Eve_L")` {
		t.Fatalf("Approve: %+v, %v", who, err)
	}
	r := rules(p)
	if !allowed(r, "7", "7", true) || r.User("8") || r.Chat("7") {
		t.Error("the user is not listed, or others are listed along")
	}
	if r.Room("7", true) != "dev" || r.Room("8", true) != "" || r.Room("7", false) != "" || r.NameFor("7", "other") != "Eve_L" {
		t.Error("the room or the name is lost")
	}
	if _, err := cli.Approve(code, ""); !errors.Is(err, ErrNoSuchCode) {
		t.Errorf("used twice: %v", err)
	}
	if _, _, err := p.Ask(private("7")); !errors.Is(err, ErrNoCode) {
		t.Errorf("a listed user asks: %v", err)
	}
}

func TestPairChat(t *testing.T) {
	p := newPolicy(t)
	group := Applicant{ID: "7", Name: "eve", Chat: "-10", ChatTitle: "The\n team\x1b[2J"}
	code := must(p.askCode(group))
	if again, fresh, err := p.Ask(Applicant{ID: "8", Chat: "-10"}); err != nil || fresh || again != code {
		t.Errorf("another member of the group: %q, %v, %v; want the group's code", again, fresh, err)
	}
	if own := must(p.askCode(private("7"))); own == code {
		t.Error("the user has the code of the group")
	}
	who := must(p.Approve(code, ""))
	if strings.ContainsAny(who.String(), "\x1b\n") || !rules(p).Chat("-10") || rules(p).User("7") || !allowed(rules(p), "9", "-10", false) {
		t.Errorf("approved %s", who)
	}
	refuses := func(what string, a Applicant) {
		t.Helper()
		if _, _, err := p.Ask(a); !errors.Is(err, ErrNoCode) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refuses("a member of a listed group asks", Applicant{ID: "9", Chat: "-10"})
	must(0, p.Static(Lists{Members: MembersListed}))
	if allowed(rules(p), "9", "-10", false) {
		t.Error("an unlisted member may speak")
	}
	refuses("an unlisted member asks in the group", Applicant{ID: "9", Name: "zoe", Chat: "-10"})
	who = must(p.Approve(must(p.askCode(Applicant{ID: "9", Name: "zoe", Private: true})), ""))
	if who.String() != `user 9 ("zoe")` || !allowed(rules(p), "9", "-10", false) || allowed(rules(p), "8", "-10", false) {
		t.Errorf("approved %s", who)
	}
}

func TestCodeLivesAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t)
		code := must(p.askCode(private("7")))
		time.Sleep(time.Hour - time.Second)
		if again, fresh, err := New(p.dir).Ask(private("7")); again != code || fresh || err != nil {
			t.Fatalf("the second code within the hour: %q, %v, %v; the first is %q", again, fresh, err, code)
		}
		time.Sleep(time.Second)
		if _, err := p.Approve(code, ""); !errors.Is(err, ErrNoSuchCode) || rules(p).User("7") {
			t.Errorf("after an hour: %v", err)
		}
		next, fresh, err := p.Ask(private("7"))
		if err != nil || !fresh || next == code {
			t.Errorf("a new code after an hour: %q, %v, %v", next, fresh, err)
		}
		must(p.Approve(next, ""))
	})
}

func TestStrangersCannotFillTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t)
		for round := range 3 {
			for i := range maxPending {
				a := private(fmt.Sprintf("%d%03d", round+1, i))
				a.Name, a.ChatTitle = strings.Repeat("n", 1000), strings.Repeat("t", 16<<10)
				must(p.askCode(a))
			}
			before := must(os.ReadFile(p.path("people.json")))
			if _, _, err := p.Ask(private("9999")); !errors.Is(err, ErrNoCode) {
				t.Fatalf("stranger %d: %v", maxPending+1, err)
			}
			if code, fresh, err := p.Ask(private(fmt.Sprintf("%d000", round+1))); code == "" || fresh || err != nil {
				t.Errorf("one of the fifty asks again: %q, %v, %v", code, fresh, err)
			}
			if after := must(os.ReadFile(p.path("people.json"))); string(after) != string(before) || len(after) > maxPending*1024 {
				t.Errorf("a refused stranger changes the file, or it has %d bytes", len(after))
			}
			time.Sleep(time.Hour)
		}
		must(p.askCode(private("9999")))
	})
}

func TestRevoke(t *testing.T) {
	p := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1"}}))
	must(p.Approve(must(p.askCode(private("7"))), ""))
	if err := New(p.dir).Revoke("7"); err != nil || rules(p).User("7") {
		t.Fatalf("Revoke: %v; still allowed: %v", err, rules(p).User("7"))
	}
	if err := p.Revoke("7"); !errors.Is(err, ErrNotListed) {
		t.Errorf("revoked twice: %v", err)
	}
	if err := p.Revoke("1"); err == nil || errors.Is(err, ErrNotListed) || !rules(p).User("1") {
		t.Errorf("revoke who is in the configuration: %v", err)
	}
	code := must(p.askCode(private("7")))
	must(0, p.Revoke("7")) // no, thank you
	if _, err := p.Approve(code, ""); !errors.Is(err, ErrNoSuchCode) || rules(p).User("7") {
		t.Errorf("approve a code that was voided: %v", err)
	}
}

func TestApprovedNamesAreUnique(t *testing.T) {
	p := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1 ada"}}))
	for _, c := range [][2]string{{"7", "Ada"}, {"8", "bob"}, {"9", "BOB"}} {
		must(p.Approve(must(p.askCode(Applicant{ID: c[0], Name: c[1], Private: true})), ""))
	}
	for id, want := range map[string]string{"1": "ada", "7": "Ada-7", "8": "bob", "9": "BOB-9"} {
		if got := rules(p).NameFor(id, "x"); got != want {
			t.Errorf("%s signs as %s, want %s", id, got, want)
		}
	}
}

func TestAskRefusesIDs(t *testing.T) {
	p := newPolicy(t)
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
	p := newPolicy(t)
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
