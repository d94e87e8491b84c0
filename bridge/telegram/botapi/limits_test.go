package botapi

import (
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := New(Options{Limits: Documented})
	take := func(c Chat) int {
		if ref := s.limits.take(s.chat(c), now); ref != nil {
			return ref.retryAfter
		}
		return 0
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: retry after %d, want %d", what, got, want)
		}
	}
	ada := s.User("Ada", "ada")
	dm, crew := s.Private(ada), s.Group("Crew", ada)
	check("first", take(dm), 0)
	check("another chat", take(crew), 0)
	check("at once", take(dm), 1)
	now = now.Add(940 * time.Millisecond)
	check("too early", take(dm), 1)
	now = now.Add(10 * time.Millisecond)
	check("in time", take(dm), 0)
	for range 19 {
		now = now.Add(time.Second)
		check("a group, once a second", take(crew), 0)
		check("a person, once a second", take(dm), 0)
	}
	now = now.Add(time.Second)
	check("a person for long", take(dm), 0)
	check("a group's twenty-first", take(crew), 37) // of 57, 20.95 have passed
	now = now.Add(37 * time.Second)
	check("a group, later", take(crew), 0)

	now = now.Add(time.Minute)
	for i := range 31 {
		want := 0
		if i == 30 {
			want = 1
		}
		u := s.User("u", "")
		check("all together", take(s.Private(u)), want)
	}
}

func TestLimitsOverHTTP(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := staged(t, Options{Now: func() time.Time { return now }, Limits: Limits{Chat: Rate{2, 10 * time.Second}}})
	for _, want := range []int{200, 200, 429} {
		a, err := s.send()
		if err != nil || a.HTTP != want {
			t.Errorf("%v %s, want %d", err, a.Body, want)
		}
	}
	s.blamed("sendMessage to 5000000001: too fast")
	now = now.Add(10 * time.Second)
	if a, err := s.send(); err != nil || !a.OK {
		t.Errorf("%v %s", err, a.Body)
	}
}
