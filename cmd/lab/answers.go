package main

import (
	"cmp"
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
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/cmd/lab/eval"
)

// asking are the flags of commands that ask models for money.
type asking struct {
	eval.Examiner
	address, most string
	prices        []string
	dry           bool
}

func (x *asking) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.Name, "model", "", "`MODEL` that answers (default DeepSeek's)")
	flags.StringSliceVar(&x.Judges, "judge", nil, "`MODELS` that judge; the first one counts")
	flags.StringVar(&x.address, "base-url", "", "`URL` of the model's server (default the provider's)")
	flags.StringVar(&x.most, "budget", "5usd", "`USD` that all runs with this --dir may cost together")
	flags.StringVar(&x.Dir, "dir", "", "`DIR` for lives, calls and the page (default FILE."+cmd.Name()+")")
	flags.StringArrayVar(&x.prices, "price", nil, "`MODEL=HIT,MISS,OUTPUT` in USD per million tokens, of cached and other "+
		"input and of output")
	flags.BoolVar(&x.dry, "dry-run", false, "print what it may cost at most, and ask nothing")
}

// ready prepares the examiner for a file. The client is to be closed.
func (x *asking) ready(path, of string) (*llm.Client, error) {
	dollars, err := strconv.ParseFloat(strings.TrimSuffix(strings.ToLower(x.most), "usd"), 64)
	if err != nil || !(dollars > 0) {
		return nil, fmt.Errorf("--budget is %q; it is an amount such as 5usd", x.most)
	}
	x.Budget = budget.Of(dollars)
	client, err := llm.New(llm.Config{Model: x.Name, BaseURL: x.address})
	if err != nil {
		return nil, err
	}
	x.Name = cmp.Or(x.Name, client.Preset().Model)
	if len(x.Judges) == 0 || slices.Contains(x.Judges, x.Name) {
		return client, errors.New("--judge is another model than --model")
	}
	x.Dir = cmp.Or(x.Dir, path+"."+of)
	x.Model, x.Known = llm.Models{Client: client}, llm.Know(client.Preset().Name)
	return client, price(x.Known, x.prices)
}

// tell tells the most that something may cost, by its parts.
func (p *program) tell(x *asking, prices map[string]budget.USD) {
	sum := budget.USD(0)
	for _, part := range slices.Sorted(maps.Keys(prices)) {
		sum += prices[part]
		p.say(fmt.Sprintf("%s: about %s USD at most", part, prices[part]))
	}
	p.say(fmt.Sprintf("together about %s USD at most, of %s", sum, x.Budget))
}

// report prints scores, and writes their page.
func (p *program) report(x *asking, scores eval.Scores, err error) error {
	if len(scores.Answers) == 0 {
		return err
	}
	page := filepath.Join(x.Dir, "report.html")
	p.say("page: " + page)
	return errors.Join(err, p.print(scores), os.WriteFile(page, []byte(scores.Page()), 0o600))
}

func (p *program) answersCommand() *cobra.Command {
	x := &asking{Examiner: eval.Examiner{Say: p.say}}
	convert := false
	cmd := &cobra.Command{
		Use:   "answers FILE",
		Short: "Compare answers of Lethe with those of the full context, BM25 and nothing, by dollars",
		Long: `Answers plays the lines of FILE into a life with your model as the compactor, and puts each question to a fork
of it, and to the same model with all lines, the best by BM25, or nothing before it. Other models judge. It asks real
models for real money, at most --budget. What was asked is kept in --dir: run it again to go on, or to judge again.
cmd/lab/answers.md describes FILE, the prompts and the report.`,
		Example: `  go run ./cmd/lab answers --convert conversation.json > talk.jsonl
  go run ./cmd/lab answers talk.jsonl --judge openai:gpt-4.1-mini --dry-run
  go run ./cmd/lab answers talk.jsonl --judge openai:gpt-4.1-mini --arm lethe,full --budget 5usd`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, list []string) error {
			if convert {
				return p.convert(list[0])
			}
			for _, arm := range x.Arms {
				if !slices.Contains(eval.Arms(), arm) {
					return fmt.Errorf("--arm is %q; it is one of %s", arm, strings.Join(eval.Arms(), ", "))
				}
			}
			return p.answers(cmd, x, list[0])
		},
	}
	x.flags(cmd)
	cmd.Flags().StringSliceVar(&x.Arms, "arm", eval.Arms(), "`ARMS` that answer")
	cmd.Flags().BoolVar(&convert, "convert", false, "print FILE, a conversation of LoCoMo, as answers reads it")
	return cmd
}

func (p *program) convert(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	talk, err := eval.Parse(text)
	if err != nil {
		return fmt.Errorf("read conversation %s: %w", path, err)
	}
	p.say(fmt.Sprintf("%d lines, %d questions; %d without evidence are left out", len(talk.Lines), len(talk.Questions), talk.Skipped))
	return talk.Convert(p.out)
}

// price adds the prices of models that --price gives.
func price(known llm.Known, prices []string) error {
	for _, given := range prices {
		name, amounts, _ := strings.Cut(given, "=")
		info, _ := known.Of(name)
		p := llm.Price{}
		n, _ := fmt.Sscanf(amounts, "%g,%g,%g", &p.Hit, &p.Miss, &p.Output)
		if n < 3 || !(min(p.Hit, p.Miss, p.Output) > 0) {
			return fmt.Errorf("--price is %q; it is MODEL=HIT,MISS,OUTPUT, such as gpt-x=0.1,1,4", given)
		}
		info.Price = p
		known[llm.Explicit(name, known[""].From)] = info
	}
	return nil
}

func (p *program) answers(cmd *cobra.Command, x *asking, path string) error {
	client, err := x.ready(path, "answers")
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	e, err := eval.ReadExamination(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	prices, err := x.Price(e)
	if err != nil {
		return unpriced(err)
	}
	if p.tell(x, prices); x.dry {
		return nil
	}
	scores, err := x.Run(cmd.Context(), e)
	return p.report(x, scores, err)
}

// unpriced says what to do about a model whose price nobody knows.
func unpriced(err error) error {
	if errors.Is(err, budget.ErrUnpriced) {
		err = fmt.Errorf("%w; give it: --price MODEL=HIT,MISS,OUTPUT", err)
	}
	return err
}

func (p *program) tasksCommand() *cobra.Command {
	x := &asking{Examiner: eval.Examiner{Say: p.say}}
	var dir string
	var names []string
	cmd := &cobra.Command{
		Use:   "tasks FILE",
		Short: "Give recorded tasks to identities side by side, with a judge",
		Long: `Tasks gives each task of FILE to a fork of each identity, says the lines of people in it one after the other, and
has other models judge what was said. It asks real models for real money, at most --budget. The identities are copied
into --dir and stay as they are; what was asked is kept there: run it again to go on. cmd/lab/tasks.md describes FILE
and the report.`,
		Example: `  go run ./cmd/lab tasks tasks.jsonl --identity ada,bea --judge openai:gpt-4.1-mini --dry-run`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(names) == 0 {
				return errors.New("--identity names who gets the tasks, one or several")
			}
			return p.tasks(cmd, x, dir, names, list[0])
		},
	}
	x.flags(cmd)
	cmd.Flags().StringVar(&dir, "home", "", "`DIR` of the home (default $LETHE_HOME, or ~/.lethe)")
	cmd.Flags().StringSliceVar(&names, "identity", nil, "`NAMES` of who gets the tasks")
	return cmd
}

func (p *program) tasks(cmd *cobra.Command, x *asking, dir string, names []string, path string) error {
	dir, err := host.Dir(dir)
	if err != nil {
		return err
	}
	of := home.Home{Dir: dir}
	var ids []home.Identity
	for _, name := range names {
		id, err := of.Find(name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	client, err := x.ready(path, "tasks")
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tasks, err := eval.ReadTasks(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	prices, err := x.PriceTasks(tasks, names)
	if err != nil {
		return unpriced(err)
	}
	if p.tell(x, prices); x.dry {
		return nil
	}
	scores, err := x.RunTasks(cmd.Context(), tasks, of, ids)
	return p.report(x, scores, err)
}
