package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"lethe/agent/status"
	"lethe/internal/screen"
)

// Screen is a full-screen chat in cfg.Room until the person leaves, ctx ends or
// the terminal goes away. In and Out have to be a terminal.
func Screen(ctx context.Context, cfg Config) error {
	cfg = cfg.defaults()
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	orders, fed := make(chan request, 256), make(chan error, 1)
	m := newModel(cfg, func(r request) { orders <- r })
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out), tea.WithFPS(20),
		tea.WithoutSignalHandler()) // whoever made ctx hears signals; beside it the handler can wait for ever
	go func() { // ends with ctx
		defer cancel()
		fed <- feed(ctx, cfg, orders, func(m any) { program.Send(m) })
	}()
	_, err := program.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil // the end of ctx is a way to leave
	}
	cancel()
	if failed := <-fed; failed != nil {
		return failed
	}
	return err
}

// A room opens with its last history lines.
const history = 2000

// model is the state of the screen. It does no I/O: what it wants done goes
// through do, what happened comes back as messages.
type model struct {
	cfg Config
	do  func(request)
	now func() time.Time

	width, height int
	log           transcript
	in            textarea.Model
	spin          spinner.Model
	spinning      bool

	room    string
	rooms   []string // of the home
	agents  []agent  // that run, anywhere in the home
	typed   typed
	pastes  []folded // whose labels stand in the input
	notice  string   // answers the last act, until the next key
	leaving bool     // Ctrl+C was pressed once
	stopped bool     // /stop was sent for the turn under way
	answers string   // the id of the question that Tab has opened
	item    int      // the chosen row of the menu
	roomErr error
	banner  string // to be shown
}

func (m *model) Init() tea.Cmd { return m.in.Focus() }

func newModel(cfg Config, do func(request)) *model {
	screen := &model{cfg: cfg, do: do, now: time.Now, room: cfg.Room, banner: cfg.Banner}
	screen.log.reset(nil)
	screen.log.me = cfg.User
	screen.spin = spinner.New(spinner.WithSpinner(spinner.MiniDot))
	in := textarea.New()
	in.ShowLineNumbers, in.DynamicHeight = false, true
	in.CharLimit, in.MinHeight, in.MaxContentHeight = 0, 1, 10_000
	in.SetVirtualCursor(false) // the terminal's own: it blinks without us
	in.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "❯ "
		}
		return "  "
	})
	in.KeyMap.InsertNewline.SetKeys("ctrl+j", "alt+enter", "shift+enter")
	s := textarea.DefaultStyles(true)
	s.Focused.CursorLine, s.Focused.Prompt, s.Focused.Selection = unstyled, accent, unstyled.Reverse(true)
	in.SetStyles(s)
	screen.in = in
	return screen
}

// Update applies one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.in.MaxHeight = max(min(6, m.height/3), 1)
		m.in.SetWidth(max(m.width, 4))
		m.in, _ = m.in.Update(nil) // it scrolls to its cursor only in Update
	case news:
		m.apply(msg)
	case printed:
		m.print(string(msg))
	case unsent:
		m.notice = "not sent: " + oneLine(msg.Err.Error())
		if m.in.Value() == "" {
			m.setInput(msg.Text)
		}
	case spinner.TickMsg:
		if m.spinning = m.busy(); m.spinning {
			m.spin, cmd = m.spin.Update(msg)
		}
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.log.scroll(-3)
		case tea.MouseWheelDown:
			m.log.scroll(3)
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		cmd = m.paste(msg.Content)
	default:
		m.in, cmd = m.in.Update(msg)
	}
	m.arrange()
	if m.busy() && !m.spinning {
		m.spinning = true
		cmd = tea.Batch(cmd, m.spin.Tick)
	}
	return m, cmd
}

// print shows the output of a command of the program.
func (m *model) print(output string) {
	text := strings.TrimRight(output, "\n")
	if len(text) > maxInput {
		text = text[:maxInput] + "\n… there is more: run the command outside of the chat"
	}
	m.note(text)
}

// note shows text of the screen's own, from its beginning.
func (m *model) note(text string) {
	m.log.note(text, m.now())
	m.log.begin()
}

// apply shows the news of the files.
func (m *model) apply(latest news) {
	if latest.Room != m.room {
		return // from before the room was changed
	}
	m.roomErr, m.agents, m.rooms = latest.Err, latest.Agents, latest.Rooms
	if latest.Fresh {
		m.log.reset(latest.Lines)
		if m.banner != "" {
			m.log.note(m.banner, m.now())
			m.banner = ""
		}
		m.typed = typed{} // again, what this person said before
		for _, l := range latest.Lines {
			if !l.Agent && l.Name == m.cfg.User {
				m.typed.add(screen.Sanitize(newlines.Replace(l.Text)))
			}
		}
	} else {
		for _, l := range latest.Lines {
			m.log.add(l)
		}
	}
	m.tell(latest)
	if !m.busy() {
		m.stopped = false
	}
	m.log.live = m.replies()
}

// tell shows the acts of the agents, and the output of the acts that run.
func (m *model) tell(latest news) {
	m.log.several = len(m.here()) > 1
	for _, e := range latest.Acts {
		m.log.tell(m.room, e)
	}
	if len(latest.Acts) > 0 {
		m.log.trim()
	}
	outputs := map[string]status.Live{}
	for _, a := range m.agents {
		outputs[a.Name] = a.Live
	}
	m.log.progress(outputs)
}

// replies returns a block for each reply that is being written for this room and does not stand in it yet.
func (m *model) replies() (live []block) {
	for _, who := range m.agents {
		text := strings.TrimSpace(who.Live.Text)
		writes := who.State == status.Thinking && slices.Contains(who.Answering, m.room)
		if text == "" || !writes {
			continue
		}
		if m.log.has(who.Name, text) {
			continue
		}
		l := message{Agent: true, Name: who.Name, Text: text, At: who.Since}
		live = append(live, block{message: l, raw: len(text) > maxLiveMarkdown})
	}
	return live
}

// here are the agents that listen in the viewed room.
func (m *model) here() []agent { return listeners(m.agents, m.room, m.cfg.Self) }

func (m *model) busy() bool {
	return slices.ContainsFunc(m.agents, func(a agent) bool { return a.BusyIn(m.room) })
}
