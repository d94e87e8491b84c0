package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/lethetest"
)

// What root wrote, the bridge of another user could not read.
func TestChangesByRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bridges", "x")
	p := New(dir)
	code, _, err := p.Ask(Applicant{ID: "7", Name: "Eve", Private: true})
	lethetest.Must(t, err)
	people := filepath.Join(dir, "people.json")
	if p.uid == 0 {
		if err := os.Chown(people, 65534, 65534); err != nil {
			t.Skip(err) // a namespace without that user
		}
	}
	p.uid = 0
	before, err := os.ReadFile(people)
	lethetest.Must(t, err)
	_, err = p.Approve(code, "")
	var foreign *ForeignError
	if !errors.As(err, &foreign) || !strings.Contains(foreign.Hint(), "sudo -u") {
		t.Errorf("approve: %v", err)
	}
	if err := p.Revoke("7"); !errors.As(err, &foreign) {
		t.Errorf("revoke: %v", err)
	}
	if after, err := os.ReadFile(people); err != nil || string(after) != string(before) {
		t.Errorf("people.json has changed: %v", err)
	}
}

// A damaged list is an error of what needs it, until it is mended.
func TestNewPolicyOfDamage(t *testing.T) {
	dir := t.TempDir()
	people := filepath.Join(dir, "people.json")
	lethetest.Must(t, os.WriteFile(people, []byte("{"), 0o600))
	p := New(dir)
	if _, err := p.Rules(); !errors.As(err, new(*PeopleError)) {
		t.Errorf("rules: %v", err)
	}
	lethetest.Must(t, os.WriteFile(people, []byte(`{"version":1,"users":[{"id":"7"}],"chats":[]}`), 0o600))
	if r, err := p.Rules(); err != nil || !r.User("7") {
		t.Errorf("after mending: %v", err)
	}
}
