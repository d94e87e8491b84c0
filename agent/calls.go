package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
	"lethe/recall"
	"lethe/tools"
)

// maxCalls is how many calls of one reply are run.
const maxCalls = 64

// act runs the calls of the newest reply, in order. The result of one and the
// intent of the next go into the log together.
func (a *Agent) act(ctx context.Context) error {
	pending := a.state.Owed().Calls
	if len(pending) == 0 {
		return nil
	}
	tooMany := fmt.Sprintf("at most %d calls of a reply are run. Call again if it is still needed.", maxCalls)
	if !pending[0].Call.Started { // people are asked about all the others
		return a.commit(a.notStarted(pending, tooMany)...)
	}
	left, most := a.batchChars(), min(len(pending), maxCalls)
	for i, p := range pending[:most] {
		if p.Call.Status != "" {
			continue // people are asked first
		}
		if i > 0 && (a.stopReason(ctx) != "" || requested(a.id, stopFile)) {
			return nil // the others are settled as not started
		}
		a.call.share = min(left, left/(most-i)) // what was shown beyond a share is taken from the others
		res, stopped, err := a.runCall(ctx, p)
		if err != nil {
			return err
		}
		state := mind.OK
		switch {
		case res.Job > 0: // it goes on, whatever has stopped the turn
		case stopped:
			state = mind.Interrupted
			res.Body = fmt.Appendf(nil, "interrupted, effect unknown: stopped while this ran. Look before you repeat it.\n%s", res.Body)
		case res.Err:
			state = mind.Failed
		}
		show, weight := a.showing(res)
		left -= weight
		result := event.Result{Status: state, Opened: a.call.opened, Withdrawn: a.call.withdrawn, Job: res.Job}
		a.call.opened, a.call.withdrawn = "", ""
		if show < len(res.Body) {
			result.Show, result.Places = show, show > 0
		}
		result.File = a.touched(res)
		if stopped {
			result.File = a.wrote(p)
		}
		records := []record{a.result(p, result, res.Body)}
		if stopped {
			records = append(records, a.notStarted(pending[i+1:], "stopped before this call's turn came.")...)
		} else {
			intents, begun := a.intents(pending[i+1:most], false)
			if records = append(records, intents...); !begun {
				records = append(records, a.notStarted(pending[most:], tooMany)...)
			}
		}
		if err := a.commit(records...); err != nil {
			return err
		}
		if stopped {
			return nil
		}
	}
	return a.warnRepeats()
}

// warnRepeats tells a model that goes round in circles.
func (a *Agent) warnRepeats() error {
	if a.state.Repeats < 3 {
		return nil
	}
	text := "That was the third identical call in a row with an identical result. Try something else, or say what keeps you."
	return a.commit(a.note(event.Note{Why: "repeat"}, "identical calls", text))
}

// touched is the version of an own file that a tool has written.
func (a *Agent) touched(res tools.Result) (f event.File) {
	if res.Touched != "" {
		if text, err := a.files.read(res.Touched); err == nil {
			f = event.File{Name: res.Touched, Hash: digest(text)}
		}
	}
	return f
}

// runCall runs the tool of a call. What a model wrote is put back from its escaped form first.
func (a *Agent) runCall(ctx context.Context, p mind.Pending) (res tools.Result, stopped bool, err error) {
	if p.Call.Original != "" {
		return tools.Result{Err: true, Body: []byte("the arguments are not one JSON object. Call " + p.Call.Tool + " again with an object like {\"key\":\"value\"}, with newlines and quotes inside strings escaped.")}, false, nil
	}
	return a.runTool(ctx, tools.Call{ID: p.ID(), Name: p.Call.Tool, Args: json.RawMessage(blobs.Unescape(p.Call.Args)), JobRoom: a.state.TurnRoom()})
}

// runTool runs one tool. stopped says that it was cut short by /stop or the end of the daemon.
func (a *Agent) runTool(ctx context.Context, c tools.Call) (res tools.Result, stopped bool, err error) {
	a.show(status.Acting, c.Name)
	c.Job, c.Most = a.state.LastJob+1, max(minPage, min(compactor.MaxResult, a.call.share))
	if a.tools.Immediate(c.Name) {
		// What its intent has fixed happens, even if a stop is asked for meanwhile.
		res = a.tools.Run(context.WithoutCancel(ctx), c)
		return res, false, a.log.broken
	}
	c.Output = a.output(c.ID)
	defer a.underWay(status.Live{})
	began := time.Now().Add(-clockStep)
	if a.state.Task != nil { // what it keeps of its output, it keeps in its parent's workspace
		c.ID = a.id.Name + "." + c.ID
	}
	err = a.during(ctx, func(ctx context.Context) {
		res = a.tools.Run(ctx, c)
		stopped = ctx.Err() != nil
	})
	if res.Job == 0 { // what a job puts into a drop is a letter
		a.triggers.called = sooner(a.triggers.called, began)
	}
	return res, stopped, err
}

// showing decides how many runes of a result enter the context, 0 for all, and
// what those weigh.
func (a *Agent) showing(r tools.Result) (show, weight int) {
	text := mind.Result(r.Body)
	if !r.Bounded {
		show = fit(text, string(r.Body[:min(len(r.Body), 1000)]), compactor.MaxResult, a.call.share)
	}
	if show > 0 {
		return show, max(0, min(compactor.MaxResult, a.call.share))
	}
	return 0, llm.Weight(text)
}

// intent records that a call begins. For a SAY that can be said it fixes the exact
// line, so that a crash never doubles it; for a SPAWN the child and its brief.
func (a *Agent) intent(p mind.Pending) record {
	e := event.Call{ID: p.ID(), Tool: p.Call.Tool}
	if room, ok := a.sayable(p); ok { // otherwise the tool says what is wrong
		e.Posting = a.posting(room)
	} else if child, room, _, ok := a.spawnable(e.ID, p.Call); ok {
		e.Child, e.Posting = child, a.posting(room)
	}
	return record{event: e}
}

// sayable returns the room of a SAY that the tool will not refuse.
func (a *Agent) sayable(p mind.Pending) (room string, ok bool) {
	if p.Call.Tool != "SAY" || p.Call.Original != "" || a.tools != nil && !a.tools.Has("SAY") {
		return "", false
	}
	room, message, err := tools.ParseSay([]byte(blobs.Unescape(p.Call.Args)))
	if err != nil || !slices.Contains(a.speaksIn(), room) || (chat.Line{Text: message}).Blank() {
		return "", false
	}
	return room, true
}

// result records the result of a call.
func (a *Agent) result(p mind.Pending, e event.Result, out []byte) record {
	e.ID, e.Tool = p.ID(), p.Call.Tool
	out = secret.Bytes(out) // before the gist is cut out of it
	gist := fmt.Sprintf("turn %d %s: %s", a.state.Turn+1, p.Call.Tool, blobs.Gist(string(out[:min(len(out), 1000)])))
	return record{event: e, bodies: []body{{gist, out}}}
}

// roomTools is the agent as SAY, JOIN and LEAVE see it.
type roomTools Agent

// Say posts the line that the call's intent has fixed.
func (r *roomTools) Say(_ context.Context, call, room, _ string) (string, error) {
	a := (*Agent)(r)
	for _, p := range a.state.Owed().Posts {
		if p.ID == call && p.Room == room {
			a.log.broken = a.payPosts()
			return a.saidIn(call, room), a.log.broken
		}
	}
	if slices.Contains(a.speaksIn(), room) {
		return "", errors.New("the message is blank")
	}
	return "", errors.New("you are not in it; JOIN it first")
}

// Join links the room; that is what makes it heard.
func (r *roomTools) Join(room string) (string, error) {
	a := (*Agent)(r)
	if slices.Contains(a.joined(), room) {
		return fmt.Sprintf("You hear room %s already.", room), nil
	}
	if err := a.cfg.Home.Subscribe(a.id, room); err != nil {
		return "", err
	}
	return fmt.Sprintf("Joined room %s. What was said there comes as the next entries; SAY there from your next reply on.", room), nil
}

// Leave removes the link.
func (r *roomTools) Leave(room string) error {
	a := (*Agent)(r)
	if !slices.Contains(a.joined(), room) {
		return fmt.Errorf("you are not in room %s (you are in %v)", room, a.joined())
	}
	if t := a.state.Task; t != nil && t.Room == room {
		return errors.New("it is where your work comes from")
	}
	return chat.Unsubscribe(a.id.Subs(), room)
}

// Joined lists the rooms that can be read: those that were heard when the call began.
func (r *roomTools) Joined() []string { return r.call.known.joined }

// past lets the tools open what the identity may see, search what it has
// forgotten, and begin a compaction.
type past Agent

// minPage is how many weighted characters a page shows at least, of however many
// that are asked for at once.
const minPage = 200

// searchTime bounds a search by the agent itself.
const searchTime = 5 * time.Second

// Received opens a ref by the grants as they were when the call began.
func (p *past) Received(hash string) (gist string, body []byte, err error) {
	b, _, err := (*Agent)(p).blobOf(hash, p.call.known.granted)
	return b.Gist, b.Body, err
}

func (p *past) Open(ref string) (tools.Original, error) {
	a := (*Agent)(p)
	b, short, err := a.blobOf(ref, a.state.Grants)
	if err != nil {
		return tools.Original{}, err
	}
	a.call.opened = b.Hash.String()
	list, said := recall.Contents(string(b.Body))
	o := tools.Original{Hash: short, Gist: b.Gist, Time: "said " + said, Summary: b.Summary, Contents: list, Body: b.Body,
		Most: max(minPage, min(a.estimate.Chars(a.window().Page()), a.call.share))}
	if said == "" {
		o.Time = "of " + b.At.Format("2006-01-02 15:04")
	}
	inPrompt := func(r mind.Range) bool { return r.Original.Hash == b.Hash && r.Level == mind.Summary }
	if slices.ContainsFunc(a.state.Faded, inPrompt) {
		o.Summary = ""
	}
	return o, nil
}

// weightOf is what a text weighs as the result of a call.
func weightOf(text string) int { return llm.Weight(mind.Result([]byte(text))) }

// blobOf returns the blob behind a ref, or behind its hash alone, if it is one of the
// life's own or in grants.
func (a *Agent) blobOf(ref string, grants map[string]bool) (b blobs.Blob, short string, err error) {
	short = strings.TrimSpace(ref)
	if refs := blobs.ParseRefs(short); len(refs) == 1 {
		short = refs[0].Hash
	}
	short = strings.TrimPrefix(short, "hash=")
	h, err := a.store.Resolve(short)
	if err == nil {
		b, err = a.store.Get(h)
	}
	if err == nil && !a.state.Owns(b) && !grants[h.String()] && !a.mayOpen(b.Life) {
		return blobs.Blob{}, short, fmt.Errorf("resolve %q: no such blob", short)
	}
	return b, short, err
}

func (p *past) Search(ctx context.Context, query string, limit int) (matches []tools.Match, remark string, err error) {
	a := (*Agent)(p)
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var lost atomic.Int32 // a search that has timed out may go on counting
	var absent []string   // read when the search has ended
	hits, err := a.indexer.search(ctx, func(x *recall.Index) ([]recall.Hit, error) {
		return x.Search(ctx, a.store, recall.Query{Text: query, Limit: limit, Now: time.Now(),
			Lost: func(blobs.Hash, error) { lost.Add(1) }, Absent: func(words []string) { absent = words }})
	})
	if errors.Is(err, recall.ErrEmpty) {
		err = tools.ErrNoWords
	}
	if a.indexer.behind.Load() {
		remark = " The index is still being made: not all that has faded is in it yet."
	}
	if n := lost.Load(); n > 0 {
		remark += fmt.Sprintf(" %d that may match cannot be read: their blobs are missing or damaged. The log says which; tell a person.", n)
	}
	if err == nil && len(absent) > 0 && len(hits) > 0 {
		remark += " In no original: " + strings.Join(absent, ", ") + "."
	}
	recall.NewerFirst(hits, a.state.Overtaken)
	for _, h := range hits {
		where := ""
		if len(h.Rooms) > 0 {
			where = "room=" + strings.Join(h.Rooms, ",")
		}
		if len(h.Tools) > 0 {
			where += " tool=" + strings.Join(h.Tools, ",")
		}
		matches = append(matches, tools.Match{Listing: a.listing(h), Where: blobs.Gist(where), Offset: h.Offset, Passage: h.Shown()})
	}
	return matches, remark, err
}

func (p *past) Compact() error {
	a := (*Agent)(p)
	if a.forgetting.job != nil {
		return errors.New("a compaction is under way already; its summaries come in by themselves")
	}
	if !a.window().Grown(a.contextTokens(), a.forgetting.after) {
		return errors.New("you have just forgotten what could be forgotten; little has come in since")
	}
	a.forgetting.requestedBy = "agent"
	return nil
}
