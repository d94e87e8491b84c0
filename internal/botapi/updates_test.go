package botapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"pgregory.net/rapid"
)

// say has a person say so many things and returns the ids of the updates.
func (f *fixture) say(where Chat, u User, n int) []int64 {
	var list []int64
	for i := range n {
		f.Say(where, u, fmt.Sprint(i))
		list = append(list, f.Server.updates.next-1)
	}
	return list
}

func TestOffsets(t *testing.T) {
	f := start(t, Options{FirstUpdate: 10})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	if got := f.updates(object{}); len(got) != 0 {
		t.Fatalf("an empty queue: %v", got)
	}
	f.say(dm, ada, 5) // 10 … 14
	for _, c := range []struct {
		params object
		want   []int64
	}{
		{object{}, []int64{10, 11, 12, 13, 14}},
		{object{}, []int64{10, 11, 12, 13, 14}}, // nothing was confirmed
		{object{"offset": 0, "limit": 2}, []int64{10, 11}},
		{object{"offset": 11, "limit": 2}, []int64{11, 12}},
		{object{}, []int64{11, 12, 13, 14}},               // 10 was
		{object{"offset": 1000}, []int64{11, 12, 13, 14}}, // far too much is nothing
		{object{"offset": -2}, []int64{13, 14}},
		{object{}, []int64{13, 14}}, // a negative offset forgets
		{object{"offset": -100}, []int64{13, 14}},
		{object{"offset": 15}, []int64{}},
		{object{}, []int64{}},
	} {
		if got := ids(f.updates(c.params)); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.params, got, c.want)
		}
	}
	f.well()
	f.updates(object{"offset": 12})
	f.blamed("offset 12 after 15")
}

func TestBatchLimit(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	f.say(f.Private(ada), ada, 130)
	if got := f.updates(object{}); len(got) != 100 {
		t.Errorf("%d updates without a limit", len(got))
	}
	f.well()
	if got := f.updates(object{"limit": 1000}); len(got) != 100 {
		t.Errorf("%d updates", len(got))
	}
	if got := f.updates(object{"limit": 0}); len(got) != 1 {
		t.Errorf("%d updates with limit 0", len(got))
	}
	f.updates(object{"timeout": -1})
	if v := f.Violations(); len(v) != 3 {
		t.Errorf("%q", v)
	}
}

// Whatever a bot asks for: an update comes until an offset above it was given,
// never after, and in order.
func TestOffsetProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := New(Options{FirstUpdate: rapid.Int64Range(1, 1000).Draw(rt, "first")})
		ada := s.User("Ada", "ada")
		dm := s.Private(ada)
		first, next, confirmed := s.updates.next, s.updates.next, s.updates.next
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "say") {
				s.Say(dm, ada, "x")
				next++
				continue
			}
			offset := rapid.Int64Range(first-5, next+5).Draw(rt, "offset")
			s.confirm(offset)
			if offset > 0 {
				confirmed = min(max(confirmed, offset), next)
			} else if offset < 0 {
				confirmed = max(confirmed, next+offset)
			}
			want := []int64{}
			for id := confirmed; id < next && len(want) < 100; id++ {
				want = append(want, id)
			}
			got := []int64{}
			for _, u := range s.updates.batch(100) {
				got = append(got, u.id)
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("offset %d: got %v, want %v", offset, got, want)
			}
		}
	})
}

func TestLongPoll(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	begun := time.Now()
	if got := f.updates(object{"timeout": 1}); len(got) != 0 || time.Since(begun) < time.Second {
		t.Errorf("%v after %v", got, time.Since(begun))
	}
	got := make(chan []models.Update, 1)
	go func() { got <- f.updates(object{"timeout": 50}) }()
	f.until(f.Polling)
	f.Say(dm, ada, "wake up")
	select {
	case list := <-got:
		if len(list) != 1 || list[0].Message.Text != "wake up" {
			t.Errorf("%+v", list)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the poll sleeps on")
	}
	if f.Polling() {
		t.Error("still polling")
	}
	begun = time.Now()
	if list := f.updates(object{"timeout": 50}); len(list) != 1 || time.Since(begun) > 30*time.Second {
		t.Errorf("with an update there: %v after %v", list, time.Since(begun))
	}
	f.well()
}

func TestTwoPolls(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	older := make(chan reply, 1)
	go func() { older <- f.ask("getUpdates", object{"timeout": 50}) }()
	f.until(f.Polling)
	newer := make(chan reply, 1)
	go func() { newer <- f.ask("getUpdates", object{"timeout": 49}) }()
	f.refused(<-older, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
	f.blamed("terminated by other")
	f.Say(dm, ada, "hello")
	if a := <-newer; !a.OK {
		t.Errorf("the newer poll: %s", a.Body)
	}
}

// A bot that gives a poll up and begins another one does nothing wrong.
func TestPollAgain(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	waiting := func() *poll {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.Server.updates.poll
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := f.try(ctx, "getUpdates", object{"timeout": 50})
			left <- err
		}()
		f.until(f.Polling)
		older := waiting()
		cancel()
		if err := <-left; err == nil {
			t.Fatal("the poll was answered")
		}
		next := make(chan []models.Update, 1)
		go func() { next <- f.updates(object{"timeout": 50}) }()
		f.until(func() bool { p := waiting(); return p != nil && p != older })
		f.Say(dm, ada, "x")
		if got := <-next; len(got) != 1 {
			t.Fatalf("%+v", got)
		}
		f.updates(object{"offset": f.Server.updates.next, "limit": 1})
	}
	f.well()
}

// Those who wait for the end of a poll see it, also when nobody else comes.
func TestPollLeaves(t *testing.T) {
	f := start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan error, 1)
	go func() {
		_, err := f.try(ctx, "getUpdates", object{"timeout": 50})
		left <- err
	}()
	f.until(f.Polling)
	f.until(func() bool {
		polling := f.Polling()
		cancel() // once Wait has begun
		return !polling
	})
	<-left
}

// split is the name of the one field of an update.
func split(u models.Update) string {
	fields := map[string]any{}
	_ = json.Unmarshal(encode(u), &fields)
	delete(fields, "update_id")
	for name := range fields {
		return name
	}
	return ""
}

func TestAllowedUpdates(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	kinds := func(params object) []string {
		t.Helper()
		var list []string
		for _, u := range f.updates(params) {
			list = append(list, split(u))
		}
		return list
	}
	all := func() {
		f.Edit(dm, f.Say(dm, ada, "x"), "y")
		f.Block(ada)
		f.Unblock(ada)
		f.Update(models.Update{MessageReactionCount: &models.MessageReactionCountUpdated{}})
	}
	f.updates(object{"allowed_updates": []string{"message"}})
	all()
	if got := kinds(object{"offset": -100}); !slices.Equal(got, []string{"message"}) {
		t.Error(got)
	}
	// What was queued before stays, and the setting is remembered.
	if got := kinds(object{"allowed_updates": []string{"edited_message"}}); !slices.Equal(got, []string{"message"}) {
		t.Error(got)
	}
	all()
	if got := kinds(object{}); !slices.Equal(got, []string{"message", "edited_message"}) {
		t.Error(got)
	}
	f.updates(object{"allowed_updates": []string{}})
	all()
	want := []string{"message", "edited_message", "message", "edited_message", "my_chat_member", "my_chat_member"}
	if got := kinds(object{}); !slices.Equal(got, want) {
		t.Error(got)
	}
	f.updates(object{"allowed_updates": []string{"message_reaction_count"}, "offset": f.Server.updates.next})
	all()
	if got := kinds(object{}); !slices.Equal(got, []string{"message_reaction_count"}) {
		t.Error(got)
	}
	f.well()
	f.updates(object{"allowed_updates": []string{"messages"}})
	f.blamed(`no update is called "messages"`)
}

func TestResumeAt(t *testing.T) {
	f := start(t, Options{FirstUpdate: 1000})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.Say(dm, ada, "before")
	f.updates(object{"offset": 1001})
	f.ResumeAt(7)
	f.Say(dm, ada, "after")
	if got := ids(f.updates(object{"offset": 1001})); !slices.Equal(got, []int64{7}) {
		t.Errorf("with the old offset: %v", got)
	}
	if got := f.updates(object{"offset": 8}); len(got) != 0 {
		t.Errorf("with the new one: %v", ids(got))
	}
	f.well()
	f.Say(dm, ada, "waits")
	defer func() {
		if recover() == nil {
			t.Error("ids begin anew below updates that wait")
		}
	}()
	f.ResumeAt(1)
}
