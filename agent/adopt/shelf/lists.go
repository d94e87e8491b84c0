package shelf

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

// mostSources bounds the lines of the prompt; the last one is for all other agents.
const mostSources = 5

// lists returns a record for each source of which something is new.
func (s *Shelf) lists() (records []journal.Record, err error) {
	for _, agents := range s.sources() {
		record, err := s.list(agents)
		if err != nil {
			return nil, err
		}
		if record.Event != nil {
			records = append(records, record)
		}
	}
	return records, nil
}

// sources returns the agents of each line of the prompt.
func (s *Shelf) sources() (all [][]string) {
	counts := map[string]int{}
	for _, part := range s.kept {
		counts[part.Agent]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		if i < mostSources {
			all = append(all, nil)
		}
		last := len(all) - 1
		all[last] = append(all[last], name)
	}
	return all
}

// month is what was adopted of an agent from a month.
type month struct{ agent, name string }

// list returns the record with the card of the months of agents, and the cards of those that have grown; none if they
// are listed so already.
func (s *Shelf) list(agents []string) (record journal.Record, err error) {
	listed, isListed, err := s.listed(agents)
	if err != nil {
		return record, err
	}
	months := map[month][]kept{}
	var all []kept
	for _, part := range s.kept {
		if !slices.Contains(agents, part.Agent) {
			continue
		}
		name := "undated"
		if !part.From.IsZero() {
			name = part.From.UTC().Format("2006-01")
		}
		months[month{part.Agent, name}] = append(months[month{part.Agent, name}], part)
		all = append(all, part)
	}
	var lines []string
	for _, m := range slices.SortedFunc(maps.Keys(months), month.compare) {
		parts := months[m]
		ref := blobs.Ref{Gist: fmt.Sprintf("%s, %s: %s", title(m.agent), m.name, total(parts))}
		if ref.Hash = listed[ref.Gist]; ref.Hash == "" {
			card, err := s.month(ref.Gist, parts)
			if err != nil {
				return record, err
			}
			ref.Hash, record.Stored = card.Short, append(record.Stored, card)
		}
		lines = append(lines, mind.Listing{Ref: ref, Source: m.agent, At: span(parts).To}.String())
	}
	if isListed && len(record.Stored) == 0 {
		return journal.Record{}, nil
	}
	var titles []string
	for _, agent := range agents {
		titles = append(titles, title(agent))
	}
	gist := fmt.Sprintf("%s: %s", strings.Join(titles, ", "), total(all))
	if days := span(all); !days.From.IsZero() {
		gist += fmt.Sprintf(", %s to %s", days.From.UTC().Format(time.DateOnly), days.To.UTC().Format(time.DateOnly))
	}
	card, err := s.card("months", gist, lines)
	record.Event = event.Shelved{Agents: agents, Sessions: len(sessions(all))}
	record.Stored = append(record.Stored, card)
	return record, err
}

func (m month) compare(other month) int {
	return cmp.Or(cmp.Compare(m.name, other.name), cmp.Compare(m.agent, other.agent))
}

// listed returns the cards of months that the prompt's cards of agents list, by their gists. is is true if one of these
// cards is of these agents.
func (s *Shelf) listed(agents []string) (months map[string]string, is bool, err error) {
	months = map[string]string{}
	for _, source := range s.State.Adopted {
		is = is || slices.Equal(source.Agents, agents)
		blob, err := s.Store.Get(source.List.Hash)
		if err != nil {
			return nil, false, fmt.Errorf("read the list of what was adopted: %w", err)
		}
		for _, line := range mind.ReadCard(blob.Body) {
			months[line.Ref.Gist] = line.Ref.Hash
		}
	}
	return months, is, nil
}

// month stores the card of a month.
func (s *Shelf) month(gist string, parts []kept) (mind.Ref, error) {
	slices.SortStableFunc(parts, func(a, b kept) int { return a.From.Compare(b.From) })
	var lines []string
	for _, part := range parts {
		lines = append(lines, mind.Listing{Ref: part.Ref, Source: part.Agent, At: part.To}.String())
	}
	return s.card("originals", gist, lines)
}

func (s *Shelf) card(what, gist string, lines []string) (mind.Ref, error) {
	body := fmt.Sprintf("%d %s, oldest first. Open one by its hash.\n%s\n", len(lines), what, strings.Join(lines, "\n"))
	return s.put(secret.Text(gist), secret.Bytes([]byte(body)))
}

func title(agent string) string {
	if known := adopt.Find(agent); known != nil {
		return known.Title
	}
	return agent
}

// sessions returns the sessions of parts.
func sessions(parts []kept) map[session]bool {
	all := map[session]bool{}
	for _, part := range parts {
		all[session{part.Agent, part.Session}] = true
	}
	return all
}

// total counts the sessions and entries of parts. It grows with each part.
func total(parts []kept) string {
	entries := 0
	for _, part := range parts {
		entries += part.Entries
	}
	return fmt.Sprintf("%s, %s", count(len(sessions(parts)), "session", "s"), count(entries, "entr", "ies"))
}

func count(n int, one, many string) string {
	switch {
	case n != 1:
		one += many
	case many == "ies":
		one += "y"
	}
	return fmt.Sprintf("%d %s", n, one)
}

// span returns the time from the first entry of parts to the last; zero if it is unknown.
func span(parts []kept) (all event.Adopted) {
	for _, part := range parts {
		isEarlier := all.From.IsZero() || part.From.Before(all.From)
		if isEarlier && !part.From.IsZero() {
			all.From = part.From
		}
		if part.To.After(all.To) {
			all.To = part.To
		}
	}
	return all
}
