package terminal

import (
	"strings"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

func asking(all ...status.Question) func(*agent) {
	return func(a *agent) { a.Questions = append(a.Questions, all...) }
}

var (
	deploy = status.Question{Question: chat.Question{ID: "q3fa9c1", Text: "The tests pass. Deploy?",
		Options: []string{"yes", "after lunch", "no"}}, Room: "dev", Asked: today}
	host = status.Question{Question: chat.Question{ID: "q0000aa", Text: "Which host?"}, Room: "dev", Asked: today.Add(time.Minute)}
)

// Tab opens the oldest question of the room; keys choose, Enter answers, Esc leaves it.
func TestChoice(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(nil, s.line(true, "lethe", "? q3fa9c1: May I?\n<!-- rm -r * --> **x**"))
	s.shows("<!-- rm -r * --> **x**") // to the letter
	elsewhere, notMine := deploy, host
	elsewhere.Room, notMine.ID, notMine.For = "ops", "q0000bb", []string{"bob"}
	s.hears(lethe(asking(host, deploy, elsewhere, notMine)))
	s.shows("? Tab answers the oldest of 2 questions, lethe: The tests pass. Deploy?")
	s.press("tab")
	s.shows("lethe asks: The tests pass. Deploy?", "❯ 1  yes", "  3  no")
	s.hides("Tab answers")
	s.press("down", "down", "down", "up")
	s.shows("❯ 2  after lunch")
	s.press("esc")
	s.hides("after lunch")
	s.press("tab", "3", "enter")
	s.wants(request{say: "q3fa9c1 no"})

	s.press("tab", "x") // what is written is no choice
	s.hides("❯ 1")
	s.press("enter")
	s.wants(request{say: "x"})

	s.hears(lethe(asking(host))) // the other is answered
	s.press("tab")               // without options, the answer is written
	s.shows("lethe asks: Which host?", "❯ q0000aa")
	s.press("the second", "enter")
	s.wants(request{say: "q0000aa the second"})

	s.press("tab", "esc")
	s.hides("q0000aa")
	s.hears(lethe()) // answered elsewhere
	s.hides("Deploy?", "Which host?")
	s.in.Reset()
	s.press("tab")
	s.shows("nobody asks you anything in dev")
	s.press("enter")
	s.wants()
}

// The chosen option is shown on any screen that shows a choice, and one that is too small for it
// has the answer written.
func TestChoiceOnSmallScreens(t *testing.T) {
	long := deploy
	long.Text = strings.Repeat("Are you quite sure? ", 40)
	long.Options = []string{"one", "two", "three", "four", "five", "six", "seven", "eight"}
	for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 9}, {20, 6}, {10, 5}, {80, 3}, {80, 1}} {
		s := newStage(t, size[0], size[1])
		s.hears(lethe(asking(long)))
		s.press("tab")
		if size[1] < 6 {
			s.press("4", "enter")
			s.wants(request{say: "q3fa9c1 4"})
			continue
		}
		for i, option := range long.Options {
			s.shows("❯ " + string(rune('1'+i)) + "  " + option)
			s.press("down")
		}
		s.press("enter")
		s.wants(request{say: "q3fa9c1 eight"})
	}
}

// A pipe is told what to write.
func TestHowToAnswer(t *testing.T) {
	s := newStage(t, 80, 24)
	for text, want := range map[string]string{
		"? q3fa9c1: Deploy?\n1) yes\n2) no": "\n(to answer, write: q3fa9c1 yes)",
		"? q3fa9c1: Which host?":            "\n(to answer, write: q3fa9c1 and your answer)",
		"Deploy?":                           "",
	} {
		lethetest.Equal(t, text, howToAnswer(s.line(true, "lethe", text)), want)
	}
	lethetest.Equal(t, "a user's line", howToAnswer(s.line(false, "bob", "? q3fa9c1: Deploy?")), "")
}
