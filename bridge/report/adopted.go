package report

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/home"
	"lethe/life"
	"lethe/life/event"
)

// Adopted is what an identity has adopted from an agent. What bears no date is left out.
type Adopted struct {
	Title             string
	Sessions, Entries int
	From, To          time.Time // days
	Path              string    // draws the sessions that began on each day as a line up, in a square of 100 by 100
}

// AdoptedBy returns what an identity has adopted, by agents.
func AdoptedBy(id home.Identity) (all []*Adopted, err error) {
	agents, seen := map[string]*Adopted{}, map[[2]string]bool{}
	days := map[string]map[int]int{} // of the sessions of each agent, since 1970
	err = life.Scan(id.LIFE(), func(line life.Event, _ int64) error {
		part, ok := event.As[event.Adopted](line)
		if !ok || part.Relevance > 0 || part.From.IsZero() {
			return nil
		}
		day, of := int(part.From.Unix()/daySeconds), agents[part.Agent]
		if of == nil {
			of = &Adopted{Title: part.Agent}
			if known := adopt.Find(part.Agent); known != nil {
				of.Title = known.Title
			}
			agents[part.Agent], days[part.Agent] = of, map[int]int{}
		}
		of.Entries += part.Entries
		if session := [2]string{part.Agent, part.Session}; !seen[session] {
			seen[session] = true
			of.Sessions++
			days[part.Agent][day]++
		}
		return nil
	})
	for agent, of := range agents {
		of.draw(days[agent])
		all = append(all, of)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Title < all[j].Title })
	return all, id.Unread(err)
}

const daySeconds = 24 * 60 * 60

func (a *Adopted) draw(sessions map[int]int) {
	days := slices.Sorted(maps.Keys(sessions))
	first, last := days[0], days[len(days)-1]
	a.From, a.To = time.Unix(int64(first)*daySeconds, 0).UTC(), time.Unix(int64(last)*daySeconds, 0).UTC()
	most := slices.Max(slices.Collect(maps.Values(sessions)))
	for _, day := range days {
		x := Hundredths(day-first, last-first)
		a.Path += fmt.Sprintf("M%.1f 100V%.1f", x, 100-Hundredths(sessions[day], most))
	}
}
