package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/chat"
	"lethe/home"
)

var shells = []string{"bash", "zsh", "fish"}

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands, identities and rooms in a shell",
		Long: "Completion prints a script for one of the shells " + strings.Join(shells, ", ") +
			", to be loaded when the shell starts.",
		Example: `  source <(lethe completion bash)
  lethe completion zsh > "${fpath[1]}/_lethe"
  lethe completion fish > ~/.config/fish/completions/lethe.fish`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, list []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch list[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return usagef("shell %q is none of %s", list[0], strings.Join(shells, ", "))
		},
	}
}

type completion = cobra.CompletionFunc

// oneOf completes words of a list.
func oneOf(list []string) completion {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// offers completes words that the home knows; list has those that are given already.
func (p *program) offers(words func(list []string) []string) completion {
	return func(_ *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
		if p.open(false) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(list), cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *program) rooms([]string) []string { return chat.All(p.home.Dir) }

// identities are the names of identities that are not in list yet.
func (p *program) identities(list []string) (names []string) {
	all, _ := p.home.List()
	for _, id := range all {
		if !slices.Contains(list, id.Name) {
			names = append(names, id.Name+"\t"+id.Self[:16])
		}
	}
	return names
}

// about makes a command about one identity: that of its argument, or the default one.
func (p *program) about(cmd *cobra.Command, do func(ctx context.Context, id home.Identity) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		id, err := p.find(first(list))
		if err != nil {
			return err
		}
		return do(cmd.Context(), id)
	}
	return cmd
}

// firstOnly completes the first argument and no other.
func firstOnly(complete completion) completion {
	return func(cmd *cobra.Command, list []string, s string) ([]string, cobra.ShellCompDirective) {
		if len(list) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, list, s)
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
