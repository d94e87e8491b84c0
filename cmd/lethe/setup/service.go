package setup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lethe/agent/config"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/exit"
	"lethe/deploy"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

// askService asks whether systemd is to keep the identity running, and reports whether it does.
func (s *setup) askService() (runs bool, err error) {
	if !s.online() {
		return false, nil // there is nothing to keep running
	}
	dir, dirErr := os.UserConfigDir() // an error only for a person who wants the service
	unit := filepath.Join(dir, "systemd", "user", "lethe.service")
	question := "5  Service: shall systemd keep it running? yes or no"
	if _, err := os.Lstat(unit); err == nil {
		question = "5  Service: shall systemd keep it running, by " + unit + " written anew? yes or no"
	}
	_, err = s.ask(question, "no", false, func(text string) error {
		runs = text == "yes"
		if !runs && text != "no" {
			return errors.New("yes or no")
		}
		return dirErr
	})
	if err != nil || !runs {
		return false, err
	}
	return true, s.startService(unit)
}

// startService writes the unit, and the keys that it needs, and has systemd start it.
func (s *setup) startService(unit string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	run := fmt.Sprintf("%q run --home %q", exe, s.Home.Dir)
	if secret.Value(bot.Variable) != "" {
		run += " --with telegram"
	}
	run = strings.NewReplacer("%", "%%", "$", "$$").Replace(run)
	text := strings.ReplaceAll(deploy.UserUnit, "/usr/local/bin/lethe run --with telegram", run)
	for _, variable := range []string{s.model.KeyEnv, bot.Variable} {
		value := secret.Value(variable)
		if value == "" {
			continue
		}
		if err := config.SetKey(s.Home.Dir, variable, value); err != nil { // a service has no shell's environment
			return err
		}
	}
	if err := durable.MkdirAll(filepath.Dir(unit), 0o755); err != nil {
		return err
	}
	if err := durable.WriteFile(unit, []byte(text), 0o644); err != nil {
		return err
	}
	if err := systemd("enable lethe"); err != nil { // reads the units anew, too
		return err
	}
	return systemd("restart lethe")
}

// systemd has the service manager of this person do something.
func systemd(args string) error {
	out, err := exec.Command("systemctl", strings.Fields("--user "+args)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("systemctl --user %s: %w: %s", args, err, out)
	}
	return exit.Hint(err, "deploy/README.md has it by hand, and other ways")
}
