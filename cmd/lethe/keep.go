package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"lethe/agent/home"
)

// keep has a process of its own run what people have started on the page, unless one does: it outlives this one, has
// this one's environment, and writes into the home's log.
func (p *program) keep() error {
	if p.home.Kept() {
		return nil
	}
	exe, err := os.Executable()
	logs, lerr := p.logFile()
	if err := cmp.Or(err, lerr); err != nil {
		return err
	}
	defer logs.Close()
	cmd := exec.Command(exe, "run", "--started", "--home", p.home.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.home.Dir, logs, logs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal that ends, ends this one alone
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the process, whose words are in the log
	return nil
}

// keeperPace is how often it is looked whether a process keeps running what people have started.
const keeperPace = 5 * time.Second

// keepOn has what people have started be run until ctx ends, also after a crash of who runs it.
func (p *program) keepOn(ctx context.Context) {
	due := func(s home.Started) bool { return s.Failed == "" }
	for ctx.Err() == nil {
		if slices.ContainsFunc(p.home.Started(), due) {
			if err := p.keep(); err != nil {
				p.warn("what was started on the page is not run: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(keeperPace):
		}
	}
}
