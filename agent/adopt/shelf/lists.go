package shelf

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
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

// sources returns the agents of each line of the prompt, by their names.
func (s *Shelf) sources() (all [][]string) {
	names := map[string]bool{}
	for _, part := range s.kept {
		names[part.Agent] = true
	}
	for i, name := range slices.Sorted(maps.Keys(names)) {
		if i < mostSources {
			all = append(all, nil)
		}
		last := len(all) - 1
		all[last] = append(all[last], name)
	}
	return all
}

// list returns the record with the card of the months of agents, and the cards of those that have grown; none if they
// are listed so already.
func (s *Shelf) list(agents []string) (record journal.Record, err error) {
	listed, isListed, err := s.listed(agents)
	if err != nil {
		return record, err
	}
	months := map[string][]kept{}
	var all []kept
	var titles []string
	for _, agent := range agents {
		titles = append(titles, title(agent))
	}
	names := strings.Join(titles, ", ")
	for _, part := range s.kept {
		if !slices.Contains(agents, part.Agent) {
			continue
		}
		if told := s.told[part.Hash]; told.Relevance > 0 {
			part = told
		}
		name := "undated"
		if !part.From.IsZero() {
			name = part.From.UTC().Format("2006-01")
		}
		months[name] = append(months[name], part)
		all = append(all, part)
	}
	var lines []string
	for _, month := range slices.Sorted(maps.Keys(months)) {
		parts := months[month]
		together := sumOf(parts)
		ref := blobs.Ref{Gist: fmt.Sprintf("%s, %s: %s", names, month, together)}
		if ref.Hash = listed[ref.Gist]; ref.Hash == "" {
			card, err := s.month(ref.Gist, parts)
			if err != nil {
				return record, err
			}
			ref.Hash, record.Stored = card.Short, append(record.Stored, card)
		}
		lines = append(lines, mind.Listing{Ref: ref, Source: agents[0], At: together.to}.String())
	}
	if isListed && len(record.Stored) == 0 {
		return journal.Record{}, nil
	}
	together := sumOf(all)
	gist := fmt.Sprintf("%s: %s", names, together)
	if !together.from.IsZero() {
		gist += together.from.UTC().Format(", "+time.DateOnly) + together.to.UTC().Format(" to "+time.DateOnly)
	}
	card, err := s.card("months", gist, lines)
	record.Event = event.Shelved{Agents: agents, Sessions: together.sessions}
	record.Stored = append(record.Stored, card)
	return record, err
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

// month stores the card of a month. Originals that a model found to be small talk or dead ends come last.
func (s *Shelf) month(gist string, parts []kept) (mind.Ref, error) {
	isMinor := map[int]int{1: 1, 2: 1} // by its relevance
	sort.SliceStable(parts, func(i, j int) bool {
		a, b := parts[i], parts[j]
		return cmp.Or(isMinor[a.Relevance]-isMinor[b.Relevance], a.From.Compare(b.From)) < 0
	})
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

// sum is what some parts have together.
type sum struct {
	sessions, entries, summarised int
	from, to                      time.Time // of the entries; zero if unknown
}

func sumOf(parts []kept) (all sum) {
	seen := map[session]bool{}
	for _, part := range parts {
		seen[session{part.Agent, part.Session}] = true
		all.entries += part.Entries
		if part.Relevance > 0 {
			all.summarised++
		}
		isEarlier := all.from.IsZero() || part.From.Before(all.from)
		if isEarlier && !part.From.IsZero() {
			all.from = part.From
		}
		if part.To.After(all.to) {
			all.to = part.To
		}
	}
	all.sessions = len(seen)
	return all
}

// String counts what there is. It changes with each part, and with each that is summarised.
func (s sum) String() string {
	text := count(s.sessions, "session", "sessions") + ", " + count(s.entries, "entry", "entries")
	if s.summarised > 0 {
		text += fmt.Sprintf(", %d summarised", s.summarised)
	}
	return text
}

func count(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
