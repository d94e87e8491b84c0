package serving

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
)

// startKeeper starts a process for the identities that people have started on the page, unless one runs. It outlives
// this process, inherits its environment, and writes into the home's log.
func startKeeper(app *cli.App) error {
	if app.Home.Kept() {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	logs, err := app.LogFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	cmd := exec.Command(exe, "run", "--started", "--home", app.Home.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = app.Home.Dir, logs, logs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal that ends, ends this one alone
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the process, which writes its errors into the log
	return nil
}

// keeperPace is the time between two looks for the keeper.
const keeperPace = 5 * time.Second

// keepStarted starts the keeper again, also after a crash, until ctx ends.
func keepStarted(ctx context.Context, app *cli.App) {
	isDue := func(started home.Started) bool { return started.Failed == "" }
	for ctx.Err() == nil {
		if slices.ContainsFunc(app.Home.Started(), isDue) {
			if err := startKeeper(app); err != nil {
				app.Warn("what was started on the page is not run: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(keeperPace):
		}
	}
}

// rerun has a process ask past requests again: beside a server whatever home it is, as the command does.
func rerun(ctx context.Context, app *cli.App, args []string) ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, exe, append([]string{"rerun", "--home", app.Home.Dir}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = report.Invalid("%s", failed.Stderr)
	}
	return out, err
}
