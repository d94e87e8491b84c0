package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/home"
	"lethe/host"
)

// keeping runs f, and beside it, and on until they are stopped, what people have started on the page. An error of f ends
// both.
func (p *program) keeping(ctx context.Context, o host.Options, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alone, kept := make(chan struct{}), make(chan error, 1)
	go func() { kept <- host.Keep(ctx, p.home, o, alone) }() // ends with ctx, or after alone
	err := f(ctx)
	if close(alone); err != nil {
		cancel()
	}
	if kerr := <-kept; kerr != nil {
		p.warn("what was started on the page is not run: %v", kerr)
	}
	return err
}

const (
	keeperTime = 10 * time.Second // in which a new process begins to keep identities running
	keeperPace = 5 * time.Second  // between two looks whether one does
)

// keep has a process of its own run what people have started on the page, unless one does: it outlives this one, with
// this one's environment, and writes into the home's log. Its error says why it has ended at once.
func (p *program) keep(ctx context.Context) error {
	if p.home.Kept() {
		return nil
	}
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	begin, _ := logs.Seek(0, io.SeekEnd)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "run", "--started", "--home", p.home.Dir)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.home.Dir, os.Environ(), logs, logs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal that ends, ends this one alone
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // ends with the process; what it says is in the log
	for late := time.After(keeperTime); !p.home.Kept(); {
		select {
		case <-ended:
			return lastError(logs.Name(), begin)
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("run what was started: process %d does not begin; see %s", cmd.Process.Pid, logs.Name())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// lastError is what a process that has ended said last of an error, behind a place of the log.
func lastError(path string, begin int64) (err error) {
	text, _ := os.ReadFile(path) // it was written a moment ago
	for line := range strings.Lines(string(text[min(begin, int64(len(text))):])) {
		if what, ok := strings.CutPrefix(line, "lethe: "); ok {
			err = errors.New(strings.TrimSpace(what))
		}
	}
	return err
}

// keepOn has what people have started on the page be run, also after a crash, until ctx ends.
func (p *program) keepOn(ctx context.Context) {
	told := ""
	for ctx.Err() == nil {
		list, err := p.home.Started()
		if slices.ContainsFunc(list, func(s home.Started) bool { return s.Failed == "" }) {
			err = p.keep(ctx)
		}
		if err != nil && err.Error() != told && ctx.Err() == nil {
			told = err.Error()
			p.warn("what was started on the page is not run: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(keeperPace):
		}
	}
}
