package terminal

import (
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lethe/blobs"
	"lethe/chat"
	"lethe/home"
	"lethe/internal/status"
	"lethe/internal/test/lethetest"
	"lethe/report"
)

func topOf(width, height int, rows ...Row) *top {
	m := &top{now: func() time.Time { return today.Add(time.Hour) }}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(rows)
	return m
}

func someRows() []Row {
	ada := status.Status{Name: "ada", Self: "a", State: status.Acting, Tool: "BASH", Since: today, Rooms: []string{"dev", "ops"}, Model: "deepseek-v4-pro",
		ContextTokens: 50_000, ContextAnswer: 20_000, ContextLimit: 100_000,
		Beside: status.Beside{Triggers: []status.Trigger{{Name: "brief", Next: today.Add(2 * time.Hour)}}}}
	bob := status.Status{Name: "bob\x1b[2J 世界", Self: "b", State: status.Idle, Since: today.AddDate(0, 0, -3), Rooms: []string{"bobs"},
		Beside: status.Beside{Questions: []status.Question{{Question: chat.Question{ID: "q1", Text: "Deploy?\x1b[2J"}, Asked: today}}}}
	eve := status.Status{Name: "eve", Self: "e", State: status.Stopped}
	return []Row{
		{Status: ada, Doing: doing(ada, status.Live{Output: "ok  life\nok  mind \x1b[H\n"}, today), Today: 1_234_567, Limit: 2e6},
		{Status: bob, Doing: doing(bob, status.Live{}, today)},
		{Status: eve},
	}
}

// plainText is a view without styles.
func plainText(t *testing.T, m tea.Model, width, height int) string {
	t.Helper()
	rows := strings.Split(m.View().Content, "\n")
	if len(rows) > height {
		t.Errorf("%d rows on a screen of %d", len(rows), height)
	}
	for i, row := range rows {
		if w := lipgloss.Width(row); w > width {
			t.Errorf("row %d is %d cells wide on a screen of %d", i, w, width)
		}
		rows[i] = strings.TrimRight(stripped(t, row), " ")
	}
	return strings.Join(rows, "\n")
}

func TestTop(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	defer func() { time.Local = local }()
	m := topOf(120, 12, someRows()...)
	want := ` 3 identities · $1.23 today                                                                  ↑ ↓, Enter opens, q leaves

   NAME          STATE      SINCE  CONTEXT          TODAY       DOES
 ❯ ada           ◐ acting   12:57  ████     50/100k $1.23/2.00  runs BASH: ok mind ␛[H
   bob␛[2J 世界  ● idle     17 Nov                  $0.00       asks: Deploy?␛[2J · since 12:57
   eve           · stopped                          $0.00`
	if got := plainText(t, m, 120, 12); got != want {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	if _, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd == nil || m.chosen == nil || m.chosen.Self != "b" {
		t.Errorf("Enter chose %+v", m.chosen)
	}
	for w := 1; w < 130; w += 3 {
		for h := 1; h < 12; h++ {
			m := topOf(w, h, someRows()...)
			m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
			plainText(t, m, w, h)
		}
	}
	if got := plainText(t, topOf(40, 10, someRows()...), 40, 10); !strings.Contains(got, "❯ ada           ◐ acting   12:57  ████") {
		t.Errorf("on a small screen:\n%s", got)
	}
	if got := plainText(t, topOf(40, 10), 40, 10); !strings.Contains(got, "no identities yet") {
		t.Errorf("without identities:\n%s", got)
	}
}

func TestWhatAnIdentityDoes(t *testing.T) {
	for want, s := range map[string]status.Status{
		"waits: nothing from the model since 12:57:00": {State: status.Thinking, Beside: status.Beside{SilentSince: today.Local()}},
		"402: no money": {State: status.Paused, Error: "402:\nno money"},
		"waits for job 3: sleep 100 · since 17 Nov 12:57": {State: status.Idle, Beside: status.Beside{Jobs: []status.Job{{ID: 3, Command: "sleep 100", Began: today.AddDate(0, 0, -3)}}}},
		"waits for 2 children":                            {State: status.Idle, Beside: status.Beside{Children: 2}},
		"room ops cannot be written":                      {State: status.Idle, Beside: status.Beside{Trouble: []string{"room ops cannot be written"}}},
		"writes: and what the end was":                    {State: status.Thinking},
	} {
		got := doing(s, status.Live{Text: "how it began\nand what the end was"}, today)
		if got = strings.ReplaceAll(got, today.Local().Format("15:04"), "12:57"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Bar(1, 1_000_000, 4) != "█   " || Bar(5, 4, 4) != "████" || Bar(0, 0, 4) != "    " {
		t.Errorf("bars: %q %q %q", Bar(1, 1_000_000, 4), Bar(5, 4, 4), Bar(0, 0, 4))
	}
}

// Top reads a real home, and leaves nothing behind when the person leaves.
func TestTopOfAHome(t *testing.T) {
	home, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	h := report.Home{Home: home, Store: store}
	if rows, err := Rows(h); err != nil || rows == nil || len(rows) > 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	chosen, err := Top(t.Context(), Config{Home: home.Dir, In: strings.NewReader("q"), Out: io.Discard}, h)
	if err != nil || chosen != nil {
		t.Errorf("%+v, %v", chosen, err)
	}
}
