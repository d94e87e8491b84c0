package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent/home"
	"lethe/cmd/lethe/archive"
	"lethe/internal/durable"
)

func (p *program) exportCommand(c call) error {
	o := archive.WriteOptions{Copy: c.is("copy"), To: c.list("to"), Workspace: c.is("workspace")}
	file := c.text("output")
	if file == "" && isTerminal(p.out) {
		return hint(usagef("an archive is nothing to look at"), "name a file with -o")
	}
	if fi, err := os.Stat(file); err == nil && !fi.Mode().IsRegular() { // before the life is marked as moved
		return usagef("%s is no file: an archive is not written in its place", file)
	}
	id, err := p.find(c.arg(0))
	if err != nil {
		return err
	}
	var sum archive.Summary
	write := func(w io.Writer) (err error) {
		sum, err = archive.Write(w, p.home, p.look.Store, id, o)
		return err
	}
	if file == "" {
		err = write(p.out)
	} else {
		err = durable.WriteWith(file, 0o600, write)
		at, ok := errors.AsType[*fs.PathError](err)
		if ok && strings.HasPrefix(filepath.Base(at.Path), ".tmp-") { // a name that is not the person's
			err = fmt.Errorf("write %s: %w", file, at.Err)
		}
	}
	if err == nil {
		p.note("%s", p.text("exported", sum, o.Workspace))
	}
	if errors.As(err, new(*home.RunningError)) {
		return hint(err, "stop it first: ‹stop %s›; or let it go on here with --copy", id.Name)
	}
	return err
}

func (p *program) importCommand(c call) (err error) {
	o := archive.ReadOptions{Name: c.text("name"), Restore: c.is("restore")}
	in := p.in
	if c.arg(0) != "-" {
		f, err := os.Open(c.arg(0))
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if keys := c.text("identity"); keys != "" {
		if o.Keys, err = os.ReadFile(keys); err != nil {
			return err
		}
	}
	got, err := archive.Read(in, p.home, p.look.Store, o)
	switch {
	case err != nil:
		return err
	case got.Known:
		p.note("%s came here with this archive before, and lives here: nothing was changed", got.Identity.Name)
	default:
		p.imported(got)
	}
	return nil
}

// imported tells what was taken in, and what there is to do.
func (p *program) imported(got archive.Result) {
	id := got.Identity
	p.event("imported", id)
	if triggers := got.Triggers(); len(triggers) > 0 {
		p.note("when it runs, its triggers wake it: %s; look at them in %s",
			strings.Join(triggers, ", "), filepath.Join(id.Dir, "triggers"))
	}
	p.note("%s", p.text("imported", got))
	p.note("%s", p.text("next", got, p.howToRun(id, "")))
}
