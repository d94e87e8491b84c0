package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// LostText stands in the place of a lost text.
const LostText = "This text is lost: its file was missing or damaged."

// folder folds a life from its first line on, as its resumes did, while it is verified.
type folder struct {
	*checker
	id        home.Identity
	v         *verifier
	s         *mind.State
	spending  budget.Spending
	senseless bool               // a line did not follow from those before it
	altered   bool               // since the last epoch a changed or missing text was folded
	stand     map[[8]byte][]byte // for texts that are missing, by the beginning of their addresses
}

// life checks one life.
func (c *checker) life(id home.Identity) {
	v := newVerifier(id, c.store, VerifyOptions{Against: c.o.Against, Key: c.key})
	f := &folder{checker: c, id: id, v: v, s: mind.New(), stand: map[[8]byte][]byte{}}
	v.f = f
	faults := c.Faults
	if err := id.Erasing(); err != nil {
		f.find("unfinished erasure", id.Dir, err.Error(), nil)
	}
	err := v.verify()
	c.Lives, c.Lines = c.Lives+1, c.Lines+int(v.Lines)
	c.Proofs = append(c.Proofs, v.Verdict)
	switch {
	case err != nil:
		f.find("damaged LIFE", id.LIFE(), err.Error(), nil)
		return
	case v.damaged:
		f.find("damaged LIFE", fmt.Sprintf("%s:%d", id.LIFE(), v.Lines+1), v.Altered, nil)
		return
	case f.senseless:
		return
	}
	lost := slices.DeleteFunc(v.tombs, func(h blobs.Hash) bool { return v.sealed[h.String()] == v.left[h.String()] })
	if len(lost) > 0 {
		what := fmt.Sprintf("%d, the first %s", len(lost), lost[0])
		f.find("unrecorded loss", id.LIFE(), what, func() error { return f.recordLost(lost) })
	}
	if _, err := f.s.Conserved(); err != nil {
		f.find("lost entry", id.LIFE(), err.Error(), nil)
	}
	isNews := c.Faults == faults || c.o.Against != nil // else another finding tells of it
	if v.Fault != nil && isNews {
		f.find("altered life", id.LIFE(), v.Altered, nil)
	}
	f.beside()
}

func (f *folder) where() string { return fmt.Sprintf("%s:%d", f.id.LIFE(), f.v.Lines) }

// line folds a line, as long as each follows from those before it.
func (f *folder) line(e life.Event, texts []home.Text) {
	if f.senseless {
		return
	}
	if err := f.fold(e, texts); err != nil {
		f.senseless = true
		f.find("senseless line", f.where(), err.Error(), nil)
	}
}

// fold applies a line. Another text stands in for a missing one, so that the lines behind it are checked, too.
func (f *folder) fold(line life.Event, texts []home.Text) error {
	var bodies []mind.Body
	parent, changed := f.s.LastBlob, false
	for i, text := range texts {
		body := text.Body
		if text.Err != nil {
			body = f.standIn(line)
			meta := blobs.Meta{At: line.At, Gist: line.Refs[i].Gist, Life: f.id.Self, Parent: parent}
			if line.Kind == "boot" {
				meta.Life = ""
			}
			what := fmt.Sprintf("%s %s: %v", line.Kind, line.Arg(0), text.Err)
			f.miss(text.Hash, meta, body, what, blobs.Encode(meta, f.lines(line)))
		}
		if text.Err != nil || text.Gone != nil {
			changed = true
		}
		bodies = append(bodies, mind.Body{Hash: text.Hash, Data: body})
		parent = text.Hash
	}
	f.altered = f.altered || changed
	if line.Kind == life.Epoch && len(bodies) == 1 {
		if err := f.epoch(line, bodies[0].Data); err != nil {
			return err
		}
		f.altered = changed
	}
	f.spending.Line(line)
	return f.s.Apply(line, bodies...)
}

// epoch compares a snapshot with the state that the lines before it make, and goes on from the snapshot. Programs from
// before seals kept some of it otherwise.
func (f *folder) epoch(line life.Event, snapshot []byte) error {
	f.s.Carry(f.spending.Encode())
	folded, err := f.s.Snapshot()
	if err != nil || bytes.Equal(folded, snapshot) {
		return err
	}
	before := f.s
	if f.s, err = mind.Restore(snapshot, f.text); err != nil {
		return err
	}
	if f.spending, err = budget.Fold(f.s.Carried, nil, f.s.Usage.USD); err != nil {
		return err
	}
	why := line.Get("why")
	all := why == "count" || why == "stop"
	isNewState := why == "fork" || why == blobs.Erased
	if isNewState || f.altered {
		return nil
	}
	isSealed := f.v.Seals > 0
	if isSealed && !bytes.Equal(before.Determined(all), f.s.Determined(all)) {
		f.find("differing epoch", f.where(), "epoch "+line.Arg(0)+" is not what the lines before it make", nil)
	}
	return nil
}

// text returns a text that a snapshot names, or its stand-in: only the snapshot names a person's edit.
func (f *folder) text(hash blobs.Hash) ([]byte, error) {
	blob, err := f.store.Get(hash)
	if err == nil {
		return blob.Body, nil
	}
	if stands, ok := f.stand[[8]byte(hash[:8])]; ok {
		return stands, nil
	}
	return mind.Answer{Text: LostText}.Encode(), nil
}

// miss notes a text that is named and missing. Its metadata are like meta, and body can stand in its place; one of
// candidates may be its file.
func (f *folder) miss(hash blobs.Hash, meta blobs.Meta, body []byte, what string, candidates ...[]byte) {
	if f.named[hash] = true; f.stand[[8]byte(hash[:8])] != nil {
		return
	}
	fix := func() error { return f.replace(hash, meta, body, candidates...) }
	if home.IsSnapshot(blobs.Blob{Meta: meta}) && len(f.stand) > 0 { // it has to name the tombstones of the others
		fix = nil
	}
	f.stand[[8]byte(hash[:8])] = body
	f.find("missing blob", f.where(), what, fix)
}

// standIn is a text that folds in the place of a missing one.
func (f *folder) standIn(line life.Event) []byte {
	body := []byte(LostText)
	switch parsed, _ := event.Parse(line); parsed := parsed.(type) {
	case event.Boot:
		body, _, _ = durable.ReadRegular(filepath.Join(f.id.Dir, "SOUL.md"), 1<<28)
	case event.Epoch:
		body, _ = f.s.StandIn(parsed.K)
	case event.Reply:
		body = mind.Answer{Text: LostText, Calls: f.calls(parsed.N)}.Encode()
	case event.Asked:
		body = f.ask(parsed).Encode()
	}
	return body
}

// ask returns a question with a lost text, as its call tells it.
func (f *folder) ask(asked event.Asked) mind.Ask {
	question := mind.Ask{Text: LostText}
	for _, pending := range f.s.Owed().Calls {
		if pending.ID() != asked.Call {
			continue
		}
		args := blobs.Unescape(pending.Call.Args)
		_ = json.Unmarshal([]byte(args), &question)
		if question.Text == LostText { // the call itself asks nothing: people are to approve it
			question.Tool, question.Args = pending.Call.Tool, args
		}
	}
	question.Self, question.Call, question.Room = f.id.Self, asked.Call, "lost"
	if len(asked.Posts) > 0 {
		question.Room = asked.Posts[0].Room
	}
	return question
}

// calls returns the calls of a reply that later lines name.
func (f *folder) calls(n int) (calls []mind.AnswerCall) {
	at := f.v.behind
	_ = life.ReadOn(f.id.LIFE(), &at, func(line life.Event, _ bool) error {
		if line.Kind == mind.Reply {
			return io.EOF
		}
		for entry, k, _ := mind.ParseID(line.Arg(0)); entry == n && len(calls) < k; {
			calls = append(calls, mind.AnswerCall{Tool: cmp.Or(line.Arg(1), "LOST"), Args: `{"message":"lost","brief":"lost"}`})
		}
		return nil
	})
	return calls
}

// lines reads from its room the lines that an inbound entry came from.
func (f *folder) lines(e life.Event) (body []byte) {
	in, _ := event.As[event.Inbound](e)
	text, err := durable.ReadWhole(chat.Path(f.home.Dir, in.Room), 1<<30)
	if err != nil || in.At.To > int64(len(text)) {
		return nil
	}
	for line := range bytes.Lines(text[in.At.From:in.At.To]) {
		if len(bytes.TrimSpace(line)) > 0 {
			body = append(body, line...)
		}
	}
	return body
}
