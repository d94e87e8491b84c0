package agent

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lethe/blobs"
	"lethe/home"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
	"lethe/request"
)

// ObeyBranch has an identity that does not run obey WishLabel and WishBack, unless it died in the middle of a
// call: then its next run ends the turn first.
func ObeyBranch(id home.Identity, cfg Config) error {
	h, err := Hold(id, cfg)
	if err != nil {
		return err
	}
	defer h.Close()
	if len(h.a.state.Owed().Calls) > 0 {
		return nil
	}
	h.a.readWishes()
	return h.a.branch()
}

// branchIfAsked obeys WishLabel and WishBack between turns. After a crash it does so again, to no effect.
func (a *Agent) branchIfAsked() error {
	asked := slices.ContainsFunc(a.wishes, func(w home.Wish) bool {
		_, label := w.Of(home.WishLabel)
		_, back := w.Of(home.WishBack)
		return label || back
	})
	if !asked || a.busy() && a.state.Paused == "" {
		return nil
	}
	return inOrder(a.dropJob, a.branch)
}

func (a *Agent) branch() error {
	for _, w := range slices.Clone(a.wishes) {
		var err error
		if label, ok := w.Of(home.WishLabel); ok {
			err = a.commit(record{Event: event.Labelled{Label: label}})
		} else if end, ok := w.Of(home.WishBack); ok {
			err = a.backTo(end)
		} else {
			continue
		}
		if err == nil {
			err = a.obeyed(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// backTo goes back to the moment that ends at an offset of LIFE.
func (a *Agent) backTo(offset string) error {
	end, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return nil
	}
	then, err := home.At(a.id, a.store, home.Moment{End: end})
	if err != nil {
		a.cfg.Log.Warn("it cannot go back", "error", err)
		return nil
	}
	return a.goBack(then)
}

//go:embed back.md
var back string

// goBack begins an epoch with the context of another moment of the life. What is live now fades as one
// original, so that it is found again.
func (a *Agent) goBack(then home.Then) error {
	next, left := a.state.Back(then.State)
	entry := mind.EntryID(then.Next - 1)
	time := then.At.UTC().Format("2006-01-02 15:04")
	head, rest, _ := strings.Cut(strings.NewReplacer("{{entry}}", entry, "{{time}}", time).Replace(back), "\n")
	told := len(left) == 1 && strings.HasPrefix(left[0].Text, head)
	if (len(left) == 0 || told) && next.Forgotten() == a.state.Forgotten() { // it is there
		return nil
	}
	done, err := home.DoneSince(a.id, a.store, then)
	if err != nil {
		return err
	}
	if usd := a.state.Usage.USD - then.Usage.USD; usd > 0 {
		done = append(done, "- spent: "+llm.Dollars(a.state.Stable.Params.Model, usd)+" USD")
	}
	did := cmp.Or(strings.Join(done, "\n"), "- nothing but talk")
	var records []record
	gone := ""
	if len(left) > 0 {
		var original strings.Builder
		for _, e := range left {
			original.WriteString(e.Original(home.BodiesOf(a.store)))
		}
		last := left[len(left)-1]
		r := mind.Range{From: left[0].N, To: last.N, Level: mind.Gist, Relevance: 5, At: last.At, Epoch: next.Epoch}
		about := blobs.Meta{
			At:     a.log.Now(),
			Gist:   fmt.Sprintf("left when you went back to %s: %s", entry, left[0].Ref.Gist),
			Parent: a.state.LastBlob,
		}
		if r.Original, err = a.log.Put(about, []byte(original.String())); err != nil {
			return err
		}
		next.Leave(r)
		records = append(records, record{Event: r.Fade(), Stored: []mind.Ref{r.Original}})
		gone = fmt.Sprintf(
			" %s to %s came after it and are no longer before you: UNCOMPACT hash=%s shows them. All the same they have happened.",
			mind.EntryID(r.From),
			mind.EntryID(r.To),
			r.Original.Short,
		)
	}
	memory := ""
	if a.state.Files[home.MemoryFile] != then.Files[home.MemoryFile] {
		now, err := a.readOwn(home.MemoryFile)
		if err != nil {
			return err
		}
		memory = "\nself/MEMORY.md was changed since; it reads now:\n" + request.CutMemory(string(now), mind.MaxMemory)
	}
	text := head + "\n" + strings.NewReplacer("{{gone}}", gone, "{{done}}", did, "{{memory}}", memory).Replace(rest)
	records = append(records, a.note(event.Note{Why: "branch", Back: entry}, "taken back to "+entry, text))
	a.state = next
	if err := a.epoch("branch", records...); err != nil {
		return err
	}
	a.forgetting.after, a.forgetting.keptChunks = a.contextTokens(), nil
	return nil
}
