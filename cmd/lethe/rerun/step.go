package rerun

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/cmd/lethe/cli"
	"lethe/compactor"
	"lethe/internal/screen"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// step is a request of a life and its answer.
type step struct {
	Pair
	begins  int64 // where the answer's line begins in LIFE: the request is of the moment before
	request llm.Request
	tokens  int        // estimated, of the request
	worst   budget.USD // that it may cost; 0 where nobody has told the price
}

// Pair is the answer to a request then and now.
type Pair struct {
	Entry string    `json:"entry"`
	At    time.Time `json:"at"`
	Same  bool      `json:"same_calls"` // with the same arguments
	Then  Answer    `json:"then"`
	Now   Answer    `json:"now"`
}

// Answer is a reply and its cost.
type Answer struct {
	Model string    `json:"model"`
	Text  string    `json:"text"`
	Calls []string  `json:"calls"` // tools with their arguments
	Usage llm.Usage `json:"tokens"`
	USD   float64   `json:"usd"`
}

func answerOf(model string, a mind.Answer, used llm.Usage, usd float64) Answer {
	calls := []string{}
	for _, c := range a.Calls {
		calls = append(calls, screen.Sanitize(c.Tool+" "+c.Args))
	}
	return Answer{model, screen.Sanitize(a.Text), calls, used, usd}
}

// list returns the steps of the answers in a life behind a moment, the newest entry of then included: those that begin
// before an offset of LIFE, or only until the first without calls.
func list(store *blobs.Store, id home.Identity, from home.Then, until int64, isTurn bool) (steps []*step, err error) {
	ended := false
	err = life.Scan(id.LIFE(), func(line life.Event, begins int64) error {
		reply, ok := event.As[event.Reply](line)
		isIn := begins < until && (begins >= from.End || reply.N == from.Next-1)
		if !ok || !isIn || ended {
			return nil
		}
		bodies, err := home.Load(line, store)
		if err != nil {
			return home.ReadError(err)
		}
		answer, err := mind.DecodeAnswer(bodies[0].Data)
		if err != nil {
			return fmt.Errorf("read the answer %s: %w", mind.EntryID(reply.N), err)
		}
		used := llm.Usage{Input: int(reply.In), Cached: int(reply.Cached), Output: int(reply.Out)}
		pair := Pair{Entry: mind.EntryID(reply.N), At: line.At, Then: answerOf(reply.Model, answer, used, reply.USD)}
		steps = append(steps, &step{Pair: pair, begins: begins})
		ended = isTurn && len(answer.Calls) == 0
		return nil
	})
	return steps, err
}

// prepare renders the request as it was sent, but for another model, soul or limit.
func (s *step) prepare(app *cli.App, id home.Identity, options *Options, fitter *fitter) error {
	then, err := home.At(id, app.Look.Store, home.Moment{Text: s.Entry, End: s.begins})
	if err != nil {
		return err
	}
	state := then.State
	if state.Stable.Params.Order == mind.OrderTail {
		return errors.New("with prompt.order = \"tail\" it had MEMORY as it was then, which is not known")
	}
	if options.Model+options.Soul != "" || options.Limit > 0 {
		if err := alter(app.Look.Store, state, options); err != nil {
			return err
		}
	}
	limit := cmp.Or(int(options.Limit), app.Look.ContextLimit)
	limit = prompt.Limit(state, prompt.Bound(app.Known(), state.Stable.Params.Model, limit))
	if options.Limit > 0 {
		if err := fitter.fit(state, limit, s.At); err != nil {
			return err
		}
	}
	s.request = new(prompt.Rendering).Request(state, state.Confided())
	s.request.Window = limit
	s.tokens = prompt.Estimator(state).Tokens(s.request.Weight())
	counted := 0 // of what the provider has counted then
	if options.Soul == "" && options.Limit == 0 && s.Then.Usage.Input > 0 {
		counted = s.request.Weight()
	}
	most := llm.Most(s.request.Weight(), counted, s.Then.Usage.Input)
	worst, _ := app.Known().Worst(s.request.Model, most, s.request.MaxTokens, time.Now())
	s.worst = budget.Ceil(worst)
	return nil
}

// alter gives a state another model, soul, or the answers of another limit.
func alter(store *blobs.Store, state *mind.State, options *Options) error {
	was := state.Stable
	in := mind.Inputs{System: was.System, Tools: []byte(was.Tools), Params: was.Params, Spare: was.Spare}
	in.Params.Model = cmp.Or(options.Model, in.Params.Model)
	if options.Limit > 0 {
		in.Params.MaxTokens = compactor.AnswerTokens(in.Params.MaxTokens, int(options.Limit))
	}
	if options.Soul != "" {
		born, err := store.Find(state.Self)
		if err != nil {
			return home.ReadError(err)
		}
		other, err := os.ReadFile(options.Soul)
		if err != nil {
			return err
		}
		head := func(text []byte) string { return strings.TrimSpace(mind.Outside(string(text))) }
		rest, ok := strings.CutPrefix(was.System, head(born.Body))
		if !ok {
			return errors.New("its system message does not begin with the soul")
		}
		in.System = head(other) + rest
	}
	state.Renew(in)
	state.Stable.Past = was.Past
	return nil
}

// answered puts the answer of now beside the one of then, and returns the cost with that of attempts before it.
func (s *step) answered(known llm.Known, reply llm.Reply) budget.USD {
	now := mind.Answer{Text: reply.Text}
	for _, c := range reply.Calls {
		now.Calls = append(now.Calls, mind.RepairCall(c.Name, c.Arguments))
	}
	usd, _ := known.Cost(s.request.Model, reply.Usage, time.Now())
	lost := reply.Waste.Calls + reply.Waste.Unanswered
	if isAnswer := reply.Text != "" || len(reply.Calls) > 0; isAnswer && reply.Usage == (llm.Usage{}) {
		lost++ // the provider has not told what it bills
	}
	all := budget.Ceil(usd) + s.worst*budget.USD(lost)
	s.Now = answerOf(s.request.Model, now, reply.Usage, all.Dollars())
	s.Same = slices.Equal(s.Then.Calls, s.Now.Calls)
	return all
}
