package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"lethe/internal/status"
	"lethe/report"
	"lethe/spend"
)

// Row is an identity in Top.
type Row struct {
	status.Status
	Doing string    `json:"doing,omitempty"`
	Today spend.USD `json:"today_usd"` // with its children
	Limit spend.USD `json:"today_limit_usd,omitzero"`
}

// overview reads rows; what was spent only when something was.
type overview struct {
	home  report.Home
	spent report.Budgets
	lives int64 // bytes of all logs when that was read
}

// Rows reads what there is to see of the identities of a home.
func Rows(home report.Home) ([]Row, error) { return (&overview{home: home}).rows() }

func (o *overview) rows() ([]Row, error) {
	all, err := o.home.List()
	if err != nil {
		return nil, err
	}
	lives := int64(0)
	for _, id := range all {
		if fi, err := os.Stat(id.LIFE()); err == nil {
			lives += fi.Size()
		}
	}
	if lives != o.lives {
		if o.spent, err = o.home.Budgets(); err != nil {
			return nil, err
		}
		o.lives = lives
	}
	rows := []Row{}
	for _, id := range all {
		s, _ := status.Read(id.Dir) // there is none before the first run
		if s.Name, s.Self = id.Name, id.Self; !status.Alive(s.PID) {
			s.State = status.Stopped
		}
		row := Row{Status: s, Doing: doing(s, status.ReadLive(id.Dir), time.Now())}
		for _, l := range o.spent.Of(id.Self).Lines {
			if l.Of == spend.Day {
				row.Today, row.Limit = l.Spent, l.Limit
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// doing says in a row what an identity does, or what it waits for.
func doing(s status.Status, live status.Live, now time.Time) string {
	switch {
	case s.State == status.Acting && live.Output != "":
		return "runs " + oneLine(s.Tool) + ": " + lastLine(live.Output)
	case s.State == status.Acting:
		return "runs " + oneLine(s.Tool)
	case s.State == status.Thinking && !s.SilentSince.IsZero():
		return "waits: nothing from the model since " + s.SilentSince.Local().Format("15:04:05")
	case s.State == status.Thinking && live.Text != "":
		return "writes: " + lastLine(live.Text)
	case s.State == status.Thinking:
		return strings.TrimSpace("thinks " + lastLine(live.Thinking))
	case s.Error != "":
		return oneLine(s.Error)
	case len(s.Questions) > 0:
		return "asks: " + oneLine(s.Questions[0].Text) + since(s.Questions[0].Asked, now)
	case len(s.Trouble) > 0:
		return oneLine(s.Trouble[0])
	case s.State == status.Stopped:
		return ""
	case len(s.Jobs) > 0:
		return fmt.Sprintf("waits for job %d: %s", s.Jobs[0].ID, oneLine(s.Jobs[0].Command)) + since(s.Jobs[0].Began, now)
	case s.Children > 0:
		return "waits for " + count(s.Children, "child", "children")
	}
	return ""
}

// since says from when on somebody waits; a time stays what it is, so that nothing has to be drawn anew.
func since(at, now time.Time) string {
	form := "15:04"
	if now.Sub(at) > 20*time.Hour {
		form = "2 Jan 15:04"
	}
	return " · since " + at.Local().Format(form)
}

// Top shows all identities of a home until the person leaves or chooses one, which it returns. It
// begins at cfg.Self.
func Top(ctx context.Context, cfg Config, home report.Home) (chosen *Row, err error) {
	cfg = cfg.defaults()
	m := &top{now: time.Now, self: cfg.Self}
	err = play(ctx, cfg, m, 10, func(ctx context.Context, send func(any)) error {
		files, o, before := newFiles(cfg), &overview{home: home}, []Row(nil)
		return files.run(ctx, request{}, nil, func(request) error {
			files.list()
			rows, err := o.rows()
			if err == nil && (before == nil || !reflect.DeepEqual(rows, before)) {
				send(rows)
				before = rows
			}
			return err
		})
	})
	return m.chosen, err
}

// top is the state of the screen of Top.
type top struct {
	now           func() time.Time
	width, height int
	rows          []Row
	at            int
	self          string // to begin at
	chosen        *Row
}

// Init does nothing.
func (m *top) Init() tea.Cmd { return nil }

// Update applies one message.
func (m *top) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case []Row:
		m.rows = msg
		if i := slices.IndexFunc(m.rows, func(r Row) bool { return r.Self == m.self }); i >= 0 {
			m.at, m.self = i, ""
		}
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k":
			m.at--
		case "down", "j":
			m.at++
		case "enter":
			if m.at < len(m.rows) && len(m.rows[m.at].Rooms) > 0 {
				m.chosen = &m.rows[m.at]
				return m, tea.Quit
			}
		case "q", "esc", "ctrl+c", "ctrl+d":
			return m, tea.Quit
		}
	}
	m.at = max(min(m.at, len(m.rows)-1), 0)
	return m, nil
}

// head names the columns, which cells fills for an identity. What one does comes last: it may be long.
const head = "NAME          STATE      SINCE  CONTEXT          TODAY       DOES"

func (m *top) cells(r Row) string {
	mark, style := markOf(r.State)
	at, context, today := "", "", fmt.Sprintf("$%.2f", r.Today.Dollars())
	if !r.Since.IsZero() {
		at = r.Since.Local().Format("15:04")
		if m.now().Sub(r.Since) > 20*time.Hour {
			at = r.Since.Local().Format("2 Jan")
		}
	}
	if r.ContextLimit > 0 {
		context = fmt.Sprintf("%s %d/%dk", Bar(r.ContextTokens, r.ContextLimit, 8), r.ContextTokens/1000, r.ContextLimit/1000)
	}
	if r.Limit > 0 {
		today += fmt.Sprintf("/%.2f", r.Limit.Dollars())
	}
	row := ""
	for _, cell := range []struct {
		text  string
		width int
	}{{oneLine(r.Name), 14}, {style.Render(mark + " " + oneLine(r.State)), 11}, {at, 7}, {context, 17}, {today, 12}} {
		text := fit(cell.text, cell.width-1)
		row += text + strings.Repeat(" ", cell.width-lipgloss.Width(text))
	}
	return row + r.Doing
}

// View draws the screen from the state alone.
func (m *top) View() tea.View {
	v := tea.NewView("")
	v.AltScreen, v.WindowTitle = true, "lethe top"
	if m.width == 0 || m.height == 0 {
		return v
	}
	var today spend.USD
	for _, r := range m.rows {
		today += r.Today
	}
	title := bold.Render(fmt.Sprintf(" %s · $%.2f today", count(len(m.rows), "identity", "identities"), today.Dollars()))
	rows := []string{spread(title, dim.Render("↑ ↓, Enter opens, q leaves "), m.width), "", dim.Render("   " + head)}
	n := max(m.height-len(rows), 1)
	first := max(0, min(m.at-n/2, len(m.rows)-n))
	for i, r := range m.rows[first:min(first+n, len(m.rows))] {
		lead := "   "
		if first+i == m.at {
			lead = accent.Render(" ❯ ")
		}
		rows = append(rows, lead+m.cells(r))
	}
	if len(m.rows) == 0 {
		rows = append(rows, dim.Render("   no identities yet; boot one with: lethe run"))
	}
	rows = rows[:min(len(rows), m.height)]
	for i := range rows {
		rows[i] = fit(rows[i], m.width)
	}
	v.SetContent(strings.Join(rows, "\n"))
	return v
}

// PrintRows writes the table as plain text.
func PrintRows(w io.Writer, rows []Row) error {
	m := &top{now: time.Now}
	text := head + "\n"
	for _, r := range rows {
		text += strings.TrimRight(fit(xansi.Strip(m.cells(r)), 120), " ") + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
