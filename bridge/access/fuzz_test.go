package access

import (
	"reflect"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// A list of who may speak is a whole list or none, and lets nobody in who is not in it.
func FuzzPeople(f *testing.F) {
	for _, s := range []string{
		"", "null", "{}", `{"version":1}`, `{"version":1,"users":[{"id":"7","name":"Ada"}],"chats":[{"id":"-100"}]}`,
		`{"version":1,"users":[{"id":"7"},{"id":"7"}]}`, `{"version":1,"users":[{"id":""}]}`,
		`{"version":1,"users":[{"id":"7","name":"` + "\u202eAda]\n" + `"}],"blocked_until":"9999-12-31T23:59:59Z"}`,
		`{"version":1}{}`, `{"version":1,"admin":true}`, `{"version":1,"users":[{"id":"٧"}]}`,
		`{"version":1,"pending":[{"user":"8"}],"wrong":["0001-01-01T00:00:00Z"]}`, strings.Repeat(`{"users":`, 20000), `{"version":1e0}`,
	} {
		f.Add([]byte(s), "8")
	}
	f.Fuzz(func(t *testing.T, data []byte, stranger string) {
		people, err := parsePeople(data)
		if err != nil {
			if !reflect.DeepEqual(people, peopleFile{}) {
				t.Fatalf("%q: %v, but %+v", data, err, people)
			}
			return
		}
		rules := Rules{Users: people.Users, Chats: people.Chats}
		if find(people.Users, stranger) == nil {
			if allowed(rules, stranger, stranger, true) && find(people.Chats, stranger) == nil {
				t.Fatalf("%q lets %q in", data, stranger)
			}
			name := rules.NameFor(stranger, stranger)
			for _, own := range people.Users {
				if own.Name != "" && name == own.Name {
					t.Fatalf("%q signs as %q", stranger, name)
				}
			}
		}
		saved, err := people.encode()
		lethetest.Must(t, err)
		if again, err := parsePeople(saved); err != nil || len(again.Users) != len(people.Users) || len(again.Chats) != len(people.Chats) {
			t.Fatalf("%q is saved as %q: %v", data, saved, err)
		}
	})
}
