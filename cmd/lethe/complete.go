package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/life"
)

var shells = []string{"bash", "zsh", "fish"}

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands, identities and rooms in a shell",
		Long:  "Completion prints a script for one of the shells " + strings.Join(shells, ", ") + ", to be loaded when the shell starts.",
		Example: `  source <(lethe completion bash)
  lethe completion zsh > "${fpath[1]}/_lethe"
  lethe completion fish > ~/.config/fish/completions/lethe.fish`,
		Args:      args(cobra.ExactArgs(1)),
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

func (p *program) completeRooms(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var rooms []string
	if p.open(false) == nil {
		rooms = chat.All(p.home.Dir)
	}
	return rooms, cobra.ShellCompDirectiveNoFileComp
}

// completeIdentities completes names of identities that are not in list yet.
func (p *program) completeIdentities(_ *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if p.open(false) == nil {
		all, _ := p.home.List()
		for _, id := range all {
			if !slices.Contains(list, id.Name) {
				names = append(names, id.Name+"\t"+id.Self[:16])
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeMoments completes the labels of the identity that list begins with.
func (p *program) completeMoments(_ *cobra.Command, list []string, _ string) ([]string, cobra.ShellCompDirective) {
	moments := []string{"now"}
	if len(list) > 0 && p.open(false) == nil {
		if id, err := p.find(list[0]); err == nil {
			_ = life.Scan(id.LIFE(), func(e life.Event, _ int64) error {
				if label := e.Get("label"); e.Kind == "labelled" && !slices.Contains(moments, label) {
					moments = append(moments, label)
				}
				return nil
			})
		}
	}
	return moments, cobra.ShellCompDirectiveNoFileComp
}

// about makes a command about one identity: that of its argument, or the default one.
func (p *program) about(cmd *cobra.Command, do func(ctx context.Context, id agent.Identity) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = args(cobra.MaximumNArgs(1)), firstOnly(p.completeIdentities)
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
func firstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, list []string, s string) ([]string, cobra.ShellCompDirective) {
		if len(list) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, list, s)
	}
}
