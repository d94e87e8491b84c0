package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/bridge/report"
	"lethe/cmd/lethe/erase"
)

// eraseCommand erases from the life of an identity, or of all.
func (p *program) eraseCommand(c call) error {
	request := erase.Request{Person: c.text("person"), Derived: c.is("derived"), Workspace: c.is("workspace")}
	list, all := c.args, c.is("all")
	ids, err := p.home.List()
	if !all {
		if len(list) == 0 {
			return usagef("lethe erase needs the name of an identity, or --all")
		}
		ids = make([]home.Identity, 1)
		ids[0], err = p.find(list[0])
		list = list[1:]
	}
	if err == nil && (len(list) > 1 || (len(list) == 1) == (request.Person != "")) {
		err = usagef("say what is to be erased, once: - for a text, a REF, or --person")
	}
	if err == nil && len(list) == 1 {
		err = p.toErase(&request, list[0])
	}
	for i, id := range ids {
		if err != nil {
			break
		}
		request.Ownerless = all && i == 0
		if err = p.erase(c, id, request); all && errors.Is(err, erase.ErrNowhere) {
			p.note("%v", err)
			err = nil
		}
	}
	return err
}

// mostAtOnce bounds the places that one --yes erases.
const mostAtOnce = 10_000

// toErase reads what is to be erased: a text, or the ref of one. A terminal does not show a text that it is asked for.
func (p *program) toErase(e *erase.Request, arg string) (err error) {
	if arg == "-" && isTerminal(p.in) {
		e.Text, err = p.typed(p.err, "Text to erase (it is not shown): ", true)
		return err
	}
	if arg == "-" {
		text, err := io.ReadAll(io.LimitReader(p.in, 4*erase.MaxText+2))
		e.Text = string(text)
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	digits, err := p.hashIn(arg)
	isRef := strings.Contains(arg, "hash=")
	if err == nil && (isRef || len(digits) >= 12) {
		e.Ref, err = store.Resolve(digits)
	}
	if isRef || !e.Ref.IsZero() {
		return err
	}
	e.Text = arg
	p.note("this text is in the history of your shell now; give - and type it, and it is not")
	return nil
}

// erase erases from a life what a request names, if that was confirmed.
func (p *program) erase(c call, id home.Identity, request erase.Request) error {
	store := p.look.Store
	f, err := erase.Find(p.home, store, id, request)
	if err != nil {
		return err
	}
	if f.Count == 0 {
		err = p.showFinding(id, f, c, "nothing was changed: what is listed is left to you")
		if err == nil {
			err = fmt.Errorf("erase from %s: %w but in what is listed", id.Name, erase.ErrNowhere)
			err = hint(err, "what is listed is yours, the tools', another identity's, or no text")
		}
		return err
	}
	again := "--yes"
	if f.Count > mostAtOnce {
		again = "--yes --many"
	}
	if !c.is("yes") || f.Count > mostAtOnce && !c.is("many") {
		return p.showFinding(id, f, c, "nothing was changed. The same command with "+again+" erases it for good")
	}
	share := filepath.Join(p.home.Dir, "share")
	if _, err := os.Stat(share); err == nil && p.shared == nil {
		err := usagef("erase from %s: this home was shared, and the store has it, too", id.Name)
		return hint(err, "put [share] back into %s; or remove %s, where the store is gone", config.File(p.home.Dir), share)
	}
	stopped, err := report.Stop(c, id)
	if err == nil && p.shared != nil {
		err = p.shared.Settle(c)
	}
	if err != nil {
		return err
	}
	held, err := journal.Hold(p.home, id, store, p.logTo(p.err)) // which ends what was begun before
	if err != nil {
		return err
	}
	f, err = erase.Find(p.home, store, id, request)
	if err == nil && f.Count == 0 { // another command was quicker
		err = fmt.Errorf("erase from %s: %w any more", id.Name, erase.ErrNowhere)
	}
	if err == nil {
		err = f.Plan.Save(id.Dir)
	}
	held.Close()
	if err != nil {
		return err
	}
	if err = journal.FinishErasure(p.home, id, p.logTo(p.err)); err != nil {
		return hint(err, "it is decided, and goes on when %s is next opened", id.Name)
	}
	next := "erased. The identity has a note that something was, not what"
	if stopped {
		next += fmt.Sprintf("; %s was stopped for this, and goes on with: %s", id.Name, p.howToRun(id, ""))
	}
	return p.showFinding(id, f, c, next)
}

// showFinding tells where it is, or was.
func (p *program) showFinding(id home.Identity, f *erase.Finding, c call, next string) error {
	if c.is("all") { // the turn of the others comes, or has come
		others := func(p erase.Place) bool { return p.How == erase.Other || p.How == erase.Unowned }
		f.Places = slices.DeleteFunc(f.Places, others)
	}
	out := struct {
		Name string `json:"name"`
		*erase.Finding
		Next string `json:"next"`
	}{id.Name, f, next}
	return p.words("erased", out, nil)
}
