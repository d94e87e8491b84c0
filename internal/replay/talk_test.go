package replay

import (
	"slices"
	"testing"
	"time"

	"lethe/internal/locomo"
)

func TestTalk(t *testing.T) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	got := Talk(locomo.Conversation{Sessions: []locomo.Session{
		{At: at, Lines: []locomo.Line{{Speaker: "Ada", Text: "hello"}}},
		{At: at.Add(time.Hour), Lines: slices.Repeat([]locomo.Line{{Speaker: "Ben", Text: "back again"}}, 10)},
	}})
	want := []Item{{User, "(1:56 pm on 8 May, 2023)"}, {User, "Ada: hello"}, {Asst, "Noted."}, {User, "(2:56 pm on 8 May, 2023)"}}
	want = append(want, slices.Repeat([]Item{{User, "Ben: back again"}}, 10)...)
	if want = append(want, Item{Asst, "Noted."}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
