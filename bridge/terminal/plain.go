package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lethe/agent/status"
	"lethe/internal/screen"
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
// The end of ctx is a clean end. The
// goroutine that reads In ends with In, which may be later than Plain.
func Plain(ctx context.Context, cfg Config) error {
	cfg = cfg.defaults()
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := &plain{cfg: cfg, files: newFiles(cfg), own: map[string]int{}, listened: true}
	orders := make(chan request)
	put := func(r request) {
		select {
		case orders <- r:
		case <-ctx.Done():
		}
	}
	go func() { // ends with the input or with ctx
		put(request{end: read(ctx, cfg.In, func(text string) { put(request{say: text}) })})
		if cfg.Timeout > 0 {
			time.AfterFunc(cfg.Timeout, func() { put(request{end: errTimeout}) })
		}
	}()
	err := run.files.run(ctx, request{room: cfg.Room}, orders, run.look)
	if err == errDone {
		return nil
	}
	return err
}

// plain is the state of one run.
type plain struct {
	cfg   Config
	files *files

	agents   []agent
	own      map[string]int // lines that were sent and not read yet, by their hashes
	last     int64          // the end of the last one that was read
	ended    bool           // the input
	listened bool           // somebody heard the room at the last news
	failed   string         // why the room could not be read at the last look
}

// errDone says that the answers to all that was sent are in.
var errDone = errors.New("done")

// look carries out an order, and shows the news.
func (p *plain) look(order request) error {
	switch {
	case order.room != "":
		p.files.open(order.room)
	case order.say != "":
		line, err := p.files.say(order.say)
		if err != nil {
			return fmt.Errorf("send message: %w", err)
		}
		p.own[line.Hash]++
	case order.end == io.EOF:
		p.ended = true
	case order.end != nil:
		return order.end
	}
	latest, _ := p.files.look()
	if order.room != "" {
		latest.Lines = nil // what is older is not shown
	}
	p.agents = latest.Agents
	failed := fmt.Sprint(latest.Err)
	if latest.Err != nil && failed != p.failed { // once per reason
		fmt.Fprintln(p.cfg.Err, screen.Sanitize(failed))
	}
	p.failed = failed
	for _, l := range latest.Lines {
		if err := p.show(l); err != nil {
			return err
		}
	}
	p.checkListeners()
	if !p.ended {
		return nil
	}
	return p.done()
}

// read calls say with each message of an input until that or ctx ends. It returns io.EOF at a clean end.
func read(ctx context.Context, in io.Reader, say func(text string)) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxMessage+1)
	for ctx.Err() == nil && scanner.Scan() {
		if strings.TrimSpace(scanner.Text()) != "" {
			say(scanner.Text())
		}
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("read message: longer than %d bytes", maxMessage)
	case err != nil:
		return fmt.Errorf("read message: %w", err)
	}
	return io.EOF
}

// show prints one line of the room, unless it was sent from here.
func (p *plain) show(line message) error {
	if p.own[line.Hash] > 0 {
		p.last = line.To
		if p.own[line.Hash]--; p.own[line.Hash] == 0 {
			delete(p.own, line.Hash)
		}
		return nil
	}
	text := screen.Sanitize(line.Name + ": " + withFiles(line) + howToAnswer(line))
	out := []byte(strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	if p.cfg.JSON {
		out = screen.JSON(struct {
			Room  string    `json:"room"`
			Agent bool      `json:"agent"`
			Name  string    `json:"name"`
			At    time.Time `json:"at"`
			Text  string    `json:"text"`
		}{p.cfg.Room, line.Agent, line.Name, line.At, line.Text})
	}
	if _, err := p.cfg.Out.Write(out); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// checkListeners says on Err, at once and at each change, that no running identity
// hears the room. One that is starting may be about to.
func (p *plain) checkListeners() {
	listened := p.listened
	p.listened = len(listeners(p.agents, p.cfg.Room, "")) > 0 || p.starting()
	if listened && !p.listened {
		fmt.Fprintf(p.cfg.Err, "nobody is listening in room %s; start one with: %s\n", p.cfg.Room, p.cfg.Start)
	}
}

func (p *plain) starting() bool {
	return slices.ContainsFunc(p.agents, func(a agent) bool { return a.State == status.Starting })
}

// done is errDone, or a better reason to end, when the answers to all that was sent are in.
func (p *plain) done() error {
	if p.last+int64(len(p.own)) == 0 {
		return errDone // nothing was sent, nothing is owed
	}
	if p.starting() {
		return nil
	}
	end, hearers := errDone, listeners(p.agents, p.cfg.Room, "")
	if len(hearers) > 0 && len(p.own) > 0 { // other hosts have not been told yet
		return nil
	}
	for _, who := range hearers {
		if !who.done(p.cfg.Room, p.last) {
			return nil
		}
		if who.State == status.Paused {
			end = fmt.Errorf("wait for an answer: %s is paused: %s", who.Name, oneLine(who.Error))
		}
	}
	return end
}
