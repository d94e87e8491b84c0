package replay

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// What a day of a coding agent costs with the default settings, and that it costs hardly more where few tasks end with an
// answer, or none; cmd/lab/README.md has the figures.
func TestCostOfADay(t *testing.T) {
	if !lethetest.Long() {
		t.Skip("takes minutes; LETHE_LONG=1 runs it")
	}
	days, err := Days(t.Context(), func(string) {})
	lethetest.Must(t, err)
	for _, d := range days {
		t.Logf("%s\n%s", d.Name(), d.Report)
		if faults := d.Faults(); len(faults) > 0 {
			t.Errorf("%s: %q", d.Name(), faults)
		}
		step := float64(d.Report.History.Tokens) / float64(d.Report.Main.Requests)
		if d.Step > 0 && d.Every == 1 && math.Abs(step/float64(d.Step)-1) > 0.03 {
			t.Errorf("steps of %.0f tokens, not %d", step, d.Step)
		}
	}
}

// Of the summaries that are asked for at most one in ten is not used, of work and of talk, where the limit is small too.
func TestSummariesAreUsed(t *testing.T) {
	for name, items := range map[string][]Item{
		"work": history(300, 300, 3), "work without an end": ended(history(300, 300, 4), 0), "talk": talk(t, 0),
		"talk without an end": talk(t, 1),
	} {
		for _, limit := range []int{15_000, 20_000, 36_000} {
			o := Default()
			o.Limit, o.MaxTokens = limit, min(2500, limit/6)
			r := replayed(t, items, o)
			t.Logf("%s, limit %d\n%s", name, limit, r)
			if 10*r.Unused > r.Summaries || limit < 36_000 && r.Summaries == 0 || r.Delayed+r.Over > 0 || r.Reach.Near() < 0.999999 {
				t.Errorf("%s, limit %d: of %d summaries %d were not used\n%s", name, limit, r.Summaries, r.Unused, r)
			}
		}
	}
}

// talk is a trace of the two plays of cmd/lab/plays, one after the other and each twice: what people say in them, read from files
// where they name one, with short answers, which so many calls post.
func talk(t *testing.T, calls int) (out []Item) {
	t.Helper()
	for _, name := range []string{"club", "service", "club", "service"} {
		script := lethetest.Page(t, "../cmd/lab/plays/"+name+".txt")
		files, file := map[string]string{}, ""
		for line := range strings.Lines(script) {
			who, text, said := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case line == ".\n":
				file = ""
			case file != "":
				files[file] += line
			case strings.HasPrefix(line, "file "):
				file = strings.TrimSpace(line[5:])
			case said && !strings.ContainsAny(who, " #="):
				out = append(out, Item{User, who + ": " + text})
				for _, named := range slices.Sorted(maps.Keys(files)) {
					if strings.Contains(text, named) {
						out = append(out, Item{Asst, "I look at " + named}, Item{Tool, files[named]})
					}
				}
				out = append(out, Item{Asst, "I keep in mind, " + who + ": " + text[:len(text)/2]})
				out = append(out, slices.Repeat([]Item{{Tool, "It is in the room."}}, calls)...)
			}
		}
	}
	return out
}
