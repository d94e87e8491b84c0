package report

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/pattern"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Ran is a command that an identity has run: by a BASH call, after people approved it, or by a trigger. LIFE knows only
// triggers that woke the identity.
type Ran struct {
	At       time.Time `json:"at"`
	ID       string    `json:"id"` // the call, e5.1; or who signs the trigger's line
	Job      int       `json:"job,omitempty"`
	Command  string    `json:"command"` // its first line
	End      string    `json:"end"`     // like "exit 2, 1.3 s"
	Bytes    int       `json:"bytes"`   // of output, as they are kept
	Took     float64   `json:"took"`    // seconds, 0 where it has not ended
	Question string    `json:"question,omitempty"`
	By       string    `json:"by,omitempty"` // who said yes to it

	call, end, answer []blobs.Ref // texts that the line was made of
	replaced          bool        // call has a hook's arguments in place of the model's
}

// Commands tells the newest of the commands that an identity ever ran, newest first, at most so many, and how many
// there are. It reads LIFE once, and the texts of the returned commands.
func (h Home) Commands(id home.Identity, most int) (list []*Ran, all int, err error) {
	commands := audit{open: map[string]*Ran{}, answers: map[string][]blobs.Ref{}}
	err = life.Scan(id.LIFE(), func(line life.Event, _ int64) error {
		if !slices.Contains(aboutCommands, line.Kind) {
			return nil
		}
		if line.Kind == "reply" {
			commands.reply = line.Refs
			return nil
		}
		e, err := event.Parse(line)
		if err == nil {
			commands.apply(line, e)
		}
		return err
	})
	list = commands.all[max(0, len(commands.all)-most):]
	slices.Reverse(list)
	for _, r := range list {
		h.describe(r)
	}
	return list, len(commands.all), err
}

// aboutCommands are the kinds of lines that tell of commands.
var aboutCommands = []string{"reply", "call", "result", "asked", "inbound", "run", "note", "fired"}

// audit follows LIFE from commands to their ends.
type audit struct {
	all     []*Ran
	open    map[string]*Ran // by call, question, or the signer of a job
	reply   []blobs.Ref
	asked   []blobs.Ref
	answers map[string][]blobs.Ref // by question
}

func (a *audit) begin(at time.Time, id string, call []blobs.Ref) *Ran {
	r := &Ran{At: at, ID: id, call: call}
	a.all, a.open[id] = append(a.all, r), r
	return r
}

func (a *audit) apply(line life.Event, e event.Event) {
	switch e := e.(type) {
	case event.Call:
		if e.Tool != "BASH" {
			break
		}
		r := a.begin(line.At, e.ID, a.reply)
		if len(line.Refs) > 0 {
			r.call, r.replaced = line.Refs, true
		}
	case event.Result:
		a.ended(line, e.ID, e.Job, "")
	case event.Asked:
		a.asked = append(a.asked, line.Refs...)
	case event.Inbound:
		if e.Answers != "" {
			a.answers[e.Answers] = line.Refs
		}
	case event.Run:
		if e.Tool == "BASH" {
			a.beginApproved(line.At, e.ID)
		}
	case event.Note:
		a.ended(line, e.Run, e.Job, "")
	case event.Fired:
		end := e.Say[strings.LastIndex(e.Say, jobEnds)+1:]
		a.ended(line, e.By, 0, strings.TrimPrefix(end, jobEnds[1:]))
		if byTrigger().MatchString(e.By) && e.Again == "" {
			r := a.begin(line.At, e.By, nil)
			r.Command, r.End, r.Bytes = "(the trigger's own, if it has one)", "it woke the identity", len(e.Say)
		}
	}
}

// beginApproved begins a command that people have approved, by the id of their question.
func (a *audit) beginApproved(at time.Time, id string) {
	for _, ref := range slices.Backward(a.asked) {
		if strings.Contains(ref.Hash, id[1:]) { // as a question is named
			r := a.begin(at, id, []blobs.Ref{ref})
			r.Question, r.answer = id, a.answers[id]
			return
		}
	}
}

// byTrigger are the signers of triggers that may have a command.
var byTrigger = pattern.Lazy(`^(?:at|every|cron|watch)-`)

// jobEnds stands before how a job ended.
const jobEnds = ") has ended: "

// ended ends a command, or begins its job.
func (a *audit) ended(line life.Event, id string, job int, end string) {
	ran := a.open[id]
	delete(a.open, id)
	switch {
	case ran == nil:
	case job > 0:
		ran.Job, a.open[mind.Job{ID: job}.Signer()] = job, ran
	default:
		ran.Took = line.At.Sub(ran.At).Seconds()
		ran.end = line.Refs[max(0, len(line.Refs)-1):] // the last is the result that a hook replaced, if one did
		ran.End, _, _ = strings.Cut(end, ". It")
	}
}

// describe reads the texts of a command. What was erased is said to be gone.
func (h Home) describe(ran *Ran) {
	if body := h.text(ran.call); body != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(commandOf(ran, body)), "\n")
		ran.Command = mind.CutRunes(line, 200)
	}
	if body := bytes.TrimSpace(h.text(ran.end)); body != nil {
		at := bytes.LastIndexByte(body, '\n') + 1
		ran.Bytes, ran.End = at, strings.Trim(string(body[at:]), "[]")
	}
	if body := h.text(ran.answer); body != nil {
		ran.By = chat.Parse(body).Name
	}
	if ran.Command == "" {
		ran.Command = "(its text is gone)"
	}
	if ran.End == "" {
		ran.End = "runs, or its end is unknown"
	}
}

// commandOf finds the command in a reply, in a question, or in the arguments that a hook put in its place.
func commandOf(ran *Ran, body []byte) string {
	var call mind.Call
	ask, noAsk := mind.DecodeAsk(body)
	answer, noAnswer := mind.DecodeAnswer(body)
	_, k, _ := mind.ParseID(ran.ID)
	switch {
	case ran.replaced:
		call.Args = blobs.Escape(string(body))
	case ran.Question != "" && noAsk == nil:
		call.Args = ask.Args
	case noAnswer == nil && k >= 1 && k <= len(answer.Calls):
		call.Args = answer.Calls[k-1].Args
	}
	return call.Arg("command")
}

// text returns the text of the first ref, or nil.
func (h Home) text(refs []blobs.Ref) []byte {
	bodies, err := home.Load(life.Event{Refs: refs[:min(1, len(refs))]}, h.Store)
	if err != nil || len(bodies) == 0 {
		return nil
	}
	return bodies[0].Data
}

// Job is a command that goes on beside the talk, or did.
type Job struct {
	tools.JobState
	State string `json:"state"` // running, ended or lost
}

func jobOf(id home.Identity, state tools.JobState) Job {
	_, running := home.Running(id)
	switch {
	case state.End == tools.Lost, state.Ended.IsZero() && !running:
		return Job{state, "lost"}
	case state.Ended.IsZero():
		return Job{state, "running"}
	}
	return Job{state, "ended"}
}

// Jobs returns the jobs of an identity, the newest first.
func Jobs(id home.Identity) []Job {
	list := []Job{}
	for _, s := range slices.Backward(tools.ReadJobs(id.Dir)) {
		list = append(list, jobOf(id, s))
	}
	return list
}
