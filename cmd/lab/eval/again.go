package eval

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Again counts, by epochs, what a life looked up or read once more after it had forgotten it.
type Again []EpochAgain

// EpochAgain is about the calls of one epoch.
type EpochAgain struct {
	Epoch    int    `json:"epoch"`
	Why      string `json:"why"`
	Calls    int    `json:"calls"`
	Opened   int    `json:"opened"`   // of Calls, UNCOMPACT
	Searched int    `json:"searched"` // of Calls, RECALL
	Repeated int    `json:"repeated"` // of Calls, with the tool and the arguments of a call in an earlier epoch
	Tokens   int    `json:"tokens"`   // estimated, of the results of these three, as they were shown
	// USD is their part of the bills of the replies that made them, and their results as new input.
	USD float64 `json:"usd"`
}

// rereader follows a life.
type rereader struct {
	store  *blobs.Store
	epochs Again
	made   map[string]int // calls by tool and arguments: the epoch of the last one
	reply  event.Reply    // the newest
	calls  []mind.AnswerCall
}

// ReadAgain reads the life in a directory of an identity. It changes nothing.
func ReadAgain(store *blobs.Store, dir string) (Again, error) {
	r := &rereader{store: store, made: map[string]int{}, epochs: Again{{Why: "boot"}}}
	err := life.Scan(filepath.Join(dir, "LIFE.md"), func(line life.Event, _ int64) error { return r.read(line) })
	return r.epochs, err
}

func (r *rereader) read(line life.Event) error {
	if e, ok := event.As[event.Epoch](line); ok && e.K > r.now().Epoch {
		r.epochs = append(r.epochs, EpochAgain{Epoch: e.K, Why: e.Why})
	}
	if e, ok := event.As[event.Reply](line); ok {
		body, err := r.body(line)
		if err != nil {
			return err
		}
		answer, err := mind.DecodeAnswer(body)
		r.reply, r.calls = e, answer.Calls
		return err
	}
	if e, ok := event.As[event.Result](line); ok {
		return r.result(line, e)
	}
	return nil
}

func (r *rereader) now() *EpochAgain { return &r.epochs[len(r.epochs)-1] }

// result counts a call, if it brought back something forgotten.
func (r *rereader) result(line life.Event, e event.Result) error {
	_, k, _ := mind.ParseID(e.ID)
	if k < 1 || k > len(r.calls) {
		return nil
	}
	now, key := r.now(), e.Tool+" "+r.calls[k-1].Args
	before, known := r.made[key]
	r.made[key] = now.Epoch
	now.Calls++
	switch {
	case e.Tool == "UNCOMPACT":
		now.Opened++
	case e.Tool == "RECALL":
		now.Searched++
	case known && before < now.Epoch:
		now.Repeated++
	default:
		return nil
	}
	body, err := r.body(line)
	if err != nil {
		return err
	}
	text := []rune(mind.Result(body))
	shown := string(text[:min(cmp.Or(e.Show, len(text)), len(text))])
	estimate := llm.Estimator{}.Observe(int(r.reply.Weight), int(r.reply.In))
	tokens := estimate.Tokens(llm.Weight(shown))
	usd, _ := llm.Known(nil).Cost(r.reply.Model, llm.Usage{Input: tokens, Written: tokens}, line.At)
	now.Tokens += tokens
	now.USD += usd + r.reply.USD/float64(len(r.calls))
	return nil
}

// body reads the text of a line.
func (r *rereader) body(line life.Event) ([]byte, error) {
	blob, err := r.store.Find(line.Refs[0].Hash)
	return blob.Body, err
}

// String renders the epochs as a table.
func (a Again) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "epoch\tbegan by\tcalls\topened\tsearched\trepeated\ttokens\tUSD\t")
	for _, e := range a {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%.4f\t\n",
			e.Epoch, e.Why, e.Calls, e.Opened, e.Searched, e.Repeated, e.Tokens, e.USD)
	}
	w.Flush()
	return b.String()
}
