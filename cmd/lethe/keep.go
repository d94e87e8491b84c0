package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"lethe/agent/home"
)

// keep starts a process for the identities that people have started on the page, unless one runs. It outlives this
// process, inherits its environment, and writes into the home's log.
func (app *app) keep() error {
	if app.home.Kept() {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	logs, err := app.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	cmd := exec.Command(exe, "run", "--started", "--home", app.home.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = app.home.Dir, logs, logs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal that ends, ends this one alone
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the process, whose words are in the log
	return nil
}

// keeperPace is the time between two looks whether that process runs.
const keeperPace = 5 * time.Second

// keepOn keeps that process running until ctx ends, also after a crash.
func (app *app) keepOn(ctx context.Context) {
	due := func(started home.Started) bool { return started.Failed == "" }
	for ctx.Err() == nil {
		if slices.ContainsFunc(app.home.Started(), due) {
			if err := app.keep(); err != nil {
				app.warn("what was started on the page is not run: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(keeperPace):
		}
	}
}
