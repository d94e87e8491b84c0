package stdin

import (
	"cmp"
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

	"lethe/budget"
	"lethe/internal/status"
	"lethe/report"
)

// Row is what Top shows of an identity.
type Row struct {
	status.Status
	Doing string     `json:"doing,omitempty"`
	Today budget.USD `json:"today_usd"` // with its children
	Limit budget.USD `json:"today_limit_usd,omitzero"`
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
			if l.Of == budget.Day {
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
		return oneLine(s.Tool) + ": " + lastLine(live.Output)
	case s.State == status.Acting:
		return oneLine(s.Tool)
	case s.State == status.Thinking && !s.SilentSince.IsZero():
		return "waits: nothing from the model since " + s.SilentSince.Local().Format("15:04:05")
	case s.State == status.Thinking && live.Text != "":
		return "writes: " + lastLine(live.Text)
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
		case "enter", "ctrl+m":
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

// column is one of the table, which is there where the screen is wide enough.
type column struct {
	head  string
	cells int
	least int // width of the screen
	text  func(r Row) string
}

func (m *top) columns() []column {
	all := []column{
		{"NAME", 14, 0, func(r Row) string { return bold.Render(fit(oneLine(r.Name), 14)) }},
		{"STATE", 11, 0, func(r Row) string { mark, style := markOf(r.State); return style.Render(mark + " " + oneLine(r.State)) }},
		{"SINCE", 7, 60, func(r Row) string {
			form := "15:04"
			if r.Since.IsZero() {
				return ""
			} else if m.now().Sub(r.Since) > 20*time.Hour {
				form = "2 Jan"
			}
			return dim.Render(r.Since.Local().Format(form))
		}},
		{"CONTEXT", 17, 90, func(r Row) string {
			if r.ContextLimit == 0 {
				return ""
			}
			used, all := r.ContextTokens-r.ContextAnswer, r.ContextLimit-r.ContextAnswer
			return Bar(used, all, 8) + dim.Render(fmt.Sprintf(" %d/%dk", used/1000, all/1000))
		}},
		{"TODAY", 12, 70, func(r Row) string {
			if r.Limit > 0 {
				return fmt.Sprintf("$%.2f/%.2f", r.Today.Dollars(), r.Limit.Dollars())
			}
			return fmt.Sprintf("$%.2f", r.Today.Dollars())
		}},
		{"DOES", 0, 0, func(r Row) string { return r.Doing }},
	}
	return slices.DeleteFunc(all, func(c column) bool { return m.width < c.least })
}

// View draws the screen from the state alone.
func (m *top) View() tea.View {
	v := tea.NewView("")
	v.AltScreen, v.WindowTitle = true, "lethe top"
	if m.width == 0 || m.height == 0 {
		return v
	}
	today, working := budget.USD(0), 0
	for _, r := range m.rows {
		today += r.Today
		if r.State == status.Thinking || r.State == status.Acting {
			working++
		}
	}
	columns := m.columns()
	head := fmt.Sprintf(" %s, %d at work · $%.2f today", count(len(m.rows), "identity", "identities"), working, today.Dollars())
	rows := []string{spread(bold.Render(head), dim.Render("↑ ↓, Enter opens, q leaves "), m.width), "", dim.Render("   " + table(columns, func(c column) string { return c.head }))}
	n := max(m.height-len(rows)-3, 1)
	first := max(0, min(m.at-n/2, len(m.rows)-n))
	for i, r := range m.rows[first:min(first+n, len(m.rows))] {
		lead := "   "
		if first+i == m.at {
			lead = accent.Render(" ❯ ")
		}
		rows = append(rows, lead+table(columns, func(c column) string { return c.text(r) }))
	}
	if len(m.rows) == 0 {
		rows = append(rows, dim.Render("   no identities yet; boot one with: lethe run"))
	} else {
		r := m.rows[m.at]
		rows = append(rows, "")
		rows = append(rows, wrap(" "+dim.Render(oneLine(strings.Join(append([]string{r.Name, cmp.Or(r.Model, "no model yet"), "in " + strings.Join(r.Rooms, ", ")}, r.Brief(m.now())...), " · "))), m.width)...)
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
	m := &top{now: time.Now, width: 120}
	text := table(m.columns(), func(c column) string { return c.head }) + "\n"
	for _, r := range rows {
		text += strings.TrimRight(xansi.Strip(table(m.columns(), func(c column) string { return c.text(r) })), " ") + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// table is a row of cells.
func table(columns []column, text func(column) string) (row string) {
	for _, c := range columns {
		cell := text(c)
		if c.cells > 0 {
			cell = fit(cell, c.cells-1)
			cell += strings.Repeat(" ", c.cells-lipgloss.Width(cell))
		}
		row += cell
	}
	return row
}
