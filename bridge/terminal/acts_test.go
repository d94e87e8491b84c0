package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/blobs"
)

// happens delivers what happened to lethe, a second each.
func (s *stage) happens(change news, all ...events.Event) {
	change.Room, change.Rooms = s.room, s.rooms
	for _, e := range all {
		s.at += 100
		if e.Agent = "lethe"; e.At.IsZero() {
			e.At = today.Add(time.Duration(s.at) * time.Second)
		}
		change.Acts = append(change.Acts, ownEvent{change.Fresh, e})
	}
	s.send(change)
}

func call(entry, tool, args string) events.Event {
	return events.Event{Type: events.ToolRequest, Turn: 1, Entry: entry, Call: events.Call{Tool: tool, Args: json.RawMessage(args)}}
}

func heardIn(room string, turn int) events.Event {
	return events.Event{Type: events.UserMessage, Turn: turn, Room: room}
}

// rows are the rows of the screen that are not blank, between the header and the input.
func (s *stage) rows() (rows []string) {
	for _, row := range strings.Split(s.text(), "\n") {
		if row = strings.TrimSpace(row); row != "" {
			rows = append(rows, row)
		}
	}
	return rows[1 : len(rows)-3]
}

func (s *stage) wantRows(want ...string) {
	s.t.Helper()
	if got := s.rows(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var acting = func(a *agent) {
	a.State, a.Tool, a.Answering = status.Acting, "BASH", []string{"dev"}
	a.Live = status.Live{Call: "e4.1", Output: "ok  lethe/life\nok  lethe/mind\x1b[2J\n"}
}

// What happens stands between what is said; a key opens it, and it shows what comes while it runs.
func TestActs(t *testing.T) {
	s := newStage(t, 80, 24)
	s.hears(lethe(acting), s.line(false, "ada", "test it"))
	s.happens(news{Agents: lethe(acting)}, heardIn("dev", 1),
		events.Event{Type: events.Reminded, Turn: 1, Memory: events.Memory{Refs: []blobs.Ref{{Hash: "3fa9c0d2e1b4a5f6", Gist: "the tests"}}}},
		call("e4.1", "BASH", `{"background":"1","command":"go test ./…\ngo vet","seconds":60}`))
	s.wantRows("─────────────────────────── Friday 20 November 2026 "+
		"────────────────────────────", "ada 12:58", "test it",
		"was reminded of: the tests",
		"↳ BASH go test ./… go vet background=1 seconds=60 · …",
		s.spin.View()+" lethe runs BASH: ok lethe/mind␛[2J 1m0s · Esc stops")

	s.press("ctrl+o")
	s.shows("      command: go test ./…", "      go vet", "ok  lethe/mind␛[2J", "the tests: lethe cat 3fa9c0d2e1b4a5f6",
		"Ctrl+O hides them")
	result := events.Event{Type: events.ToolResult, Turn: 1, Entry: "e4.1", Text: "FAIL", Hash: "99", Cut: true}
	result.Tool, result.Status = "BASH", "error"
	s.happens(news{Agents: lethe()}, result)
	s.shows("· error 1m40s", "FAIL", "… all of it: lethe cat 99")
	s.press("ctrl+o")
	s.hides("FAIL", "command:")

	for want, e := range map[string]events.Event{
		"let go 21 entries, 41k → 9800 tokens": {Type: events.Forgot, Why: "full", Memory: events.Memory{
			Before: 41_234, After: 9_800, Faded: []events.Fade{{First: 1, Last: 21, Was: "live"}}}},
		"opened: the tests":              {Type: events.Opened, Text: "the tests", Hash: "3fa9c0d2e1"},
		"somebody edited self/MEMORY.md": {Type: events.FileChanged, Call: events.Call{Path: "self/MEMORY.md"}},
		"error: model · no ␛[2J answer":  {Type: events.Error, Why: "model", Text: "no \x1b[2J\nanswer"},
		"✂ cut off by /stop: not posted": {Type: events.MessageDone, Outcome: events.Outcome{Status: "stopped"}, Text: "half an"},
	} {
		s.happens(news{Agents: lethe()}, e)
		s.shows(want)
	}
	elsewhere := call("e6.1", "SAY", `{"text":"elsewhere"}`)
	elsewhere.Turn = 2
	s.happens(news{Agents: lethe()}, heardIn("ops", 2), elsewhere)
	s.hides("elsewhere")
}

// What is opened of a call that changes a file is the change.
func TestChanges(t *testing.T) {
	s := newStage(t, 60, 30)
	s.hears(lethe(acting), s.line(false, "ada", "mend it"))
	s.happens(news{Agents: lethe(acting)}, heardIn("dev", 1),
		call("e4.1", "EDIT_FILE", `{"path":"a.go","old":"one\ntwo\u001b[2J\nthree","new":"one\n2\nthree"}`),
		call("e4.2", "WRITE_FILE", `{"path":"b.md","content":"- fresh"}`),
		call("e4.3", "BASH", `{"command":"echo\n+no diff"}`), call("e4.4", "WRITE_FILE", `{"path":"c","content":"cut o`))
	s.hides("+2")
	s.press("ctrl+o")
	s.shows("      a.go\n      @@ -1,3 +1,3 @@\n       one\n      -two␛[2J\n      +2\n       three",
		"      b.md\n      @@ -0,0 +1,1 @@\n      +- fresh")
	screen := s.View().Content
	for row, want := range map[string]bool{good.Render("+2"): true, bad.Render("-two␛[2J"): true,
		good.Render("+- fresh"): true, good.Render("+no diff"): false} {
		if strings.Contains(screen, row) != want {
			t.Errorf("the screen has %q: %v", row, !want)
		}
	}
}

// A call whose process has died has no result.
func TestActOfADeadProcess(t *testing.T) {
	s := newStage(t, 80, 24)
	s.happens(news{Agents: lethe(acting)}, call("e4.1", "BASH", `{}`))
	s.shows("↳ BASH · …")
	s.hears(nil)
	s.shows("↳ BASH · no result yet")
	s.happens(news{Agents: lethe()}, events.Event{Type: events.ToolResult, Entry: "e4.1", Outcome: events.Outcome{Status: "interrupted"}})
	s.shows("↳ BASH · interrupted\n")
}

// Old acts stand behind their lines; what is older than the lines is left out.
func TestOldActs(t *testing.T) {
	s := newStage(t, 80, 24)
	first, second := s.line(false, "ada", "first"), s.line(false, "ada", "second")
	s.now = func() time.Time { return today.Add(time.Hour) }
	lost, early, late := call("e1.1", "LOST", "{}"), call("e2.1", "EARLY", "{}"), call("e3.1", "LATE", "{}")
	lost.At, early.At, late.At = first.At.Add(-time.Second), first.At.Add(time.Millisecond), second.At.Add(time.Second)
	s.happens(news{Agents: lethe(), Fresh: true, Lines: []message{first, second}}, lost, heardIn("dev", 2), early, late)
	s.hides("LOST")
	s.wantRows("─────────────────────────── Friday 20 November 2026 "+
		"────────────────────────────", "ada 12:58", "first", "↳ EARLY · …",
		"ada 13:00", "second", "↳ LATE · …", "welcome")
}

// What a line of the room tells is not told twice.
func TestCallsThatSpeak(t *testing.T) {
	s := newStage(t, 80, 24)
	s.happens(news{Agents: lethe()}, call("e1.1", "WAIT", `{"question":"Deploy?"}`),
		call("e1.2", "SAY", `{"room":"dev","message":"hi"}`), call("e1.3", "SAY", `{"room":"ops","message":"ho"}`))
	s.wantRows("↳ SAY ops ho · …")
}

// Where several hear the room, each row says who.
func TestActsOfSeveral(t *testing.T) {
	s := newStage(t, 80, 24)
	all := append(lethe(acting), lethe(func(a *agent) { a.Name, a.Self = "bob", "b0b" })...)
	s.happens(news{Agents: all}, call("e4.1", "BASH", `{"command":"ls"}`), events.Event{Type: events.Opened, Text: "the tests", Hash: "3fa9"})
	s.shows("   lethe ↳ BASH ls · …", "   lethe opened: the tests", "lethe runs BASH: ok lethe/mind␛[2J")
}

// Scrolled back, Ctrl+O leaves what stands highest on the screen where it is. A call that its row tells
// whole is not told again.
func TestOpenWhereOneReads(t *testing.T) {
	s := newStage(t, 60, 20)
	for i := range 40 {
		l := s.line(false, "ada", fmt.Sprint("line", i))
		s.hears(lethe(), l)
		s.happens(news{Agents: lethe()}, heardIn("dev", i), call(fmt.Sprintf("e%d.1", i), "BASH", `{"command":"ls"}`),
			events.Event{Type: events.ToolResult, Entry: fmt.Sprintf("e%d.1", i), Outcome: events.Outcome{Status: "ok"},
				Text: strings.Repeat("a file\n", 100), Hash: "3fa9"})
	}
	s.press("pgup", "pgup")
	before := s.rows()
	s.press("ctrl+o")
	if open := s.rows(); open[0] != before[0] || !strings.Contains(strings.Join(open, "\n"), "a file\na file") {
		t.Errorf("the highest row is not what it was:\n%s\nbefore:\n%s", strings.Join(open, "\n"), before[0])
	}
	s.press("ctrl+o")
	s.wantRows(before...)
	s.press("ctrl+o", "ctrl+end")
	s.hides("command:")
	s.shows("      a file", "      …")
}
