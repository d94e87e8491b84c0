package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/agent/config"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	lethetest.AskFaults()
	m.Run()
}

// Keys of the file are found by their variables unless the environment has them, are struck out, and change one by one.
func TestKeys(t *testing.T) {
	home := t.TempDir()
	path := config.KeysFile(home)
	lethetest.Must(t, config.ReadKeys(home)) // there is none
	lethetest.Write(t, path, "# mine\nA_TEST_KEY='sk-one-11111111'\n\nB_TEST_KEY=sk-two-22222222")
	lethetest.Must(t, config.Read(home, &config.Settings{}))
	if secret.Value("A_TEST_KEY") != "sk-one-11111111" || secret.Text("x sk-two-22222222") != "x [secret*******]" {
		t.Error("not known:", secret.Value("A_TEST_KEY"), secret.Text("x sk-two-22222222"))
	}
	lethetest.Must(t, config.SetKey(home, "A_TEST_KEY", " sk-new-33333333\n"))
	lethetest.Holds(t, path, "# mine\n\nB_TEST_KEY=sk-two-22222222\nA_TEST_KEY=sk-new-33333333\n")
	if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o600 {
		t.Error(fi.Mode(), err)
	}
	t.Setenv("B_TEST_KEY", "of-the-environment")
	lethetest.Must(t, config.SetKey(home, "B_TEST_KEY", "sk-four-4444444"))
	if secret.Value("A_TEST_KEY") != "sk-new-33333333" || secret.Value("B_TEST_KEY") != "of-the-environment" {
		t.Error("not known:", secret.Value("A_TEST_KEY"), secret.Value("B_TEST_KEY"))
	}
	text := lethetest.Blocks(t, "configuration.md", "keys")[0]
	lethetest.Write(t, filepath.Join(home, "doc", "keys.env"), text)
	lethetest.Must(t, config.ReadKeys(filepath.Join(home, "doc")))
	if got := secret.Value("TELEGRAM_BOT_TOKEN"); got != "123456:ABC-def" {
		t.Errorf("the page's token is %q", got)
	}
	lethetest.Must(t, config.SetKey(home, "A_TEST_KEY", ""))
	lethetest.Holds(t, path, "# mine\n\nB_TEST_KEY=sk-four-4444444\n")
	if secret.Value("A_TEST_KEY") != "" {
		t.Error("forgotten, and found:", secret.Value("A_TEST_KEY"))
	}
}

// What is no key, or no file, is refused, and nothing of it is said or changed.
func TestKeysRefused(t *testing.T) {
	home := t.TempDir()
	path := config.KeysFile(home)
	const before = "A_TEST_KEY=sk-five-5555555\n"
	lethetest.Write(t, path, before)
	for name, key := range map[string]string{"": "x", "A B": "x", "A": "x\nB=y", "B": "x\x00", "#D": "x"} {
		if err := config.SetKey(home, name, key); err == nil {
			t.Errorf("%q = %q was taken", name, key)
		}
	}
	lethetest.Holds(t, path, before)
	mended := lethetest.Break(t, home, func(durable.Stage, string, string) error { return syscall.ENOSPC })
	err := config.SetKey(home, "A_TEST_KEY", "sk-six-66666666")
	mended()
	if err == nil || secret.Value("A_TEST_KEY") != "" {
		t.Error("not written, and used:", err)
	}
	lethetest.Holds(t, path, before)
	lethetest.Write(t, path, "sk-seven-7777777\n")
	err = config.Read(home, &config.Settings{})
	if err == nil || !strings.Contains(err.Error(), "line 1 is not NAME=VALUE") || strings.Contains(err.Error(), "seven") {
		t.Error(err)
	}
	lethetest.Must(t, os.Rename(path, path+".real"))
	lethetest.Must(t, os.Symlink(path+".real", path))
	if err := config.Read(home, &config.Settings{}); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Error("a link:", err)
	}
}
