package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lethe/deploy"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

func fromEnvironment(variable string) bool { return strings.TrimSpace(os.Getenv(variable)) != "" }

// unitFile is where systemd looks for the service of one person.
func unitFile() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "systemd", "user", "lethe.service"), err
}

// askService asks whether systemd is to keep the identity running.
func (s *setup) askService() error {
	path, err := unitFile()
	if err != nil {
		return err
	}
	switch {
	case s.ask && exec.CommandContext(s, "systemctl", "--user", "show-environment").Run() != nil:
		s.say("5  Service: systemd keeps nothing running for you here; deploy/README.md has other ways.")
		return nil
	case !s.online:
		s.say("5  Service: without a key there is nothing to keep running.")
		return nil
	}
	question := "5  Service: shall systemd keep it running? yes or no"
	before, err := os.ReadFile(path)
	unit, uerr := s.unitText()
	switch {
	case uerr != nil:
		return uerr
	case err == nil && string(before) != unit:
		question = fmt.Sprintf("5  Service: %s\n   is there, and differs. Shall systemd run it as this would write it? yes or no", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	answer, err := s.answer(question, "no", false, func(text string) error {
		if text != "yes" && text != "no" {
			return errors.New("yes or no")
		}
		return nil
	})
	if answer == "yes" {
		s.unit = unit
	}
	return err
}

// unitText is the unit of deploy/ for this program, this home, and Telegram if there is a token.
func (s *setup) unitText() (string, error) {
	exe, err := os.Executable()
	quote := strings.NewReplacer(`%`, `%%`, `"`, `\"`, `\`, `\\`, `$`, `$$`)
	run := fmt.Sprintf(`"%s" run --home "%s"`, quote.Replace(exe), quote.Replace(s.home.Dir))
	if s.keys[botToken] != "" || secret.Value(botToken) != "" || s.tokenFile() != "" {
		run += " --with telegram"
	}
	return strings.ReplaceAll(deploy.UserUnit, "/usr/local/bin/lethe run --with telegram", run), err
}

// startService writes the unit, and has systemd run it. Where systemd refuses, it says what to do.
func (s *setup) startService() error {
	path, err := unitFile()
	if err == nil {
		err = durable.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = durable.WriteFile(path, []byte(s.unit), 0o644)
	}
	if err != nil {
		return err
	}
	s.written = append(s.written, path)
	for _, args := range []string{"daemon-reload", "enable lethe", "restart lethe"} {
		out, err := exec.CommandContext(s, "systemctl", append([]string{"--user"}, strings.Fields(args)...)...).CombinedOutput()
		if err != nil {
			why := strings.TrimSpace(string(out))
			return hint(fmt.Errorf("systemctl --user %s: %w: %s", args, err, why), "the rest is set up; when systemd can, do: "+
				"systemctl --user daemon-reload; systemctl --user enable --now lethe")
		}
	}
	return nil
}
