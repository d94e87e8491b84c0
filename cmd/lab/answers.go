package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/cmd/lab/eval"
)

func (p *program) answersCommand() *cobra.Command {
	x := eval.Examiner{Say: p.say}
	var address, most string
	var dry bool
	cmd := &cobra.Command{
		Use:   "answers FILE",
		Short: "Compare answers of Lethe with those of the full context, BM25 and nothing, by dollars",
		Long: `Answers plays the lines of FILE into a life with your model as the compactor, and puts each question to a fork
of it, and to the same model with all lines, the best by BM25, or nothing before it. Other models judge. It asks real
models for real money, at most --budget. What was asked is kept in --dir: run it again to go on, or to judge again.
cmd/lab/answers.md describes FILE, the prompts and the report.`,
		Example: `  go run ./cmd/lab answers talk.jsonl --judge openai:gpt-4.1-mini --dry-run
  go run ./cmd/lab answers talk.jsonl --judge openai:gpt-4.1-mini --arm lethe,full --budget 5usd`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, list []string) error {
			for _, arm := range x.Arms {
				if !slices.Contains(eval.Arms(), arm) {
					return fmt.Errorf("--arm is %q; it is one of %s", arm, strings.Join(eval.Arms(), ", "))
				}
			}
			dollars, err := strconv.ParseFloat(strings.TrimSuffix(strings.ToLower(most), "usd"), 64)
			if err != nil || !(dollars > 0) {
				return fmt.Errorf("--budget is %q; it is an amount such as 5usd", most)
			}
			x.Budget = budget.Of(dollars)
			client, err := llm.New(llm.Config{Model: x.Name, BaseURL: address})
			if err != nil {
				return err
			}
			defer client.Close()
			if x.Name == "" {
				x.Name = client.Preset().Model
			}
			if len(x.Judges) == 0 || slices.Contains(x.Judges, x.Name) {
				return errors.New("--judge is another model than --model")
			}
			x.Model, x.Known = llm.Models{Client: client}, llm.Know(client.Preset().Name)
			return p.answers(cmd, x, list[0], dry)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&x.Arms, "arm", eval.Arms(), "`ARMS` that answer")
	flags.StringVar(&x.Name, "model", "", "`MODEL` that answers (default DeepSeek's)")
	flags.StringSliceVar(&x.Judges, "judge", nil, "`MODELS` that judge; the first one counts")
	flags.StringVar(&address, "base-url", "", "`URL` of the model's server (default the provider's)")
	flags.StringVar(&most, "budget", "5usd", "`USD` that all runs with this --dir may cost together")
	flags.StringVar(&x.Dir, "dir", "", "`DIR` for the life, the calls and the page (default FILE.answers)")
	flags.BoolVar(&dry, "dry-run", false, "print what it may cost at most, and ask nothing")
	return cmd
}

func (p *program) answers(cmd *cobra.Command, x eval.Examiner, path string, dry bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	e, err := eval.ReadExamination(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if x.Dir == "" {
		x.Dir = path + ".answers"
	}
	prices, err := x.Price(e)
	if err != nil {
		return err
	}
	sum := budget.USD(0)
	for _, arm := range slices.Sorted(maps.Keys(prices)) {
		sum += prices[arm]
		p.say(fmt.Sprintf("%s: about %s USD at most", arm, prices[arm]))
	}
	p.say(fmt.Sprintf("together about %s USD at most, of %s", sum, x.Budget))
	if dry {
		return nil
	}
	scores, err := x.Run(cmd.Context(), e)
	if len(scores.Answers) == 0 {
		return err
	}
	page := filepath.Join(x.Dir, "report.html")
	p.say("page: " + page)
	return errors.Join(err, p.print(scores), os.WriteFile(page, []byte(scores.Page()), 0o600))
}
