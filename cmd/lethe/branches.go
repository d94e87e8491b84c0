package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/internal/screen"
	"lethe/mind"
)

// then is an identity, and how it was at a moment.
func (p *program) then(who, moment string) (id home.Identity, then home.Then, err error) {
	m, err := report.ParseMoment(moment, time.Now())
	if err != nil {
		return id, then, err
	}
	if id, err = p.find(who); err == nil {
		then, err = home.At(id, p.look.Store, m)
	}
	return id, then, err
}

func (p *program) forkCommand(c call) error {
	id, then, err := p.then(c.arg(0), c.text("at"))
	if err != nil {
		return err
	}
	name, rooms := cmp.Or(c.text("name"), p.freeName(id)), c.list("room")
	if err := cmp.Or(checkRooms(rooms...), checkName(name)); err != nil {
		return err
	}
	fork, today, err := home.Fork(p.home, p.look.Store, id, then, home.BootOptions{Name: name, Rooms: rooms})
	if errors.Is(err, home.ErrExists) {
		return hint(err, "name it otherwise with --name")
	}
	if err != nil {
		return err
	}
	made := object{"name": fork.Name, "self": fork.Self, "of": id.Self, "today": today}
	return p.show(made, nil, func() error {
		if len(today) > 0 {
			p.note("%s: as they are today; how they were at that moment is not known", strings.Join(today, ", "))
		}
		p.note("run it with: %s", p.howToRun(fork, ""))
		_, err := fmt.Fprintf(p.out, "forked %s %s\n", fork.Self, fork.Name)
		return err
	})
}

// freeName is the first of ada-2, ada-3, … that no identity has.
func (p *program) freeName(id home.Identity) string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%.28s-%d", id.Name, n)
		if _, err := os.Lstat(filepath.Join(p.home.Names(), name)); err != nil {
			return name
		}
	}
}

// branchCommand gives a moment a label, or has a life go back.
func (p *program) branchCommand(c call) error {
	label, to := c.arg(1), c.text("to")
	switch {
	case label == "" && to == "":
		return usagef("nothing to do: give a label, or with --to a moment to go back to")
	case label != "" && !report.ValidLabel(label):
		return usagef("%q is not a label: a lower-case letter, then up to 31 of a-z, 0-9, - and _, "+
			"and no other way to say a moment", label)
	}
	id, then, err := p.then(c.arg(0), to)
	if label != "" && err == nil {
		err = p.branch(c, id, home.WishLabel+home.Wish(label))
	}
	if to != "" && err == nil {
		err = p.branch(c, id, home.WishBack+home.Wish(strconv.FormatInt(then.End, 10)))
	}
	if err != nil {
		return err
	}
	at := object{"label": label, "at": mind.EntryID(then.Next - 1)}
	return p.words("branched", at, nil, id.Name, to, then.At)
}

// branch leaves a wish for a label, or for another moment, and waits until it is obeyed.
func (p *program) branch(ctx context.Context, id home.Identity, wish home.Wish) error {
	err := p.look.Branch(ctx, id, wish, func() {
		p.note("%s is in the middle of a turn; it is done after that", id.Name)
	})
	if errors.Is(err, context.Canceled) {
		p.note("the request is left with %s; it is done when no turn is under way", id.Name)
	}
	return err
}

// treeCommand draws a life as a table: a branch says what it goes on behind.
func (p *program) treeCommand(_ call, id home.Identity) error {
	stretches, err := p.look.Tree(id)
	return p.words("tree", stretches, err)
}

// diffCommand compares an identity with itself at another moment, or with another identity.
func (p *program) diffCommand(c call) error {
	var views [2][]byte
	var states [2]*mind.State
	for i, moment := range c.args[1:] {
		who := c.arg(0)
		if other, rest, ok := strings.Cut(moment, ":"); ok && home.ValidName(other) {
			who, moment = other, rest
		}
		_, then, err := p.then(who, moment)
		if err != nil {
			return err
		}
		states[i] = then.State
		_, views[i], _ = bytes.Cut(then.View(), []byte("\n"))
	}
	text := screen.Sanitize(string(diff.Diff(c.arg(1), views[0], c.arg(2), views[1])))
	came, went := liveOnly(states[1], states[0]), liveOnly(states[0], states[1])
	compared := object{"a": c.arg(1), "b": c.arg(2), "came": came, "went": went, "diff": text}
	return p.words("diff", compared, nil, home.Shorten(came), home.Shorten(went))
}

// liveOnly are the entries that are live in a state and not in another one.
func liveOnly(s, other *mind.State) []string {
	ids := []string{}
	for _, e := range s.Live {
		if !slices.ContainsFunc(other.Live, func(o *mind.Entry) bool { return o.N == e.N }) {
			ids = append(ids, mind.EntryID(e.N))
		}
	}
	return ids
}
