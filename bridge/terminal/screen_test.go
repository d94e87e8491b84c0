package terminal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"lethe/agent/events"
	"lethe/agent/status"
	_ "lethe/internal/test/seed"
)

func TestScreenAsAWhole(t *testing.T) {
	t.Setenv("TZ", "UTC")
	local := time.Local
	time.Local = time.UTC
	defer func() { time.Local = local }()

	s := newStage(t, 60, 20)
	s.send(news{Room: "dev", Agents: lethe(), Fresh: true, Lines: []message{
		{Tagged: true, Name: "ada", At: today.AddDate(0, 0, -1), Text: "yesterday"},
		{Tagged: true, Name: "ada", At: today, Text: "what is\nthe answer?"},
		{Tagged: true, Name: "ada", At: today.Add(time.Minute), Text: "please"},
		{Tagged: true, Agent: true, Name: "lethe", At: today.Add(time.Minute), Text: "It is **42**."},
	}})
	s.press("tell me more")
	want := ` dev with lethe                                       /help

 ada 12:57
   yesterday

───────────────── Friday 20 November 2026 ──────────────────

 ada 12:57
   what is
   the answer?
   please

 lethe 12:58
   It is 42.

 welcome

` + strings.Repeat("─", 60) + `
❯ tell me more
 ● lethe idle │ 4k of 100k tokens │ $1.50 │ deepseek-v4-pro`
	lethetest.Equal(t, "the screen", s.text(), want)
}

func TestReplyAsItStreams(t *testing.T) {
	s := newStage(t, 60, 24)
	s.send(news{Room: "dev", Agents: lethe(), Fresh: true})
	s.hears(lethe(writing("")), s.line(false, "ada", "hello"))
	s.shows("lethe thinks", "Esc stops")
	s.hears(lethe(writing(""), func(a *agent) { a.Live.Thinking = "First,\nshe greets me\x1b[2J\n" }))
	s.shows("lethe thinks she greets me␛", "Esc stops")
	s.hears(lethe(writing("Dear **Ada**")))
	s.shows("Dear Ada", "lethe writes")
	s.hears(lethe(writing("Dear **Ada**, good morning")))
	s.shows("Dear Ada, good morning")

	// The line is there before the stream is emptied: nothing may be doubled.
	s.hears(lethe(writing("Dear **Ada**, good morning")), s.line(true, "lethe", "Dear **Ada**, good morning."))
	if n := strings.Count(s.text(), "Dear Ada"); n != 1 {
		t.Errorf("the reply is shown %d times:\n%s", n, s.text())
	}
	s.hears(lethe())
	if n := strings.Count(s.text(), "Dear Ada"); n != 1 {
		t.Errorf("the reply is shown %d times:\n%s", n, s.text())
	}
	s.hides("writes", "thinks")
}

// A model that sends nothing does not look like one that writes.
func TestSilentModel(t *testing.T) {
	s := newStage(t, 80, 24)
	silent := func(a *agent) { a.SilentSince = s.now().Add(-34 * time.Second) }
	s.hears(lethe(writing("half an answer"), silent))
	s.shows("half an answer", "lethe waits: nothing from the model since ")
	s.hides("writes")
	s.hears(lethe(writing("half an answer, and more")))
	s.shows("lethe writes")
}

func TestRetryReplacesTheStream(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe(writing("a first attempt")))
	s.hears(lethe(writing("")))
	s.hears(lethe(writing(strings.Repeat("many words\n\n", 5000) + "another")))
	s.shows("another")
	s.hides("first attempt")
	// A tool call: what was written before it is not posted.
	s.hears(lethe(writing(""), func(a *agent) { a.State, a.Tool = status.Acting, "BASH\x1b[2J" }))
	s.shows("lethe runs BASH")
	s.hides("another")
}

func TestStreamForAnotherRoomIsNotShown(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe(writing("secret"), func(a *agent) { a.Answering = []string{"ops"} }))
	s.hides("secret", "Esc stops")
	s.shows("busy in ops")
	s.press("esc")
	s.wants() // somebody else's turn is not stopped from here
}

func TestSending(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	s.press("first", "alt+enter", "second", "ctrl+j", "third", "shift+enter", "fourth")
	s.shows("❯ first", "  second", "  third", "  fourth")
	s.wants()
	s.press("enter")
	s.wants(request{say: "first\nsecond\nthird\nfourth"})
	s.hides("first")
	s.press("enter", " ", "enter")
	s.wants()
	s.press("/stop", "enter")
	s.wants(request{say: "/stop"})
	s.press("//stop", "enter")
	s.wants(request{say: " /stop"})
}

func TestPasteOfManyLines(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	var want strings.Builder
	for i := range 150 {
		fmt.Fprintf(&want, "line %d 世界\n", i)
	}
	want.WriteString("end")
	s.send(tea.PasteMsg{Content: strings.ReplaceAll(want.String(), "\n", "\r\n")})
	s.shows("❯ [paste 1: 151 lines]")
	s.hides("line 149")
	s.press("enter")
	s.wants(request{say: want.String()})
	s.press("up") // what was sent is there to be edited
	s.shows("line 149 世界", "end")
	s.press("ctrl+c")

	long := strings.Repeat("x\n", 9)
	s.press("look: ")
	s.send(tea.PasteMsg{Content: long})
	s.send(tea.PasteMsg{Content: long + "y"})
	s.shows("❯ look: [paste 1: 9 lines][paste 2: 10 lines]")
	s.press("backspace") // a label goes as a whole
	s.shows("❯ look: [paste 1: 9 lines]")
	s.hides("paste 2")
	s.press(" ok?", "ctrl+c", "up")
	s.press("enter")
	s.wants(request{say: "look: " + long + " ok?"})
	s.press("[paste 1: 10 lines]", "enter") // typed, it is a text like another
	s.wants(request{say: "[paste 1: 10 lines]"})
	s.send(tea.PasteMsg{Content: "a\x1b[31mb\rc"}) // some terminals send CR for a newline
	s.press("enter")
	s.wants(request{say: "a␛[31mb\nc"})
	s.send(tea.PasteMsg{Content: "a\tb"}) // tabs stay, also when it comes back
	s.press("enter", "up", "enter")
	s.wants(request{say: "a\tb"}, request{say: "a\tb"})
}

// A text that is too long to be edited is refused; what is in the input stays.
func TestPasteOfALongText(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(lethe())
	s.press("see ")
	s.send(tea.PasteMsg{Content: strings.Repeat("a line of the log\n", 20_000)})
	s.shows("too long for the input; send it with: lethe say dev < FILE", "❯ see")
}

func TestUnknownCommandIsNotSent(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(lethe())
	s.press("/foo", "enter", "enter")
	s.wants()
	s.shows("/foo is no command here", "❯ /foo")
	s.press("x")
	s.hides("no command")
}

func TestEscStopsATurnOnce(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	s.press("esc")
	s.wants()
	s.hears(lethe(writing("")))
	s.press("esc", "esc")
	s.wants(request{say: "/stop"})
	s.shows("stopping")
	s.hears(lethe())
	s.hears(lethe(writing("")))
	s.press("esc")
	s.wants(request{say: "/stop"})
}

func TestLeaving(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	s.press("half a thought", "ctrl+c")
	s.shows("cleared")
	s.press("up")
	s.shows("half a thought")
	s.press("ctrl+c", "ctrl+c")
	s.shows("Ctrl+C again leaves")
	s.press("x")
	s.hides("Ctrl+C again")
	s.press("ctrl+d") // not with text in the input
	if s.quit {
		t.Fatal("left too early")
	}
	s.press("ctrl+c", "ctrl+c", "ctrl+c")
	if !s.quit {
		t.Error("two presses do not leave")
	}
	for _, way := range [][]string{{"ctrl+d"}, {"/quit", "enter"}} {
		s := newStage(t, 60, 24)
		s.press(way...)
		if !s.quit {
			t.Errorf("%q does not leave", way)
		}
	}
}

func TestInputHistory(t *testing.T) {
	s := newStage(t, 60, 24)
	s.send(news{Room: "dev", Agents: lethe(), Fresh: true,
		Lines: []message{s.line(false, "ada", "from before"), s.line(false, "bob", "not mine")}})
	s.press("now", "enter", "dra", "up")
	s.shows("❯ now")
	s.press("up")
	s.shows("❯ from before")
	s.press("up", "down", "down")
	s.shows("❯ dra")
	// Inside several lines the keys move the cursor.
	s.press("alt+enter", "b", "up", "home", "X")
	s.shows("❯ Xdra", "  b")
}

func TestFailedSendGivesTheTextBack(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(lethe())
	s.press("precious", "enter")
	s.send(unsent{Text: "precious", Err: errors.New("append to dev.md: no space left on device")})
	s.shows("not sent: append to dev.md: no space left", "❯ precious")
}

func TestNobodyHere(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(nil)
	s.shows("nobody is listening in dev", "start one with: lethe run")
	s.press("hello?", "enter")
	s.wants(request{say: "hello?"})
	s.shows("waits in the room")
	s.hears(lethe(func(a *agent) { a.Rooms = []string{"ops"} }))
	s.shows("nobody is listening in dev")
}

func TestStatusLine(t *testing.T) {
	s := newStage(t, 90, 24)
	s.hears(lethe(func(a *agent) { a.State, a.Error = status.Paused, "402: insufficient balance" }))
	s.shows("■ lethe paused", "! lethe paused: 402: insufficient balance. Mend that, then write anything to go on.")
	s.hears(lethe(func(a *agent) { a.Offline, a.CostUSD = true, 0 }))
	s.shows("offline model")
	s.hides("$", "deepseek")
	s.hears(append(lethe(), lethe(func(a *agent) { a.Name, a.Self = "mnemosyne", "77" })...))
	s.shows("dev with lethe, mnemosyne", "+1 more")
	s.cfg.Self = "77"
	s.shows("● mnemosyne idle")
	s.hears(lethe(func(a *agent) { a.Model = "evil\x1b]0;x\x07\nmodel"; a.Error = "retrying\x1b[2J" }))
	s.shows("evil␛]0;x␇ model", "retrying␛[2J")
	s.send(news{Room: "dev", Err: errors.New("read room: permission denied")})
	s.shows("the room cannot be read: read room: permission denied")
}

func TestRoomsAndHelp(t *testing.T) {
	s := newStage(t, 90, 40)
	s.hears(lethe(), s.line(false, "bob", "in dev"))
	s.press("/help", "enter")
	s.shows("Keys and commands", "Alt+Enter", "/model NAME")
	s.press("/room", "enter")
	s.shows("Rooms: dev, ops")
	s.press("/ro", "tab")
	s.shows("❯ /room")
	s.press(" o", "tab", "enter") // "/room ops"
	s.wants(request{room: "ops"})
	s.hides("in dev", "Rooms", "Keys and commands")
	s.hears(lethe()) // of ops
	s.send(news{Room: "dev", Agents: lethe(), Lines: []message{s.line(false, "bob", "late news of dev")}})
	s.hides("late news")
	s.shows("nobody is listening in ops")
	s.press("/room ../x", "enter")
	s.wants()
	s.shows("no room can be called ../x")
}

// A text of the screen's own that does not fit is read from its top.
func TestLongTextsBeginAtTheTop(t *testing.T) {
	s := newStage(t, 80, 16)
	s.hears(lethe(), s.line(false, "bob", "in dev"))
	s.press("/help", "enter")
	s.shows("Keys and commands", "↓ Ctrl+End")
	s.hides("/quit")
	s.press("pgdown", "pgdown", "pgdown", "pgdown")
	s.shows("/quit")
	s.hides("Ctrl+End")
	s.cfg.Run = func(...string) string { return "first" + strings.Repeat("\nmore", 30) }
	s.press("/who", "enter")
	s.shows("first")
}

// A slash offers the commands; the arrows choose, Tab and Enter take one into the input.
func TestSlashMenu(t *testing.T) {
	s := newStage(t, 80, 40)
	s.hears(lethe())
	s.press("/")
	s.shows("❯ /stop ", "   /room [NAME]          look at another room", "   /quit ")
	s.press("r")
	s.shows("❯ /room [NAME]", "   /recall QUERY")
	s.hides("/stop ")
	s.press("down", "enter")
	s.shows("❯ /recall")
	s.wants()
	s.in.Reset()
	s.press("/qu", "tab")
	s.shows("❯ /quit")
	s.press(" x")
	s.hides("leave; a daemon")
	s.in.Reset()
	s.press("/nosuch")
	s.hides("/stop")
	s.in.Reset()
	s.press("/stop", "enter") // a whole command acts
	s.wants(request{say: "/stop"})
	s.press("hello", "enter", "up", "up") // from before
	s.shows("❯ /stop")
	s.hides("stop the agent's turn")
	s.press("up", "down")
	s.shows("❯ hello")
}

// Commands of the program run for the agent that listens here, and print between the lines. Names behind an @ are
// completed.
func TestCommandsOfTheProgram(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	var ran [][]string
	s.cfg.Run = func(args ...string) string {
		ran = append(ran, args)
		return "printed\x1b[2J " + args[0] + "\n"
	}
	for typed, want := range map[string]string{
		"/recall the blue door":          "recall -- lethe the blue door",
		"/compact keep what was decided": "context --compact -- lethe keep what was decided",
		"/compact":                       "context --compact -- lethe", "/context": "context --cost -- lethe",
		"/open hash=3fa9 ": "cat -- hash=3fa9",
		"/who":             "rooms -- dev",
	} {
		ran = nil
		s.press(typed, "enter")
		if len(ran) != 1 || strings.Join(ran[0], " ") != want || s.in.Value() != "" {
			t.Errorf("%q runs %q, and %q is left", typed, ran, s.in.Value())
		}
		s.shows("printed␛[2J " + ran[0][0])
	}
	s.wants() // nothing was said in the room
	s.send(printed(strings.Repeat("long ", maxInput)))
	s.press("ctrl+end")
	s.shows("… there is more")
	ran = nil
	s.press("/recall", "enter")
	s.shows("/recall needs a QUERY", "❯ /recall")
	s.in.Reset()
	s.press("thanks @l", "tab")
	s.shows("❯ thanks @lethe")
	s.press(" and @x", "tab")
	s.shows("❯ thanks @lethe and @x")
	if len(ran) > 0 {
		t.Errorf("%q ran", ran)
	}
}

func TestScrollingBack(t *testing.T) {
	s := newStage(t, 60, 24)
	var lines []message
	for i := range 60 {
		lines = append(lines, s.line(i%2 == 0, []string{"lethe", "bob"}[i%2], fmt.Sprintf("message %d.", i)))
	}
	s.send(news{Room: "dev", Agents: lethe(), Lines: lines[:50], Fresh: true})
	s.shows("message 49.")
	s.press("pgup")
	s.hides("message 49.")
	before := s.text()
	s.hears(lethe(), lines[50:]...)
	s.shows("10 new")
	if got := s.text(); strings.Split(got, "\n")[3] != strings.Split(before, "\n")[3] {
		t.Errorf("new messages moved what was being read:\n%s", got)
	}
	for range 20 {
		s.press("pgup")
	}
	s.shows("message 0.")
	for range 40 {
		s.press("pgdown")
	}
	s.shows("message 59.")
	s.hides("Ctrl+End")
	s.press("pgup", "pgup", "ctrl+end")
	s.shows("message 59.")
	s.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	s.shows("Ctrl+End")
	s.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	s.hides("Ctrl+End")
}

// A screen says that older talk is being summarised beside the talk.
func TestForgettingIsShown(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(lethe(func(a *agent) { a.Compacting = true }))
	s.shows("$1.50 │ forgetting │ deepseek-v4-pro")
}

// Nothing ticks while nothing happens.
func TestSpinnerRestsWhenIdle(t *testing.T) {
	s := newStage(t, 60, 24)
	s.hears(lethe())
	if s.spinning {
		t.Fatal("the spinner runs while nobody works")
	}
	if cmd := s.send(news{Room: "dev", Agents: lethe(writing(""))}); cmd == nil || !s.spinning {
		t.Fatal("the spinner does not start")
	}
	tick := s.spin.Tick()
	if cmd := s.send(tick); cmd == nil {
		t.Fatal("the spinner stops while somebody works")
	}
	s.hears(lethe())
	if cmd := s.send(s.spin.Tick()); cmd != nil || s.spinning {
		t.Error("the spinner goes on while nobody works")
	}
}

// The screen fits every size, whatever is on it, through any order of events.
func TestAnythingFitsAnySize(t *testing.T) {
	long := "a very long reason that nobody has thought of before and that does not fit a small screen 世界 世界"
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t, 20, 6)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 13).Draw(rt, "step") {
			case 0:
				s.send(tea.WindowSizeMsg{Width: rapid.IntRange(1, 100).Draw(rt, "w"), Height: rapid.IntRange(1, 40).Draw(rt, "h")})
			case 1:
				s.hears(lethe(writing("# head\n\n```go\nfunc 世界() {}\n```\n" + long)))
			case 2:
				s.hears(lethe(func(a *agent) { a.State, a.Error = status.Paused, long }), s.line(true, "lethe", "| a | b |\n|--|--|\n| "+long+" | x |"))
			case 3:
				s.hears(nil, s.line(false, "somebody-with-a-rather-long-name", strings.Repeat("世", 300)), s.line(false, "b", "\x1b[2J"))
			case 4:
				s.press("pgup")
			case 5:
				s.send(tea.PasteMsg{Content: long})
			case 6:
				s.press("alt+enter")
			case 7:
				s.press("ctrl+c", "/help", "enter")
			case 8:
				s.press("esc", "pgdown")
			case 9:
				s.happens(news{Agents: lethe(acting)}, heardIn("dev", 1),
					call("e4.1", "世界\x1b[2J", `{"command":"`+long+long+`"}`), events.Event{Type: events.Error, Why: long, Text: long})
			case 10:
				s.press("ctrl+o", "up", "ctrl+o")
			case 11:
				s.press("/room ")
			case 12:
				s.in.Reset()
				s.press("/", "down")
			case 13:
				s.in.Reset()
				s.hears(lethe(asking(deploy, host)))
				s.press("tab", "tab", "an answer 世界")
			}
			s.text()
		}
	})
}

func TestSmallScreensKeepTheEssentials(t *testing.T) {
	for _, size := range [][2]int{{20, 6}, {30, 8}, {40, 12}} {
		s := newStage(t, size[0], size[1])
		s.hears(lethe(), s.line(true, "lethe", "short"))
		s.press("typing")
		s.shows("short", "❯ typing", "lethe idle")
		if size[0] >= 40 {
			s.shows("4k of 100k tokens")
		}
	}
}
