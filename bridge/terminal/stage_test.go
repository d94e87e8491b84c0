package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lethe/agent/status"
)

var today = time.Date(2026, 11, 20, 12, 57, 0, 0, time.UTC)

// stage is a screen without a terminal.
type stage struct {
	*model
	t        testing.TB
	requests []request
	quit     bool
	at       int64 // where the next line of the room starts
}

func newStage(t testing.TB, width, height int) *stage {
	t.Helper()
	s := &stage{t: t}
	cfg := Config{Room: "dev", User: "ada", Banner: "welcome"}.defaults()
	s.model = newModel(cfg, func(r request) { s.requests = append(s.requests, r) })
	s.now = func() time.Time { return today.Add(time.Minute) }
	s.Init()
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func (s *stage) send(msg tea.Msg) tea.Cmd {
	_, cmd := s.Update(msg)
	return cmd
}

// hears delivers news of the viewed room.
func (s *stage) hears(agents []agent, lines ...message) {
	s.send(news{Room: s.room, Agents: agents, Rooms: []string{"dev", "ops"}, Lines: lines})
}

func (s *stage) line(isAgent bool, name, text string) message {
	s.at += 100
	return message{Agent: isAgent, Tagged: true, Name: name, Text: text, From: s.at - 100, To: s.at,
		At: today.Add(time.Duration(s.at) * time.Second)}
}

var keys = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	"shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
	"esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl},
	"tab": {Code: tea.KeyTab}, "ctrl+o": {Code: 'o', Mod: tea.ModCtrl}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	"ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "home": {Code: tea.KeyHome},
	"backspace": {Code: tea.KeyBackspace},
}

// press types keys by name; anything else letter by letter.
func (s *stage) press(names ...string) {
	for _, name := range names {
		if k, ok := keys[name]; ok {
			s.key1(k)
			continue
		}
		for _, r := range name {
			s.key1(tea.Key{Code: r, Text: string(r)})
		}
	}
}

func (s *stage) key1(k tea.Key) {
	cmd := s.send(tea.KeyPressMsg(k))
	if cmd == nil || s.busy() { // a busy screen's command is the spinner's
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		s.quit = true
	case printed:
		s.send(msg)
	}
}

// text is the screen without styles; it fails when that does not fit.
func (s *stage) text() string {
	s.t.Helper()
	v := s.View()
	rows := strings.Split(v.Content, "\n")
	if len(rows) > s.height {
		s.t.Errorf("%d rows on a screen of %d", len(rows), s.height)
	}
	for i, row := range rows {
		if w := lipgloss.Width(row); w > s.width {
			s.t.Errorf("row %d is %d cells wide on a screen of %d: %q", i, w, s.width, row)
		}
		rows[i] = strings.TrimRight(stripped(s.t, row), " ")
	}
	if c := v.Cursor; c != nil && (c.X < 0 || c.X >= max(s.width, 4) || c.Y < 0 || c.Y >= s.height) {
		s.t.Errorf("the cursor is at %d,%d of %dx%d", c.X, c.Y, s.width, s.height)
	}
	return strings.Join(rows, "\n")
}

func (s *stage) shows(want ...string) { s.t.Helper(); s.contains(true, want) }
func (s *stage) hides(not ...string)  { s.t.Helper(); s.contains(false, not) }

func (s *stage) contains(want bool, parts []string) {
	s.t.Helper()
	text := s.text()
	for _, part := range parts {
		if strings.Contains(text, part) != want {
			s.t.Errorf("the screen has %q: %v:\n%s", part, !want, text)
		}
	}
}

func (s *stage) wants(want ...request) {
	s.t.Helper()
	if fmt.Sprint(s.requests) != fmt.Sprint(want) {
		s.t.Errorf("the screen asked for %+v, want %+v", s.requests, want)
	}
	s.requests = nil
}

func lethe(change ...func(*agent)) []agent {
	a := agent{Status: status.Status{Name: "lethe", Self: "51c0", State: status.Idle, Rooms: []string{"dev"},
		Model: "deepseek-v4-pro", ContextTokens: 12_400, ContextAnswer: 8_192, ContextLimit: 100_000, CostUSD: 1.5, Since: today, Turn: 1}}
	for _, c := range change {
		c(&a)
	}
	return []agent{a}
}

func writing(text string) func(*agent) {
	return func(a *agent) { a.State, a.Answering, a.Live.Text = status.Thinking, []string{"dev"}, text }
}
