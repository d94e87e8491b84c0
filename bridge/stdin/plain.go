package stdin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/chat"
	"lethe/internal/status"
)

// maxMessage bounds one message of Plain, in bytes.
const maxMessage = 16 << 20

// Plain sends what it reads and prints what others say, until the input has
// ended and its answers are in.
//
// Each line of the input is a message; blank ones are skipped. Lines of others
// are printed as "name: text" as they appear, further lines of the same message
// indented. After the end of the input Plain returns when every running
// identity that hears the room has heard the last line sent and has no turn for
// the room under way: statuses say so, and an answer is in the room before they
// do. Timeout bounds that wait.
//
// With Once the whole input is one message, and only the text of what agents
// say after it is printed. If nobody listens, nothing is sent.
//
// The end of ctx is a clean end: nil, or with Once the context's error. The
// goroutine that reads In ends with In, which may be later than Plain.
func Plain(ctx context.Context, cfg Config) error {
	cfg = cfg.defaults()
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan any)
	f := newFeed(cfg, func(m any) {
		select {
		case events <- m:
		case <-ctx.Done():
		}
	})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.Run(gctx) })
	g.Go(func() error {
		defer cancel()
		p := &plain{cfg: cfg, do: f.do, own: map[int64]bool{}}
		return p.run(gctx, events)
	})
	return g.Wait()
}

// plain is the state of one run.
type plain struct {
	cfg Config
	do  func(request)

	agents   []agent
	sending  bool           // a say is not confirmed yet
	own      map[int64]bool // the ends of the lines that were sent
	last     int64          // the newest of them
	ended    bool           // the input has ended
	answered bool           // an agent said something after last
	listened bool           // somebody heard the room at the last news
	failed   string         // the last read error told
}

// input is one message to send, or how the input ended.
type input struct {
	text string
	err  error // io.EOF at a clean end
}

func (p *plain) run(ctx context.Context, events <-chan any) error {
	select {
	case e := <-events: // the room's end as it is now: what is older is not shown
		if n, ok := e.(news); ok {
			p.agents = n.Agents
			p.reportUnreadable(n.Err)
		}
	case <-ctx.Done():
		return p.interrupted(ctx)
	}
	p.listened = true
	if err := p.checkListeners(); err != nil {
		return err
	}
	lines := make(chan input)
	go p.read(ctx, lines)

	var deadline <-chan time.Time
	for {
		from := lines
		if p.sending || p.ended {
			from = nil // one at a time: the input waits for the disk
		}
		select {
		case <-ctx.Done():
			return p.interrupted(ctx)
		case in := <-from:
			switch {
			case in.err == nil:
				p.sending = true
				p.do(request{say: in.text})
			case in.err != io.EOF:
				return in.err
			default:
				p.ended = true
				if p.cfg.Timeout > 0 {
					deadline = time.After(p.cfg.Timeout)
				}
			}
		case e := <-events:
			if err := p.handle(e); err != nil {
				return err
			}
		case <-deadline:
			return ErrTimeout
		}
		if p.ended && !p.sending {
			if done, err := p.done(); done {
				return err
			}
		}
	}
}

// interrupted is a clean end, except with Once, which waits for an answer.
func (p *plain) interrupted(ctx context.Context) error {
	if p.cfg.Once {
		return context.Cause(ctx)
	}
	return nil
}

// read turns the input into messages. It ends with the input or with ctx.
func (p *plain) read(ctx context.Context, out chan<- input) {
	put := func(in input) bool {
		select {
		case out <- in:
			return true
		case <-ctx.Done():
			return false
		}
	}
	s := bufio.NewScanner(p.cfg.In)
	s.Buffer(nil, maxMessage+1)
	if p.cfg.Once {
		s.Split(whole)
	}
	empty := true
	for s.Scan() {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		if !put(input{text: s.Text()}) {
			return
		}
		empty = false
	}
	err := s.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("read message: longer than %d bytes", maxMessage)
	case err != nil:
		err = fmt.Errorf("read message: %w", err)
	case p.cfg.Once && empty:
		err = errors.New("read message: the input is empty")
	default:
		err = io.EOF
	}
	put(input{err: err})
}

// whole is a bufio.SplitFunc for one token: all there is.
func whole(data []byte, atEOF bool) (int, []byte, error) {
	if !atEOF || len(data) == 0 {
		return 0, nil, nil
	}
	return len(data), data, nil
}

// handle takes in what the feed reports.
func (p *plain) handle(e any) error {
	switch e := e.(type) {
	case sent:
		p.sending = false
		if e.Err != nil {
			return fmt.Errorf("send message: %w", e.Err)
		}
		p.own[e.To], p.last, p.answered = true, e.To, false
	case news:
		p.agents = e.Agents
		p.reportUnreadable(e.Err)
		for _, l := range e.Lines {
			if err := p.show(l); err != nil {
				return err
			}
		}
		return p.checkListeners()
	}
	return nil
}

// show prints one line of the room, unless it was sent from here.
func (p *plain) show(l message) error {
	if p.own[l.To] {
		delete(p.own, l.To)
		return nil
	}
	after := p.last > 0 && l.From >= p.last
	if l.Agent && after {
		p.answered = true
	}
	if p.cfg.Once && !(l.Agent && after) {
		return nil
	}
	var out []byte
	switch {
	case p.cfg.JSON:
		out = p.object(l)
	case p.cfg.Once:
		out = []byte(chat.Sanitize(l.Text) + "\n")
	default:
		text := strings.ReplaceAll(chat.Sanitize(l.Text), "\n", "\n  ")
		out = []byte(chat.Sanitize(l.Name) + ": " + text + "\n")
	}
	if _, err := p.cfg.Out.Write(out); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// object is one line of JSON. The control characters that encoding/json leaves
// as they are, DEL and C1, are escaped: some terminals obey them.
func (p *plain) object(l message) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Encoding strings, a bool and a time of RFC 3339 cannot fail.
	_ = enc.Encode(struct {
		Room  string    `json:"room"`
		Agent bool      `json:"agent"`
		Name  string    `json:"name"`
		At    time.Time `json:"at"`
		Text  string    `json:"text"`
	}{p.cfg.Room, l.Agent, l.Name, l.At, l.Text})
	var out strings.Builder
	for _, r := range b.String() {
		if 0x7f <= r && r <= 0x9f {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return []byte(out.String())
}

// reportUnreadable says on Err that the room cannot be read, once per reason.
func (p *plain) reportUnreadable(err error) {
	if err == nil {
		p.failed = ""
	} else if err.Error() != p.failed {
		p.failed = err.Error()
		fmt.Fprintln(p.cfg.Err, chat.Sanitize(p.failed))
	}
}

// checkListeners says on Err, at once and at each change, that no running identity
// hears the room. One that is starting may be about to.
func (p *plain) checkListeners() error {
	listened := p.listened
	p.listened = len(listeners(p.agents, p.cfg.Room, "")) > 0 || p.starting()
	if p.listened || !listened {
		return nil
	}
	err := &NobodyError{Room: p.cfg.Room, Sent: p.last != 0, Start: p.cfg.Start}
	if p.cfg.Once {
		if p.answered {
			return nil // what it said stands
		}
		return err
	}
	fmt.Fprintf(p.cfg.Err, "nobody is listening in room %s; %s\n", p.cfg.Room, err.Hint())
	return nil
}

func (p *plain) starting() bool {
	return slices.ContainsFunc(p.agents, func(a agent) bool { return a.State == status.Starting })
}

// done says whether the answers to all that was sent are in, and how it
// went.
func (p *plain) done() (bool, error) {
	if p.last == 0 {
		return true, nil // nothing was sent, nothing is owed
	}
	if p.starting() {
		return false, nil
	}
	var paused error
	for _, a := range listeners(p.agents, p.cfg.Room, "") {
		if !a.done(p.cfg.Room, p.last) {
			return false, nil
		}
		if a.State == status.Paused {
			paused = &PausedError{a.Name, a.reason()}
		}
	}
	if paused == nil && p.cfg.Once && !p.answered {
		return true, ErrNoAnswer
	}
	return true, paused
}
