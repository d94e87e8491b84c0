package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lethe/agent/config"
	"lethe/deploy"
	"lethe/internal/durable"
	"lethe/internal/must"
	"lethe/internal/secret"
)

// systemd has the service manager of this person do something. It is a step.
func systemd(args string) {
	out, err := exec.Command("systemctl", strings.Fields("--user "+args)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("systemctl --user %s: %w: %s", args, err, out)
		must.Do(hint(err, "deploy/README.md has it by hand, and other ways"))
	}
}

// askService asks whether systemd is to keep the identity running, and reports whether it does.
func (s *setup) askService() (runs bool) {
	if !s.online() {
		return false // there is nothing to keep running
	}
	dir, err := os.UserConfigDir()
	path := filepath.Join(dir, "systemd", "user", "lethe.service")
	question := "5  Service: shall systemd keep it running? yes or no"
	if _, there := os.Lstat(path); there == nil {
		question = "5  Service: shall systemd keep it running, by " + path + " written anew? yes or no"
	}
	s.ask(question, "no", false, func(text string) error {
		if runs = text == "yes"; !runs && text != "no" {
			return errors.New("yes or no")
		}
		return err
	})
	if !runs {
		return false
	}
	run := fmt.Sprintf("%q run --home %q", must.Get(os.Executable()), s.home.Dir)
	if secret.Value(botToken) != "" {
		run += " --with telegram"
	}
	run = strings.NewReplacer("%", "%%", "$", "$$").Replace(run)
	unit := strings.ReplaceAll(deploy.UserUnit, "/usr/local/bin/lethe run --with telegram", run)
	for _, variable := range []string{s.preset.KeyEnv, botToken} {
		if value := secret.Value(variable); value != "" { // a service has nothing of the environment of a shell
			must.Do(config.SetKey(s.home.Dir, variable, value))
		}
	}
	must.Do(durable.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(durable.WriteFile(path, []byte(unit), 0o644))
	systemd("enable lethe") // reads the units anew, too
	systemd("restart lethe")
	return true
}
