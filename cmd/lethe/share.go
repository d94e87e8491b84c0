package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/chat"
)

// others are the hosts that share the home.
func (p *program) others() (*hosts.Shared, error) {
	if p.shared == nil {
		err := usagef("this home is on one host alone")
		return nil, hint(err, "[share] url in %s says where it is shared; docs/machines.md", config.File(p.home.Dir))
	}
	return p.shared, nil
}

// besideHosts runs f, and as long as it lasts shares the rooms with other hosts, if there are any and no daemon does so here.
// If it attends, it says that this host is there, and ends when that is drained.
func (p *program) besideHosts(ctx context.Context, attends bool, f func(context.Context) error) error {
	if p.shared == nil {
		return f(ctx)
	}
	watcher := chat.NewWatcher(0, p.logTo(p.err))
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: p.home.Chats()})
	defer cancel()
	return besideWatcher(ctx, watcher, func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { // ends with ctx
			err := p.shared.Follow(ctx, changed, attends)
			if errors.Is(err, hosts.ErrDrained) {
				p.note("%v", err)
				end()
				err = nil
			}
			done <- err
		}()
		err := f(ctx)
		end()
		return errors.Join(err, <-done)
	})
}

// refresh brings what other hosts have said, if there are any.
func (p *program) refresh(ctx context.Context) {
	if p.shared == nil {
		return
	}
	if err := p.shared.Refresh(ctx); err != nil {
		p.note("what is said here waits, and what other hosts have said is missing: %v", err)
	}
}

// takeCommand has a life go on at this host.
func (p *program) takeCommand(c call) error {
	s, err := p.others()
	if err != nil {
		return err
	}
	id, err := s.Take(c, c.arg(0))
	if err != nil {
		return err
	}
	p.event("took", id)
	p.note("it goes on here: %s", p.howToRun(id, ""))
	return nil
}

func (p *program) hostsCommand(c call) error {
	s, err := p.others()
	if err != nil {
		return err
	}
	all, err := s.Hosts(c)
	return p.words("hosts", all, err)
}

// drainCommand asks a host to leave its lives to others.
func (p *program) drainCommand(c call) error {
	s, err := p.others()
	if err == nil {
		err = s.Drain(c, c.arg(0))
	}
	if err == nil {
		p.note("asked %s; lethe hosts tells where its lives go on", c.arg(0))
	}
	return err
}

// restoreCommand makes a home of what is stored of one.
func (p *program) restoreCommand(c call) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hint(usagef("restore: %s is there already", dir), "name a new directory with --home")
	}
	var at time.Time
	if text := c.text("at"); text != "" {
		m, err := report.ParseMoment(text, time.Now())
		if err == nil && m.At.IsZero() {
			err = usagef("restore --at: %q is no time; write 2026-11-20 or 2026-11-20T12:57", text)
		}
		if err != nil {
			return err
		}
		at = m.At
	}
	here, err := p.restoreInto(c, dir, at)
	if err != nil && here == 0 {
		err = errors.Join(err, os.RemoveAll(dir)) // it is no home
	}
	return err
}

// restoreInto returns how many identities are here now.
func (p *program) restoreInto(c call, dir string, at time.Time) (here int, err error) {
	conf := hosts.Config{URL: c.arg(0), Plain: c.is("plain")}
	if !conf.Plain {
		key, err := p.keyToStore(c, c.text("key"))
		if err == nil {
			err = hosts.PutKey(dir, key)
		}
		if err != nil {
			return 0, err
		}
	}
	h, err := home.Open(dir)
	if err != nil {
		return 0, err
	}
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return 0, err
	}
	return p.restore(c, &h, store, conf, at)
}

func (p *program) restore(
	c context.Context, h *home.Home, store *blobs.Store, conf hosts.Config, at time.Time,
) (here int, err error) {
	s := hosts.New(h, conf, store, p.logTo(p.err))
	defer s.Close()
	tell := func(r hosts.Restored) {
		if r.Here {
			here++
			p.event("restored", h.Identity(r.Self, r.Name))
		} else {
			p.warn("%s: %s", r.Name, r.Why)
		}
	}
	if !at.IsZero() {
		if err := s.RestoreAt(c, store, at, tell); err != nil {
			return here, err
		}
		p.note("this home is as it was at %s, and shares nothing: its hosts go on with theirs", p.at(at))
		return here, os.RemoveAll(filepath.Join(h.Dir, "share"))
	}
	settings := map[string]any{"share.url": conf.URL}
	if conf.Plain {
		settings["share.plain"] = true
	}
	err = config.Set(h.Dir, settings)
	if err == nil {
		err = s.Restore(c, tell)
	}
	return here, err
}

// keyToStore reads the key that opens a store: from a file, or as a person types it.
func (p *program) keyToStore(ctx context.Context, file string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return p.typed(p.err, "The key of the home, as it stands in its share.key (not shown): ", true)
}
