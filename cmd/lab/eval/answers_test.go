package eval

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/agent/budget"
	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
	"lethe/internal/test/lethetest"
)

func example(t *testing.T) Examination {
	file, err := os.Open("testdata/answers.jsonl")
	lethetest.Must(t, err)
	defer file.Close()
	e, err := ReadExamination(file)
	lethetest.Must(t, err)
	return e
}

// examined is a fake model over HTTP that answers by what it is shown, and counts what it is asked.
type examined struct {
	mu    sync.Mutex
	asked map[string]int
	total int
}

func (m *examined) answer(_ context.Context, q *rehearsal.Request) *rehearsal.Answer {
	if rehearsal.TaskOf(q.Messages) != "" {
		return nil
	}
	all := q.Model
	text := ""
	for _, message := range q.Messages {
		if message.Content != nil {
			text += *message.Content + "\n"
		}
	}
	m.mu.Lock()
	m.asked[all+text]++
	m.total++
	m.mu.Unlock()
	say := func(s string) *rehearsal.Answer { return &rehearsal.Answer{Text: s} }
	if _, rest, ok := strings.Cut(text, "Right answer: "); ok {
		right, given, _ := strings.Cut(rest, "\nAnswer: ")
		given = strings.TrimSpace(given)
		switch {
		case right == "" && given == "I do not know", right != "" && given == right:
			return say("RIGHT")
		case given == "I do not know":
			return say("ABSTAINED")
		}
		return say("WRONG")
	}
	at := strings.LastIndex(text, "Question: ")
	if at < 0 {
		return say("Noted.")
	}
	for question, known := range map[string][2]string{
		"spare key of the mill": {"behind the old ladder", "ladder."}, "locker of Tomas": {"4711", "4711"},
	} {
		if strings.Contains(text[at:], question) && strings.Contains(text[:at], known[1]) {
			return say(known[0])
		}
	}
	return say("I do not know")
}

func newExaminer(t *testing.T, dir string) (*Examiner, *examined) {
	m := &examined{asked: map[string]int{}}
	server := httptest.NewServer(rehearsal.New(rehearsal.Options{Answer: m.answer}))
	t.Cleanup(server.Close)
	client, err := llm.New(llm.Config{Preset: "openai", BaseURL: server.URL, Key: "k", MaxRetries: -1})
	lethetest.Must(t, err)
	t.Cleanup(func() { client.Close() })
	price := llm.Info{Price: llm.Price{Hit: 1, Miss: 1, Output: 1}} // a millionth of a dollar a token
	return &Examiner{Model: client, Known: llm.Known{"m": price, "j": price, "k": price}, Name: "m",
		Judges: []string{"j", "k"}, Arms: Arms(), Budget: budget.Of(100), Dir: dir, Say: func(string) {}}, m
}

// Accuracy, dollars and abstention are right to the millionth of a dollar; the second run asks nothing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	e := example(t)
	x, m := newExaminer(t, lethetest.Dir(t))
	scores, err := x.Run(t.Context(), e)
	lethetest.Must(t, err)
	t.Logf("\n%s", scores)
	if len(scores.Arms) != 4 {
		t.Fatalf("%d arms", len(scores.Arms))
	}
	for _, s := range scores.Arms {
		right, abstained := 3, 0
		if s.Arm == "none" {
			right, abstained = 1, 2
		}
		if s.Right != right || s.Answerable != 2 || s.Exact != 2-abstained || s.Abstained != abstained || s.Silent != 1 || s.Agreed != 3 || s.JudgedTwo != 3 {
			t.Errorf("%+v", s)
		}
		if s.USD != budget.USD(s.Usage.Input+s.Usage.Output) || s.USD == 0 {
			t.Errorf("%s: %s USD for %+v", s.Arm, s.USD, s.Usage)
		}
	}
	if d := scores.Arms[3].Against; d == nil || d[0] > -0.66 || d[0] < -0.67 || d[1] != -1 || d[2] != 0 {
		t.Errorf("nothing against everything: %v", d)
	}
	lethetest.Words(t, scores.Page(), "<svg", "33.3 %", "100.0 %")
	p := &paid{path: filepath.Join(x.Dir, "calls.jsonl")}
	lethetest.Must(t, p.open())
	spent, played := budget.USD(0), budget.USD(0)
	for _, r := range p.rows {
		if r.Reply != nil {
			spent += budget.USD(r.Reply.Usage.Input + r.Reply.Usage.Output)
			if r.Reply.Text == "Noted." {
				played += budget.USD(r.Reply.Usage.Input + r.Reply.Usage.Output)
			}
		}
	}
	if scores.Spent != spent || scores.Arms[0].Played != played || played == 0 {
		t.Errorf("spent %s, not %s; played for %s, not %s", scores.Spent, spent, scores.Arms[0].Played, played)
	}
	before := m.total
	again, err := x.Run(t.Context(), e)
	lethetest.Must(t, err)
	if m.total != before || again.String() != scores.String() {
		t.Errorf("%d requests again:\n%s", m.total-before, again)
	}
}

// An examination that is killed at 20 places and goes on each time asks nothing twice.
func TestAnswersResume(t *testing.T) {
	t.Parallel()
	e := example(t)
	x, m := newExaminer(t, lethetest.Dir(t))
	kills := 0
	for left := 1; ; left = 1 {
		ctx, cancel := context.WithCancel(t.Context())
		x.Say = func(string) {
			if left--; left == 0 && kills < 20 {
				kills++
				cancel()
			}
		}
		_, err := x.Run(ctx, e)
		cancel()
		if err == nil {
			break
		}
		raw, err := os.OpenFile(filepath.Join(x.Dir, "calls.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		lethetest.Must(t, err)
		_, err = raw.WriteString(`{"hash":"a line that was cut o`)
		lethetest.Must(t, err)
		lethetest.Must(t, raw.Close())
	}
	if kills != 20 {
		t.Errorf("killed %d times", kills)
	}
	for text, n := range m.asked {
		if n > 1 {
			t.Errorf("asked %d times: %.300s", n, text)
		}
	}
}

// All judges read the first hundred answers of an arm, and only the first one reads the others.
func TestJudges(t *testing.T) {
	t.Parallel()
	e := example(t)
	for n := range 130 {
		e.Asked = append(e.Asked, Answerable{Question: fmt.Sprintf("What is in drawer %d?", n), Answer: fmt.Sprint(n)})
	}
	x, m := newExaminer(t, lethetest.Dir(t))
	x.Arms = []string{"none"}
	scores, err := x.Run(t.Context(), e)
	lethetest.Must(t, err)
	read := map[string]int{}
	for text := range m.asked {
		read[text[:1]]++ // the model
	}
	if s := scores.Arms[0]; s.JudgedTwo != 100 || s.Agreed != 100 || s.Abstained != 132 || read["j"] != 133 || read["k"] != 100 {
		t.Errorf("%+v, %v", s, read)
	}
}

// The ladder of a question: its original is named, then opened, then its line is shown.
func TestLadder(t *testing.T) {
	t.Parallel()
	dir := lethetest.Dir(t)
	p := &paid{known: llm.Known{"m": {Price: llm.Price{Miss: 1}}}, budget: budget.Of(1), path: filepath.Join(dir, "c"),
		told: func(string) {}, Model: script{act: func(q llm.Request) llm.Reply {
			if strings.Contains(q.Messages[0].Content.String(), "hash") {
				return call("UNCOMPACT", map[string]any{"hash": "0123456789"})
			}
			return call("RECALL", nil)
		}}}
	lethetest.Must(t, p.open())
	w := &watched{paid: p, evidence: []string{"The gate is green."}, hashes: []string{"0123456789abcdef"}}
	steps := ""
	for _, text := range []string{"nothing", "◱hash=0123456789 x", "The gate  is green."} {
		q := llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: llm.Text(text)}}}
		_, err := w.Complete(t.Context(), q, nil)
		lethetest.Must(t, err)
		steps += fmt.Sprintln(w.answer.Found, w.answer.Read, w.answer.Shown, w.answer.Opened)
	}
	if want := "false false false 0\ntrue true false 1\ntrue true true 1\n"; steps != want {
		t.Errorf("%s, not %s", steps, want)
	}
}

// Numbers and dates count however they are written.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"May 7, 2026": "5 7 2026", "the 7th of May 2026": "7 of 5 2026", "2026-05-07": "2026 5 7", "1,500 boats": "1500 boats",
		"room 007": "room 7", "a 0": "0", "On Sept 21st": "on 9 21", "marching": "marching",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// The page shows the file that the tests read, and the words of the prompts.
func TestAnswersPage(t *testing.T) {
	page, err := os.ReadFile("../answers.md")
	lethetest.Must(t, err)
	file, err := os.ReadFile("testdata/answers.jsonl")
	lethetest.Must(t, err)
	lethetest.Words(t, string(page), string(file), ask, judgeAsk)
	lethetest.Words(t, lethetest.Read(t, "../tasks.md"), taskAsk)
}

// A conversation of LoCoMo that is converted has the same lines and questions.
func TestConvert(t *testing.T) {
	talks, err := Load("testdata/talks")
	lethetest.Must(t, err)
	for _, talk := range talks {
		var text bytes.Buffer
		lethetest.Must(t, talk.Convert(&text))
		e, err := ReadExamination(&text)
		lethetest.Must(t, err)
		if len(e.Talk.Lines) != len(talk.Lines) || len(e.Asked) != len(talk.Questions) || len(e.Asked) == 0 {
			t.Errorf("%s: %d of %d lines, %d of %d questions", talk.Name, len(e.Talk.Lines), len(talk.Lines), len(e.Asked), len(talk.Questions))
		}
		for i, l := range e.Talk.Lines {
			if l != talk.Lines[i] {
				t.Errorf("%+v, not %+v", l, talk.Lines[i])
			}
		}
		for i, q := range talk.Questions {
			if got := e.Asked[i]; got.Question != q.Text || got.Answer != q.Answer || !slices.Equal(got.Evidence, q.Evidence) {
				t.Errorf("%+v, not %+v", got, q)
			}
		}
	}
}

// A file that does not say what it should is refused, by its line.
func TestAnswersRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"1","speaker":"a","time":"2026-03-02T08:00:00Z"}`: "line 1: a line has an id",
		`{"question":"a?","answer":"b","evidence":["9"]}`:        `line 1: its evidence "9"`,
		`{"quest":"a?"}`: `line 1: json: unknown field`,
		"\n":             "no lines",
	} {
		_, err := ReadExamination(strings.NewReader(text))
		lethetest.Words(t, fmt.Sprint(err), want)
	}
	const line = `"lines":[{"speaker":"a","text":"b"}]`
	for text, want := range map[string]string{
		`{"task":"a","right":"b"}`: "line 1: a task has a name",
		`{"task":"a",` + line + `,"right":"b"}` + "\n" + `{"task":"a",` + line + `,"right":"b"}`: "line 2: a task has a name",
		`{"task":"a",` + line + `,"right":"b","files":{"../x":""}}`:                              `line 1: "../x" is no name`,
		`{"task":"a","lines":[{"speaker":"a"}],"right":"b"}`:                                     "line 1: a line has a speaker",
		`{"tasks":1}`: "line 1: json: unknown field",
		"\n":          "no tasks",
	} {
		_, err := ReadTasks(strings.NewReader(text))
		lethetest.Words(t, fmt.Sprint(err), want)
	}
}

// A budget ends it before the call that might pass it; a model without a price is not asked.
func TestAnswersBudget(t *testing.T) {
	t.Parallel()
	e := example(t)
	x, m := newExaminer(t, lethetest.Dir(t))
	x.Arms, x.Budget = []string{"full"}, 1900
	scores, err := x.Run(t.Context(), e)
	lethetest.Words(t, fmt.Sprint(err), "budget is used up")
	if m.total == 0 || len(scores.Answers) == 3 {
		t.Errorf("%d requests, %d answers", m.total, len(scores.Answers))
	}
	x.Known = llm.Known{}
	if _, err := x.Price(e); err == nil {
		t.Error("no price is a price")
	}
}
