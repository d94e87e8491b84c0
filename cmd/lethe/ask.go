package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/internal/durable"
	"lethe/internal/picture"
	"lethe/internal/screen"
)

// askCommand asks the identity that the first of several words names, or the one of the flags, or the default one.
func (p *program) askCommand(c call) error {
	words, once := c.args, c.is("once")
	if len(words) > 1 && p.runs.name == "" && !once {
		if id, err := p.home.Find(words[0]); err == nil {
			p.runs.name, words = id.Name, words[1:]
		}
	}
	p.timeout = c.lasts("timeout")
	if once {
		return p.askStranger(c, words)
	}
	text, err := p.question(words)
	if err != nil {
		return err
	}
	return p.ask(c, text)
}

// maxMessage bounds one message, in bytes.
const maxMessage = 16 << 20

// question is what the arguments and the pipe say. An argument @FILE attaches a file.
func (p *program) question(words []string) (_ string, err error) {
	for i, word := range words {
		if path, ok := strings.CutPrefix(word, "@"); ok && !strings.Contains(path, " ") {
			words[i], err = p.attach(path)
		}
		if err != nil {
			return "", usageError(err)
		}
	}
	text := strings.Join(words, " ")
	switch {
	case text == "" && isTerminal(p.in):
		return "", hint(usagef("what is to be asked?"), `‹ask "what is 12*7?"›`)
	case text == "-" || text == "":
		return p.readMessage("")
	}
	if f, ok := p.in.(*os.File); ok {
		if fi, err := f.Stat(); err == nil && fi.Mode()&fs.ModeNamedPipe != 0 {
			return p.readMessage(text)
		}
	}
	return asText(text)
}

// attach makes a file a blob, and returns what a line says of it.
func (p *program) attach(path string) (tag string, err error) {
	data, err := durable.ReadWhole(path, backend.MaxFile)
	store, bad := blobs.Open(p.home.Blobs())
	if err = cmp.Or(err, bad); err == nil {
		file := bridge.File{Kind: "file", Name: filepath.Base(path), Mime: picture.MediaType("", path, data)}
		_, tag, err = file.Put(store, time.Now(), p.settings.UserName(), data)
	}
	return tag, err
}

// readMessage is a text, and behind it all that comes in.
func (p *program) readMessage(text string) (string, error) {
	late := time.AfterFunc(2*time.Second, func() {
		p.note("reading standard input until it ends; < /dev/null leaves it out")
	})
	defer late.Stop()
	data, err := io.ReadAll(io.LimitReader(p.in, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if len(data) > maxMessage {
		return "", fmt.Errorf("read message: longer than %d bytes", maxMessage)
	}
	more := strings.TrimRight(string(data), "\r\n")
	if strings.TrimSpace(more) != "" && text != "" {
		text += "\n\n"
	}
	return asText(text + more)
}

func asText(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", usagef("there is nothing to ask: the text is empty")
	}
	if strings.ContainsRune(text, 0) {
		return "", hint(usagef("a picture or another binary file is no text to ask"),
			"name its path in the question, and give what it says as text")
	}
	return text, nil
}

// ask asks the identity of the flags, or the default one, which runs meanwhile.
func (p *program) ask(ctx context.Context, text string) error {
	return p.talk(ctx, func(i *host.Identity, banner string) error {
		p.tell(banner)
		return p.await(ctx, text, p.roomOf(i.Identity), i)
	})
}

// askStranger asks a new identity in a home that is removed afterwards.
func (p *program) askStranger(ctx context.Context, words []string) (err error) {
	if p.runs.name != "" {
		return usagef("--once asks a new identity; leave out --name")
	}
	dir, err := os.MkdirTemp("", "lethe-once-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if p.home, err = home.Open(dir); err != nil {
		return err
	}
	p.settings.DefaultIdentity, p.settings.Reviewer = "", config.Reviewer{}
	text, err := p.question(words)
	if err != nil {
		return err
	}
	return p.ask(ctx, text)
}

// askRoom asks whoever hears a room.
func (p *program) askRoom(ctx context.Context, text string, room string) error {
	p.look.AwaitListener(ctx, room)
	there := slices.DeleteFunc(p.look.Hearers(room), func(id home.Identity) bool {
		_, running := home.Running(id)
		return !running
	})
	if len(there) == 0 {
		return hint(fmt.Errorf("wait for an answer: nobody is listening in room %s", room), "%sstart one with: %s",
			p.nearestRoom(room), p.howToHear(room))
	}
	return p.attached(there, func(all []*host.Identity) error { return p.await(ctx, text, room, all...) })
}

// attached has f deal with identities that other processes run.
func (p *program) attached(ids []home.Identity, f func([]*host.Identity) error) error {
	h, err := host.Look(p.home, p.settings.Settings, host.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	var all []*host.Identity
	for _, id := range ids {
		all = append(all, h.Of(id))
	}
	return f(all)
}

var (
	// errTimeout: the answer was not in when the time had passed.
	errTimeout = errors.New("wait for an answer: timed out")
	// errNoAnswer: the identity took its turn and had nothing to say.
	errNoAnswer = errors.New("wait for an answer: the turn ended without one")
)

// await says the question, and prints what each of the identities answers.
func (p *program) await(ctx context.Context, text string, room string, all ...*host.Identity) error {
	if p.timeout != 0 {
		bounded, end := context.WithTimeoutCause(ctx, p.timeout, errTimeout)
		defer end()
		ctx = bounded
	}
	var asked []*host.Asked
	for _, i := range all {
		a, err := i.Ask(room)
		if errors.Is(err, host.ErrNotHeard) {
			return hint(err, "rooms are named when it starts: %s", p.howToHear(room))
		}
		if err != nil {
			return err
		}
		asked = append(asked, a)
	}
	line, err := host.Post(p.home, room, p.settings.UserName(), text)
	if err != nil {
		return err
	}
	var fault error
	answered := false
	for _, a := range asked {
		r, err := a.Await(ctx, line, p.trouble)
		answered = answered || r.Text != ""
		if errors.Is(err, host.ErrStopped) {
			err = hint(err, "start it with: %s", p.howToHear(room))
		}
		fault = errors.Join(fault, p.printReply(r), err, p.unfinished(r))
	}
	if !answered && fault == nil {
		return errNoAnswer
	}
	return fault
}

// trouble says why it takes so long.
func (p *program) trouble(e events.Event) error {
	if e.Type == events.Error {
		p.note("%s waits: %s", e.Agent, e.Text)
	}
	return nil
}

// printReply prints what was said.
func (p *program) printReply(r host.Reply) (err error) {
	switch {
	case r.Text == "":
	case p.json:
		printLine(p.out, r)
	default:
		_, err = fmt.Fprintln(p.out, screen.Sanitize(r.Text))
	}
	return err
}

// unfinished says what a reply lacks.
func (p *program) unfinished(r host.Reply) error {
	if q := r.Question; q != nil && !p.json {
		p.note("%s waits for the answer; give it with: %s", r.Name,
			p.lethe("answer %s %s", q.ID, quoted(cmp.Or(append(q.Options, "TEXT")[0], "TEXT"))))
	}
	if r.Ended != "" {
		return fmt.Errorf("wait for an answer: the turn of %s was cut off: %s", r.Name, r.Ended)
	}
	return nil
}
