package compactor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
	"lethe/mind"
	"lethe/mind/audience"
)

func TestMain(m *testing.M) {
	if !lethetest.Long() {
		_ = flag.Set("rapid.checks", "20") // it is there
	}
	goleak.VerifyTestMain(m)
}

// due is a life with enough to forget, and the job that does it.
func due(t lethetest.Failer) (*world, Job) {
	w := newWorld(t, 60_000)
	w.turns(20, 1500)
	return w, w.plan()
}

// ran runs a job, and checks that the model has made all of its fades, or none.
func ran(t *testing.T, j Job, model *scripted, mechanical bool) []Fade {
	t.Helper()
	fades := j.fades(t.Context(), model)
	complete(t, j, fades)
	for _, f := range fades {
		if f.Gist != "" && f.Mechanical != mechanical {
			t.Errorf("e%d..e%d: mechanical is %v: %q", f.From, f.To, f.Mechanical, f.Summary)
		}
	}
	return fades
}

// ready are the chunks that fade.
func ready(fades []Fade) []Fade {
	return slices.DeleteFunc(slices.Clone(fades), func(f Fade) bool { return f.Gist == "" })
}

func TestRunAsksForkedQuestions(t *testing.T) {
	w, j := due(t)
	frozen := w.state.Messages("")
	model := able(9, 5)
	fades := ran(t, j, model, false)
	if model.count(Segment) != 1 || model.count(Summarise) != len(ready(fades)) || len(fades) < 5 || len(ready(fades)) == len(fades) {
		t.Errorf("%d SEGMENT and %d SUMMARISE calls for %d fades", model.count(Segment), model.count(Summarise), len(fades))
	}
	for _, a := range model.asked {
		if !a.Fork || len(a.Messages) != len(frozen)+1 || fmt.Sprint(a.Messages[:len(frozen)]) != fmt.Sprint(frozen) {
			t.Fatalf("%s is no fork: %d messages, the request has %d", a.Task, len(a.Messages), len(frozen))
		}
		last := a.Messages[len(frozen)]
		if last.Role != "user" || !strings.HasPrefix(last.Content.String(), "<task name=") ||
			!strings.HasSuffix(last.Content.String(), "</task>") {
			t.Errorf("the task is %q", last.Content.String())
		}
	}
	for _, f := range ready(fades) {
		if f.Relevance != 5 || !strings.HasPrefix(f.Summary, "what e") {
			t.Errorf("the model's summary was not taken: %+v", f)
		}
	}
}

// Where chunks are plain to see nobody is asked for them: few turns, or turns that are chunks. One call cuts all
// the runs that are not plain.
func TestRunCutsWhatIsPlainByItself(t *testing.T) {
	for tokens, want := range map[int]int{3000: 0, 700: 1} {
		w := newWorld(t, 60_000)
		w.turns(30_000/tokens, tokens)
		model := able(9, 5)
		ran(t, w.plan(), model, false)
		if n := model.count(Segment); n != want {
			t.Errorf("%d SEGMENT calls for turns of %d tokens, want %d", n, tokens, want)
		}
	}
	w := newWorld(t, 60_000)
	w.hear("ada", "please migrate it all")
	for i := range 120 {
		if i == 40 {
			w.hear("bob", "and keep the tests")
		}
		w.reply("a step", strings.Repeat("some output\n", 80))
	}
	model := able(5, 5)
	if j := w.plan(); len(j.runs) != 2 {
		t.Fatalf("%d runs", len(j.runs))
	}
	ran(t, w.plan(), model, false)
	if n := model.count(Segment); n != 1 {
		t.Errorf("%d SEGMENT calls for two runs", n)
	}
}

// Several subjects are cut by SEGMENT however few tokens they have, so that no gist has to tell of more than it can.
func TestRunAsksAboutManyShortTalks(t *testing.T) {
	for talks, want := range map[int]int{3: 0, 8: 1} {
		w := newWorld(t, 14_000)
		w.set.Target = 0
		for i := range talks {
			w.hear("ada", fmt.Sprintf("subject %d: %s", i, strings.Repeat("it is another one. ", 60/talks)))
			w.reply("noted")
		}
		w.turns(3, 2000)
		j := w.plan()
		j.runs = [][]unit{j.runs[0][:2*talks]}
		if n := size(j.runs[0]); n > 2*minChunk {
			t.Fatalf("%d tokens are not short", n)
		}
		model := able(2, 5)
		_ = j.fades(t.Context(), model)
		if n := model.count(Segment); n != want {
			t.Errorf("%d SEGMENT calls for %d talks, want %d", n, talks, want)
		}
	}
}

// What is too short for a summary of its own, in rooms apart, is cut and named by one call. What that leaves out, or
// names together with others, is asked for as ever.
func TestRunNamesBriefTalksAtOnce(t *testing.T) {
	w := newWorld(t, 14_000)
	w.set.Target = 0
	rooms := []string{"ann", "ben"}
	for i := range 4 {
		w.hear([]string{"ann", "ben"}[i%2], fmt.Sprintf("From now on call me number %d. Never say it to others.", i))
		w.state.Live[len(w.state.Live)-1].Room = rooms[i%2]
		w.reply("I will.")
	}
	w.turns(6, 1500)
	for _, name := range rooms {
		w.state.Rooms[name] = &mind.Room{Readers: audience.Readers{name}}
	}
	j := w.plan()
	if len(j.runs) != 5 || !brief(j.runs[3]) {
		t.Fatalf("%d runs", len(j.runs))
	}
	j.runs = j.runs[:4]
	model := able(2, 5)
	others := model.answer
	model.answer = func(ctx context.Context, a Ask) (string, error) {
		if a.Task == Segment {
			return `{"chunks":[{"from":"e1","to":"e2","gist":"ann's name","pins":["From now on call me number 0."],"relevance":7},
				{"from":"e3","to":"e4","topics":["a name"]},{"from":"e5","to":"e8","gist":"both"}]}`, nil
		}
		return others(ctx, a)
	}
	fades := j.fades(t.Context(), model)
	if model.count(Segment) != 1 || model.count(Summarise) != 3 || len(fades) != 4 {
		t.Fatalf("%d SEGMENT and %d SUMMARISE calls for %d chunks", model.count(Segment), model.count(Summarise), len(fades))
	}
	f := fades[0]
	if f.Gist != "ann's name" || f.Relevance != 7 || f.Summary != "" || f.Mechanical || len(f.pins) != 1 ||
		f.pins[0].Text != "ann: From now on call me number 0. Never say it to others." || fades[2].Gist == "both" {
		t.Errorf("it is named %+v, the third %q", f, fades[2].Gist)
	}
	w.swap(fades)
	if past := w.state.Stable.Past; !strings.Contains(past, "◆ e1..e2 gist ◱hash=") || !strings.Contains(past, "gist=(ann) ann's name◲") {
		t.Errorf("the past is\n%s", past)
	}
	model = &scripted{answer: func(context.Context, Ask) (string, error) { return "prose", nil }}
	j.runs = j.runs[:1]
	if fades := j.fades(t.Context(), model); len(fades) != 1 || !fades[0].Mechanical || fades[0].Summary == "" {
		t.Errorf("without an answer it is %+v", fades)
	}
}

// Where a fork would not fit, or another model is asked, requests stand alone.
func TestRunAloneWhenAForkDoesNotFit(t *testing.T) {
	for name, set := range map[string]func(*Settings, int){
		"other model": func(s *Settings, _ int) { s.Alone = true },
		"no room":     func(s *Settings, base int) { s.Limit = base + 100 },
	} {
		w := newWorld(t, 60_000)
		w.turns(20, 1000)
		set(&w.set, w.plan().render().base)
		model := able(9, 5)
		ran(t, w.plan(), model, false)
		for _, a := range model.asked {
			if a.Fork || len(a.Messages) != 2 || a.Messages[0].Content.String() != w.state.Stable.System {
				t.Fatalf("%s: %s does not stand alone", name, a.Task)
			}
			user := a.Messages[1].Content.String()
			from, to := taskRange(a)
			if !strings.Contains(user, fmt.Sprintf("\n◆ e%d ", from)) || !strings.Contains(user, fmt.Sprintf("\n◆ e%d ", to)) ||
				!strings.Contains(user, "◆ memory\nnotes") {
				t.Errorf("%s: %s lacks its entries or the notes:\n%.300s", name, a.Task, user)
			}
			if strings.Contains(user, fmt.Sprintf("\n◆ e%d ", to+1)) && a.Task == Summarise {
				t.Errorf("%s: a chunk brings more than its entries", name)
			}
		}
	}
	w, _ := due(t)
	w.set.Limit = 6050 // nothing fits
	model := able(9, 5)
	ran(t, w.plan(), model, true)
	if n := len(model.asked); n != 0 {
		t.Errorf("%d requests over the limit", n)
	}
}

// Every class of garbage is asked for once more, and then done mechanically.
func TestRunRepairsGarbage(t *testing.T) {
	garbage := map[string]string{
		"blank": " \n\t ", "prose": "I would rather not.", "half": `{"chunks":[{"from":"e1","to":`, "empty object": "{}",
		"no ranges": `{"chunks":[],"summary":""}`, "wrong types": `{"chunks":"all of them","summary":12}`,
		"unknown entries": `{"chunks":[{"from":"e9000","to":"e9009"}],"summary":null}`,
		"numbers too big": `{"chunks":[{"from":"e99999999999999999999","to":"e999999999999999999999"}]}`,
		"html":            "<html>503</html>", "deep": strings.Repeat("{", 5000),
		"long summary": `{"chunks":[{"from":null}],"summary":"` + strings.Repeat("long ", 20_000) + `"}`,
		"null":         "null",
	}
	for name, answer := range garbage {
		_, j := due(t)
		model := &scripted{answer: func(context.Context, Ask) (string, error) { return answer, nil }}
		fades, failure := j.Run(t.Context(), model)
		complete(t, j, fades)
		if slices.ContainsFunc(ready(fades), func(f Fade) bool { return !f.Mechanical }) || failure == nil ||
			failure.Error() != "none of its answers could be used" {
			t.Errorf("%s: the failure is %v, the fades %+v", name, failure, fades)
		}
		if model.count(Segment) != 2 || model.count(Summarise) != 2*len(ready(fades)) {
			t.Errorf("%s: %d SEGMENT calls, %d SUMMARISE calls for %d chunks: want two each", name, model.count(Segment),
				model.count(Summarise), len(fades))
		}
		retry := model.asked[1].Messages[len(model.asked[1].Messages)-1].Content.String()
		if !strings.Contains(retry, "Your last answer could not be used: ") || strings.Contains(retry, "unusable") {
			t.Errorf("%s: the second try does not say what was wrong", name)
		}
	}
}

// The second try counts.
func TestRunRetriesOnce(t *testing.T) {
	_, j := due(t)
	good := able(9, 5)
	model := &scripted{answer: func(ctx context.Context, a Ask) (string, error) {
		if !strings.Contains(a.Messages[len(a.Messages)-1].Content.String(), "it called a tool") {
			return "", fmt.Errorf("%w: it called a tool", ErrGarbage)
		}
		answer, err := good.Ask(ctx, a)
		return "Sure! Here it is:\n```json\n" + answer + "\n```\nAnything else?", err
	}}
	ran(t, j, model, false)
}

// A provider that keeps failing is not hammered.
func TestRunGivesUpOnAFailingProvider(t *testing.T) {
	w := newWorld(t, 60_000)
	w.turns(20, 1500)
	w.set.Parallel = 2
	j := w.plan()
	good := able(1, 5)
	model := &scripted{answer: func(ctx context.Context, a Ask) (string, error) {
		if a.Task == Segment {
			return good.Ask(ctx, a)
		}
		return "", errProvider
	}}
	fades, failure := j.Run(t.Context(), model)
	complete(t, j, fades)
	if !errors.Is(failure, errProvider) {
		t.Errorf("the failure is %v", failure)
	}
	if n := model.count(Summarise); n < maxFailures || n >= maxFailures+w.set.Parallel {
		t.Errorf("%d calls failed, want %d, and those that ran at the same time", n, maxFailures)
	}
}

// A summariser that hangs is waited for until the context ends, and no longer.
func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, j := due(t)
		model := &scripted{answer: func(ctx context.Context, _ Ask) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		began := time.Now()
		complete(t, j, j.fades(ctx, model))
		if took := time.Since(began); took != 10*time.Minute || len(model.asked) != 1 {
			t.Errorf("it took %s and %d calls", took, len(model.asked))
		}
	})
}

// What stays live is chosen before summaries are asked for. It keeps its bounds and has none yet, and is asked about
// once, when it fades. It matters a little less each time.
func TestRunRemembersWhatItKnows(t *testing.T) {
	w := newWorld(t, 60_000)
	w.turns(20, 1500)
	first := able(9, 5)
	out := w.forget(first)
	if len(w.kept) == 0 || first.count(Summarise) != out.Faded {
		t.Fatalf("%d stayed, %d faded, %d summaries were asked for", len(w.kept), out.Faded, first.count(Summarise))
	}
	known := w.kept
	w.turns(4, 1500)
	j := w.plan()
	second := able(9, 4)
	w.set.Target = 0
	fades := w.plan().fades(t.Context(), second)
	for _, f := range fades {
		for _, k := range known {
			if f.From == k.From && (f.To != k.To || f.Mechanical || k.Gist != "" || f.stays != 1) {
				t.Errorf("of e%d..e%d came %+v", k.From, k.To, f)
			}
		}
	}
	for _, a := range second.asked {
		from, to := taskRange(a)
		if a.Task == Segment && slices.ContainsFunc(known, func(f Fade) bool { return from <= f.From && f.To <= to }) {
			t.Errorf("e%d..e%d is cut again", from, to)
		}
	}
	if second.count(Summarise) != len(fades) {
		t.Errorf("%d summaries for %d chunks", second.count(Summarise), len(fades))
	}
	// What came of a job that brought nothing else stands until it fades.
	w.kept = fades
	third := able(9, 4)
	if again := w.plan().fades(t.Context(), third); len(third.asked) > 0 || len(again) != len(fades) || again[0].Summary != fades[0].Summary {
		t.Errorf("%d calls for %d chunks that have their summaries", len(third.asked), len(fades))
	}
	complete(t, j, j.Mechanical())
	w.kept = known
	// An edit makes a chunk unknown again.
	edited := known[0].From
	lethetest.Must(t, w.state.Amend(mind.Edit{Changed: []mind.Change{{N: edited, Text: "a person was here"}}}, w.put))
	for _, f := range w.plan().kept {
		if f.From <= edited && edited <= f.To {
			t.Errorf("e%d was edited and is still known as it was", edited)
		}
	}
}

// A panic in the model's client, in a goroutine that nobody else could recover,
// costs one answer and not the process.
func TestRunSurvivesAPanic(t *testing.T) {
	_, j := due(t)
	ran(t, j, &scripted{answer: func(context.Context, Ask) (string, error) { panic("a broken client") }}, true)
}
