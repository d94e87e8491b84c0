package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	program "lethe/cmd/lethe"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/test/lethetest"
)

// docs/commands.md lists the commands as the program has them; -update writes the list anew.
func TestCommandsPage(t *testing.T) {
	page := lethetest.Page(t, "commands.md")
	before, rest, _ := strings.Cut(page, "\n## Talk\n")
	_, after, found := strings.Cut(rest, "\n## For every command\n")
	if !found {
		t.Fatal("docs/commands.md lacks a heading")
	}
	root := program.NewRootCommand(new(cli.App))
	var list strings.Builder
	for _, group := range root.Groups() {
		fmt.Fprintf(&list, "\n## %s\n\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				listCommand(&list, cmd)
			}
		}
	}
	if want := before + list.String() + "\n## For every command\n" + after; page != want {
		path := filepath.Join(lethetest.Root(t), "docs", "commands.md")
		if !*updateVectors {
			t.Fatalf("docs/commands.md is not the program's list: go test ./cmd/lethe -run CommandsPage -update")
		}
		lethetest.Must(t, os.WriteFile(path, []byte(want), 0o644))
	}
}

// listCommand writes a line for a command, and for each below it; --help tells the flags.
func listCommand(list *strings.Builder, cmd *cobra.Command) {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	line := fmt.Sprintf("- `%s`: %s", use, cmd.Short)
	if len(line) > 120 {
		line = fmt.Sprintf("- `%s`:\n  %s", use, cmd.Short)
	}
	fmt.Fprintln(list, line)
	for _, sub := range cmd.Commands() {
		listCommand(list, sub)
	}
}

// A command below one that takes a word of a person's would hide that word: a room of this name, say. The root alone has
// both: its words within two letters of a command are never asked.
func TestNoCommandHidesAWord(t *testing.T) {
	root := program.NewRootCommand(new(cli.App))
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd != root && cmd.HasSubCommands() && strings.Contains(cmd.Use, " ") {
			t.Errorf("lethe %s takes a word, and has commands that hide words", cmd.Use)
		}
		if strings.Contains(cmd.UseLine(), "[flags]") && !cmd.HasAvailableLocalFlags() {
			t.Errorf("%s has no flags", cmd.UseLine())
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look(root)
}

// The page explains each exit code.
func TestExitCodesPage(t *testing.T) {
	page := lethetest.Page(t, "commands.md")
	codes := []int{
		exit.Done, exit.Failed, exit.Usage, exit.NotFound, exit.Running, exit.NoKey, exit.Corrupt, exit.Newer,
		exit.Elsewhere, exit.Bound, exit.Interrupt,
	}
	for _, code := range codes {
		lethetest.Words(t, page, fmt.Sprintf("\n- %d: ", code))
	}
}
