package journal

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

// BranchOffline is Branch for an identity that does not run. If it died in the middle of a call, it stays as it is:
// its next run ends the turn first.
func BranchOffline(place home.Home, id home.Identity, store *blobs.Store) error {
	j, err := Hold(place, id, store, nil)
	if err != nil {
		return err
	}
	defer j.Close()
	if len(j.State.Owed().Calls) > 0 {
		return nil
	}
	return Branch(j, home.Wishes(id))
}

// Branch takes the life back to the moment that a wish names, and labels this moment as a wish says. It leaves other
// wishes alone.
func Branch(j *Journal, wishes []home.Wish) (err error) {
	for _, wish := range wishes {
		label, labelled := wish.Of(home.WishLabel)
		end, back := wish.Of(home.WishBack)
		if labelled {
			err = j.Commit(Record{Event: event.Labelled{Label: label}})
		} else if back {
			err = goBack(j, end)
		} else {
			continue
		}
		if err == nil {
			err = wish.Drop(j.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

//go:embed back.md
var back string

// goBack begins an epoch with the context of the moment of the life that ends at an offset of LIFE. What is live now
// fades as one original, so that it is found again.
func goBack(j *Journal, offset string) error {
	end, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return nil
	}
	then, err := home.At(j.ID, j.Store, home.Moment{End: end})
	if err != nil {
		return nil // there is no such moment
	}
	state := j.State
	next, left := state.Back(then.State)
	entry := mind.EntryID(then.Next - 1)
	head, rest, _ := strings.Cut(back, "\n")
	head = strings.NewReplacer("{{entry}}", entry, "{{time}}", then.At.UTC().Format("2006-01-02 15:04")).Replace(head)
	told := len(left) == 1 && strings.HasPrefix(left[0].Text, head)
	changesNothing := len(left) == 0 || told
	if changesNothing && next.Forgotten() == state.Forgotten() { // it is there
		return nil
	}
	done, err := home.DoneSince(j.ID, j.Store, then)
	if err != nil {
		return err
	}
	if usd := state.Usage.USD - then.Usage.USD; usd > 0 {
		done = append(done, "- spent: "+llm.Dollars(state.Stable.Params.Model, usd)+" USD")
	}
	did := cmp.Or(strings.Join(done, "\n"), "- nothing but talk")
	var records []Record
	gone := ""
	if len(left) > 0 {
		var original strings.Builder
		for _, e := range left {
			original.WriteString(e.Original(home.BodiesOf(j.Store)))
		}
		last := left[len(left)-1]
		r := mind.Range{From: left[0].N, To: last.N, Level: mind.Gist, Relevance: 5, At: last.At, Epoch: next.Epoch}
		gist := fmt.Sprintf("left when you went back to %s: %s", entry, left[0].Ref.Gist)
		r.Original, err = j.Put(blobs.Meta{Gist: gist, Parent: state.LastBlob}, []byte(original.String()))
		if err != nil {
			return err
		}
		next.Leave(r)
		records = append(records, Record{Event: r.Fade(), Stored: []mind.Ref{r.Original}})
		gone = fmt.Sprintf(
			" %s to %s came after it and are no longer before you: UNCOMPACT hash=%s shows them. All the same they have happened.",
			mind.EntryID(r.From),
			mind.EntryID(r.To),
			r.Original.Short,
		)
	}
	memory := ""
	if state.Files[home.MemoryFile] != then.Files[home.MemoryFile] {
		now, err := j.ReadOwn(home.MemoryFile)
		if err != nil {
			return err
		}
		memory = "\nself/MEMORY.md was changed since; it reads now:\n" + mind.CutMemory(string(now), mind.MaxMemory)
	}
	rest = strings.NewReplacer("{{gone}}", gone, "{{done}}", did, "{{memory}}", memory).Replace(rest)
	state.Become(next)
	note := Told(event.Note{Why: "branch", Back: entry}, "taken back to "+entry, head+"\n"+rest)
	return j.Epoch("branch", nil, append(records, note)...)
}
