package agent

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
)

// AskToBranch asks an identity to give the present moment a label, or, without one, to go back to the moment that ends at
// an offset of its LIFE. One that runs does so when no turn is under way; for another there is ObeyBranch.
func AskToBranch(id Identity, label string, to int64) error {
	return durable.WriteFile(filepath.Join(id.Dir, branchFile), fmt.Appendln(nil, to, label), 0o600)
}

// BranchPending reports whether an identity has yet to do what AskToBranch has asked.
func BranchPending(id Identity) bool { return requested(id, branchFile) }

// ObeyBranch has an identity that does not run do what AskToBranch has asked, unless it died in the middle of a
// call: then its next run ends the turn first.
func ObeyBranch(id Identity, cfg Config) error {
	h, err := Hold(id, cfg)
	if err != nil {
		return err
	}
	defer h.Close()
	if !BranchPending(id) || len(h.a.state.Owed().Calls) > 0 {
		return nil
	}
	return h.a.branch()
}

// branchIfAsked does what AskToBranch has asked. After a crash it does so again, to no effect.
func (a *Agent) branchIfAsked() error {
	if !a.asked.branch || a.busy() && a.state.Paused == "" {
		return nil
	}
	return inOrder(a.dropJob, a.branch)
}

func (a *Agent) branch() error {
	var to int64
	var label string
	text, _, err := durable.ReadRegular(filepath.Join(a.id.Dir, branchFile), maxOwn)
	_, _ = fmt.Sscan(string(text), &to, &label)
	if err == nil && label != "" {
		err = a.commit(record{event: event.Labelled{Label: label}})
	} else if err == nil {
		then, bad := At(a.id, a.store, Moment{End: to})
		if bad != nil {
			a.cfg.Log.Warn("it cannot go back", "error", bad)
		} else {
			err = a.goBack(then)
		}
	}
	if err != nil {
		return err
	}
	return clearRequest(a.id, branchFile)
}

//go:embed back.md
var back string

// goBack begins an epoch with the context of another moment of the life. What is live now fades as one
// original, so that it is found again.
func (a *Agent) goBack(then Then) error {
	next, left := a.state.Back(then.State)
	entry := mind.EntryID(then.Next - 1)
	time := then.At.UTC().Format("2006-01-02 15:04")
	head, rest, _ := strings.Cut(strings.NewReplacer("{{entry}}", entry, "{{time}}", time).Replace(back), "\n")
	told := len(left) == 1 && strings.HasPrefix(left[0].Text, head)
	if (len(left) == 0 || told) && next.Forgotten() == a.state.Forgotten() { // it is there
		return nil
	}
	done, err := a.since(then)
	if err != nil {
		return err
	}
	var records []record
	gone := ""
	if len(left) > 0 {
		var original strings.Builder
		for _, e := range left {
			original.WriteString(e.Original(bodiesOf(a.store)))
		}
		last := left[len(left)-1]
		r := mind.Range{From: left[0].N, To: last.N, Level: mind.Gist, Relevance: 5, At: last.At, Epoch: next.Epoch}
		about := blobs.Meta{At: a.now(), Gist: fmt.Sprintf("left when you went back to %s: %s", entry, left[0].Ref.Gist), Parent: a.state.LastBlob}
		if r.Original, err = a.put(about, []byte(original.String())); err != nil {
			return err
		}
		next.LastBlob = r.Original.Hash
		next.Keep(r)
		records = append(records, record{event: r.Fade(), stored: []mind.Ref{r.Original}})
		gone = fmt.Sprintf(" %s to %s came after it and are no longer before you: UNCOMPACT hash=%s shows them. All the same they have happened.",
			mind.EntryID(r.From), mind.EntryID(r.To), r.Original.Short)
	}
	memory := ""
	if a.state.Files[memoryFile] != then.Files[memoryFile] {
		now, err := a.files.read(memoryFile)
		if err != nil {
			return err
		}
		memory = "\nself/MEMORY.md was changed since; it reads now:\n" + cutMemory(string(now), mind.MaxMemory)
	}
	text := head + "\n" + strings.NewReplacer("{{gone}}", gone, "{{done}}", done, "{{memory}}", memory).Replace(rest)
	records = append(records, a.note(event.Note{Why: "branch", Back: entry}, "taken back to "+entry, text))
	a.state = next
	if err := a.epoch("branch", records...); err != nil {
		return err
	}
	a.forgetting.after, a.forgetting.keptChunks = a.contextTokens(), nil
	return nil
}

// harmless are the tools of which a note says nothing, since they change nothing; what SAY said is told as posted.
var harmless = []string{"READ_FILE", "LIST", "UNCOMPACT", "RECALL", "COMPACT", "WAIT", "SAY"}

// since tells what was done behind a moment that nobody can undo: calls and what they were about, lines said, money.
func (a *Agent) since(then Then) (string, error) {
	about := map[string][]string{}
	var answer mind.Answer
	from := life.Mark{Offset: then.End}
	err := life.ReadOn(a.id.LIFE(), &from, func(line life.Event, _ bool) (err error) {
		switch e, perr := event.Parse(line); e := e.(type) {
		case event.Reply:
			bodies, err := load(line, a.store)
			if err == nil {
				answer, err = mind.DecodeAnswer(bodies[0].Data)
			}
			return err
		case event.Call:
			if _, k, err := mind.ParseID(e.ID); err == nil && k <= len(answer.Calls) && !slices.Contains(harmless, e.Tool) {
				about[e.Tool] = append(about[e.Tool], blobs.Gist((&mind.Call{Args: answer.Calls[k-1].Args}).Target()))
			}
		case event.Run:
			about[e.Tool] = append(about[e.Tool], "approved as "+e.ID)
		case event.Posted:
			about["lines that you said"] = append(about["lines that you said"], "room "+e.Room)
		default:
			return perr
		}
		return nil
	})
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(about)) {
		n := len(about[what])
		slices.Sort(about[what])
		lines = append(lines, fmt.Sprintf("- %s (%d): %s", what, n, mind.CutRunes(strings.Join(slices.Compact(about[what]), "; "), 500)))
	}
	if usd := a.state.Usage.USD - then.Usage.USD; usd > 0 {
		lines = append(lines, "- spent: "+llm.Dollars(a.state.Stable.Params.Model, usd)+" USD")
	}
	return cmp.Or(strings.Join(lines, "\n"), "- nothing but talk"), err
}
