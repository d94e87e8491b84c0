package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/host"
	"lethe/internal/bench"
)

func (p *program) benchCommand() *cobra.Command {
	var o bench.Options
	var plot string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Lethe costs on this machine, in two minutes",
		Long: `Bench runs identities in temporary homes, which it makes beside your home and removes,
against a model of its own on loopback, and prints a table: each figure, its floor in the same run, and the
bound that Lethe sets itself. The floor is a bare client (six) that does nothing but the requests and the syncs.
Your identities, your keys and the network are not touched. docs/performance.md says how to read it.`,
		Example: `  lethe bench --plot growth.svg
  lethe bench --only rounds,lines --against ./lethe-before`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Home, err = host.Dir(p.homeDir); err != nil {
				return hint(err, "name it with --home")
			}
			for _, name := range o.Only {
				if !slices.Contains(bench.Groups(), name) {
					return usagef("--only is %q; it is one of %s", name, strings.Join(bench.Groups(), ", "))
				}
			}
			if plot != "" && len(o.Only) > 0 && !slices.Contains(o.Only, "rounds") && !slices.Contains(o.Only, "start") {
				return usagef("--plot shows rounds and start, and --only leaves them out")
			}
			if _, err := os.Stat(filepath.Dir(plot)); plot != "" && err != nil { // told now, and not after two minutes
				return usagef("--plot: %v", err)
			}
			if _, err := exec.LookPath(o.Against); o.Against != "" && err != nil {
				return usagef("--against: %v", err)
			}
			if o.Program, err = os.Executable(); err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			o.Say = func(what string) { fmt.Fprintln(p.err, what) }
			report, err := bench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if plot != "" { // what took two minutes is printed, whatever becomes of the file
				err = os.WriteFile(plot, []byte(report.Plot()), 0o644)
			}
			return errors.Join(p.print(report, "%s", report), err)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Against, "against", "", "another `PROGRAM`, such as an older lethe, for a column of its own")
	fl.StringSliceVar(&o.Only, "only", nil, "`ROWS` to measure: "+strings.Join(bench.Groups(), ", "))
	fl.StringVar(&plot, "plot", "", "`FILE.svg` for a plot of time and memory against rounds, and of the start against the length of a life")
	_ = cmd.MarkFlagFilename("plot", "svg")
	return cmd
}
