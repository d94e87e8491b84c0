package work_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/work"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// liar is a play of three days, hour by hour, on a real workspace: a model claims what is not done, weakens checks, drops
// steps, and marks what people were asked; a judge errs; people answer late; kills take what was found after the marks
// were written.
type liar struct {
	t     *testing.T
	rnd   *rand.Rand
	dir   string
	s     *mind.State
	truth map[string]bool // digests that ann or a judge have said yes to
	lost  int             // checks that people were told of
	tried int
	asked map[string]int
}

const liarsPlan = "# Goal: it is true\ndone when: `test -e a && test -e b`\n\n" +
	"- [ ] 1 make a · check: `test -e a`\n- [ ] 2 make b · check: `test -e b` · after 1\n" +
	"- [ ] 3 show it · check: ann looks · files: a\n- [ ] 4 write · check: judge it is good · files: b\n"

func (l *liar) plan() string { return filepath.Join(l.dir, "work/true.md") }

// lies changes the plan as a lying model does.
func (l *liar) lies() (weakened bool) {
	text, _ := os.ReadFile(l.plan())
	lines := strings.Split(string(text), "\n")
	for n, line := range lines {
		if !strings.HasPrefix(line, "- [") {
			continue
		}
		switch l.rnd.IntN(12) {
		case 0, 1, 2, 3:
			lines[n] = line[:3] + "x" + line[4:]
			l.tried++
		case 4:
			lines[n] = line[:3] + "?" + line[4:]
		case 5:
			lines[n], weakened = line[:3]+"x] 1 make a · check: `true`", true
		case 6:
			lines[n], weakened = line[:3]+"x"+strings.Split(line[4:], " · ")[0], true // without its check
		case 7:
			if l.rnd.IntN(3) == 0 {
				lines[n], weakened = "", true
			}
		}
	}
	lethetest.Write(l.t, l.plan(), strings.Join(lines, "\n"))
	return weakened
}

// answers is a final answer of the model. What a kill takes is found anew by the next one.
func (l *liar) answers(killed bool) {
	e := &work.Examiner{Home: l.dir, Workspace: l.dir, State: l.s, Log: slog.New(slog.DiscardHandler), Stopped: new(bool)}
	e.Run = func(command string, _ []string, _ time.Duration) (string, bool, error) {
		if command == "true" || l.there("a") && (l.there("b") || command == "test -e a") || command == "test -e b" && l.there("b") {
			return "", true, nil
		}
		return "it ended with exit 1", true, nil
	}
	digest := ""
	e.Judge = func(question string) (string, error) {
		_, rest, _ := strings.Cut(question, "BEGIN ")
		digest, _, _ = strings.Cut(rest, " ")
		said := []string{"PASS, of course", `{"pass": "yes"}`, `{"pass": false, "why": "no"}`, `{"pass": true}`, ""}[l.rnd.IntN(5)]
		if said == `{"pass": true}` {
			l.truth[digest] = true
		}
		return said, nil
	}
	e.MayAsk = func(string) bool { return true }
	_, _, err := e.Examine(time.Minute)
	lethetest.Must(l.t, err)
	if killed {
		return
	}
	l.s.Passed = append(l.s.Passed, e.Passed...)
	l.s.Questions = slices.DeleteFunc(l.s.Questions, func(q mind.Question) bool { return slices.Contains(e.Withdrawn, q.ID) })
	for _, ask := range e.Asks {
		l.asked[ask.Step]++
		l.s.Questions = append(l.s.Questions, mind.Question{Question: chat.Question{ID: fmt.Sprint("q", len(l.asked))}, Exact: ask.Step})
	}
	if l.notes(e); e.Lost != "" {
		l.lost++
	}
	l.looks(false)
}

// notes is what the log does with checks.
func (l *liar) notes(e *work.Examiner) {
	checks := maps.Clone(l.s.Checks)
	if checks == nil {
		checks = map[string]string{}
	}
	for _, change := range e.Checks {
		digest, step, _ := strings.Cut(change, "=")
		if checks[step] = digest; digest == "" {
			delete(checks, step)
		}
	}
	l.s.Checks = checks
}

// looks finds what stands as done and is not. The end of the plan is held against its check by the answer behind the one
// that sets the last mark.
func (l *liar) looks(atEnd bool) {
	plans, err := work.Read(l.dir)
	lethetest.Must(l.t, err)
	for _, step := range plans[0].Steps {
		isTrue := !step.Checked() || step.Check == "true" || l.truth[step.Digest]
		isTrue = isTrue || step.Check == "test -e a" && l.there("a") || step.Check == "test -e b" && l.there("b")
		isTrue = isTrue || strings.Contains(step.Check, "&&") && l.there("a") && l.there("b")
		if isEnd := step.What == "done when"; step.Mark == "x" && !isTrue && (atEnd || !isEnd) {
			l.t.Errorf("%q stands as done, %s", step.What, step.Check+step.Person+step.Judge)
		}
	}
}

func (l *liar) there(file string) bool {
	_, err := os.Lstat(filepath.Join(l.dir, file))
	return err == nil
}

// people answer some of their questions, and say yes only to what is there.
func (l *liar) people() {
	for _, question := range slices.Clone(l.s.Questions) {
		if l.rnd.IntN(3) > 0 {
			continue
		}
		if l.there("a") {
			l.s.Passed, l.truth[question.Exact] = append(l.s.Passed, question.Exact), true
		} else {
			l.s.Passed = append(l.s.Passed, mind.Denied+question.Exact)
		}
		l.s.Questions = slices.DeleteFunc(l.s.Questions, func(q mind.Question) bool { return q.ID == question.ID })
	}
}

// A plan that cannot be read hides no other's lost checks, and people are told of it once; its own checks are not lost.
func TestBrokenPlanHidesNothing(t *testing.T) {
	const step = "- [ ] 1 make it · check: `true`\n"
	l := &liar{t: t, rnd: rand.New(rand.NewPCG(1, 1)), dir: lethetest.Dir(t), s: mind.New()}
	other := filepath.Join(l.dir, "work/other.md")
	for n, change := range []struct{ true, other, lost string }{
		{step, step, ""},
		{step, strings.Repeat("x", 300<<10), "other.md cannot be read: it has more than 262144 bytes"},
		{strings.Replace(step, "true", ":", 1), strings.Repeat("x", 300<<10), "true.md/1 has another check"},
		{step, step, "true.md/1 has another check"},
		{step, "", "other.md/1 and its check are gone"},
	} {
		lethetest.Write(t, l.plan(), change.true)
		lethetest.Write(t, other, change.other)
		e := &work.Examiner{Home: l.dir, Workspace: l.dir, State: l.s, Log: slog.New(slog.DiscardHandler), Stopped: new(bool)}
		_, _, err := e.Examine(time.Minute)
		lethetest.Must(t, err)
		lethetest.Equal(t, fmt.Sprint(n), e.Lost, change.lost)
		l.notes(e)
	}
}

// Three days with a lying model: nothing stands as done that is not, each question is asked once, lost checks are told, and
// a day on which nothing is left costs no request.
func TestThreeDaysOfLies(t *testing.T) {
	for seed := range uint64(lethetest.Sample(2, 5, 100)) {
		l := &liar{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: lethetest.Dir(t), s: mind.New(),
			truth: map[string]bool{}, asked: map[string]int{}}
		lethetest.Write(t, l.plan(), liarsPlan)
		l.answers(false)
		weakened := false
		for hour := range 48 {
			weakened = l.lies() || weakened
			if l.rnd.IntN(12) == 0 {
				lethetest.Write(t, filepath.Join(l.dir, []string{"a", "b"}[hour%2]), fmt.Sprint(hour))
			}
			l.answers(l.rnd.IntN(4) == 0)
			l.people()
		}
		l.answers(false)
		l.answers(false)
		l.looks(true)
		if weakened && l.lost == 0 {
			t.Error("checks were weakened, and nobody was told")
		}
		if l.tried < 20 {
			t.Errorf("only %d claims", l.tried)
		}
		for digest, n := range l.asked {
			if n > 1 {
				t.Errorf("people were asked %d times about %s", n, digest)
			}
		}
		lethetest.Write(t, l.plan(), strings.ReplaceAll(liarsPlan, "[ ]", "[x]"))
		plans, err := work.Steps(l.dir)
		lethetest.Must(t, err)
		for hour := range 24 {
			if pass := plans[0].Pass(l.s, 8, time.Unix(int64(hour)*3600, 0)); pass.Say != "" || len(pass.Give) > 0 {
				t.Errorf("on a day of rest: %+v", pass)
			}
		}
	}
}
