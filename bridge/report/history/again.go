package history

import (
	"cmp"
	"math"

	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Again counts what was looked up or read once more after it had been forgotten.
type Again struct {
	Opened   int `json:"opened"`   // calls of UNCOMPACT
	Searched int `json:"searched"` // of RECALL
	Repeated int `json:"repeated"` // of other tools, with the arguments of a call in an earlier epoch
	Tokens   int `json:"tokens"`   // estimated, of their results as they were shown
	// USD is their part of the bills of the replies that made them, and their results as new input.
	USD float64 `json:"usd"`
}

// Rereader follows the lines of a life. What it cannot read it does not count.
type Rereader struct {
	Store *blobs.Store
	Made  map[string]int // calls by tool and arguments: the epoch of the last one

	epoch int
	reply event.Reply // the newest
	said  blobs.Ref   // its text
}

// Read counts a line.
func (r *Rereader) Read(line life.Event, parsed event.Event, sum *Again) {
	if len(line.Refs) == 0 {
		return
	}
	switch e := parsed.(type) {
	case event.Epoch:
		r.epoch = e.K
	case event.Reply:
		r.reply, r.said = e, line.Refs[0]
	case event.Result:
		r.result(line, e, sum)
	}
}

func (r *Rereader) result(line life.Event, e event.Result, sum *Again) {
	said, _ := r.Store.Find(r.said.Hash)
	answer, _ := mind.DecodeAnswer(said.Body)
	_, k, _ := mind.ParseID(e.ID)
	if k < 1 || k > len(answer.Calls) {
		return
	}
	key := e.Tool + " " + answer.Calls[k-1].Args
	before, known := r.Made[key]
	r.Made[key] = r.epoch
	switch {
	case e.Tool == "UNCOMPACT":
		sum.Opened++
	case e.Tool == "RECALL":
		sum.Searched++
	case known && before < r.epoch:
		sum.Repeated++
	default:
		return
	}
	result, _ := r.Store.Find(line.Refs[0].Hash)
	shown := mind.CutRunes(mind.Result(result.Body), cmp.Or(e.Show, math.MaxInt))
	tokens := llm.Estimator{}.Observe(int(r.reply.Weight), int(r.reply.In)).Tokens(llm.Weight(shown))
	usd, _ := llm.Known(nil).Cost(r.reply.Model, llm.Usage{Input: tokens, Written: tokens}, line.At)
	sum.Tokens += tokens
	sum.USD += usd + r.reply.USD/float64(len(answer.Calls))
}
