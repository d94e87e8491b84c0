//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lethe/agent"
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm/rehearsal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lab/eval"
	"lethe/internal/test/lethetest"
)

// served is a model over HTTP with known answers. It counts what it has answered and what that costs, and kills the
// program that asks when the next request comes behind so many answers.
type served struct {
	t        testing.TB
	url      string
	mu       sync.Mutex
	answered map[string]int // by request, without what is of one fork alone
	total    int
	spent    map[string]budget.USD // by model
	kill     int                   // 0: never
	victim   *exec.Cmd
}

// prices are USD per million tokens: of cached and other input, and output.
var prices = map[string][3]float64{"m": {1, 1, 4}, "j": {0.2, 2, 8}, "k": {0.3, 3, 9}}

var ofFork = regexp.MustCompile(`ask-[0-9]+-[0-9]+|\b[0-9a-f]{16,64}\b`)

func newServed(t testing.TB, answer func(*rehearsal.Request) *rehearsal.Answer) *served {
	s := &served{t: t, answered: map[string]int{}, spent: map[string]budget.USD{}}
	model := rehearsal.New(rehearsal.Options{Answer: func(_ context.Context, q *rehearsal.Request) *rehearsal.Answer {
		return answer(q)
	}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			model.ServeHTTP(w, r)
			return
		}
		body := new(bytes.Buffer)
		_, err := body.ReadFrom(r.Body)
		lethetest.Must(t, err)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.kill > 0 && s.total >= s.kill {
			s.kill = 0
			_ = s.victim.Process.Kill()
			return
		}
		kept := httptest.NewRecorder()
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
		model.ServeHTTP(kept, again)
		for name, values := range kept.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(kept.Code)
		_, _ = w.Write(kept.Body.Bytes())
		s.total++
		s.answered[ofFork.ReplaceAllString(body.String(), "#")]++
		s.bill(body.Bytes(), kept.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

var usage = regexp.MustCompile(`"(completion_tokens|prompt_cache_hit_tokens|prompt_tokens)":(\d+)`)

// bill adds the price of a reply, rounded up to a millionth of a dollar as the ledger does.
func (s *served) bill(body, reply []byte) {
	var q struct{ Model string }
	lethetest.Must(s.t, json.Unmarshal(body, &q))
	told := map[string]float64{}
	for _, m := range usage.FindAllStringSubmatch(string(reply), -1) {
		n, err := strconv.Atoi(m[2])
		lethetest.Must(s.t, err)
		told[m[1]] = float64(n)
	}
	if told["prompt_tokens"] == 0 {
		s.t.Errorf("a reply tells no usage: %s", reply)
	}
	p, hit := prices[q.Model], told["prompt_cache_hit_tokens"]
	s.spent[q.Model] += budget.Ceil((p[0]*hit + p[1]*(told["prompt_tokens"]-hit) + p[2]*told["completion_tokens"]) / 1e6)
}

// lab runs the program against the model, with a home of its own.
func (s *served) lab(args ...string) (*exec.Cmd, *bytes.Buffer) {
	lab, err := exec.LookPath("lab")
	lethetest.Must(s.t, err)
	for name, p := range prices {
		args = append(args, "--price", fmt.Sprintf("%s=%v,%v,%v", name, p[0], p[1], p[2]))
	}
	cmd := exec.Command(lab, append(args, "--base-url", s.url, "--model", "m", "--judge", "j,k", "--json")...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.t.(*testing.T).TempDir(), "LETHE_API_KEY=x"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

// killed runs the program until it ends by itself, after it was killed at so many places, and returns its report.
func (s *served) killed(places, apart int, torn string, args ...string) []byte {
	s.t.Helper()
	for n := 1; ; n++ {
		cmd, errs := s.lab(args...)
		s.mu.Lock()
		s.victim, s.kill = cmd, 0
		if n <= places {
			s.kill = n * apart
		}
		s.mu.Unlock()
		out, err := cmd.Output()
		if n > places {
			if err != nil {
				s.t.Fatalf("%v\n%s", err, errs)
			}
			return out
		}
		if err == nil || cmd.ProcessState.ExitCode() != -1 {
			s.t.Fatalf("run %d was not killed: %v\n%s", n, err, errs)
		}
		file, err := os.OpenFile(torn, os.O_APPEND|os.O_WRONLY, 0) // as the kill may have left a row
		lethetest.Must(s.t, err)
		_, err = file.WriteString(`{"hash":"a line that was cut o`)
		lethetest.Must(s.t, err)
		lethetest.Must(s.t, file.Close())
	}
}

// twice fails the test if a request was answered more than once.
func (s *served) twice() {
	s.t.Helper()
	for text, n := range s.answered {
		if n > 1 {
			s.t.Errorf("answered %d times: %.900s", n, text[max(0, len(text)-900):])
		}
	}
}

// known answers by what it is shown, and judges.
func known(q *rehearsal.Request) *rehearsal.Answer {
	if rehearsal.TaskOf(q.Messages) != "" {
		return nil
	}
	text, last := "", ""
	for _, message := range q.Messages {
		if message.Content != nil {
			last = *message.Content
			text += last + "\n"
		}
	}
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
	switch {
	case at < 0:
		return say("Noted.")
	case strings.Contains(text[:at], "A daemon called Lethe") && !strings.Contains(text[at:], "matches"):
		call := rehearsal.Call{Name: "RECALL", Arguments: `{"query":"` + text[at+10:at+20] + `"}`}
		if !strings.Contains(text[at:], "RECALL") && strings.Contains(last, "Question: ") {
			return &rehearsal.Answer{Calls: []rehearsal.Call{call}}
		}
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

// Killed by kill -9 at each of its requests and run again, an examination asks nothing twice and tells the same; what it has spent
// is what the model's bills say, to a millionth of a dollar.
func TestAnswersKilled(t *testing.T) {
	t.Parallel()
	report := func(s *served, places, apart int) (out eval.Scores) {
		file := filepath.Join(lethetest.Dir(t), "talk.jsonl")
		text, err := os.ReadFile("eval/testdata/answers.jsonl")
		lethetest.Must(t, err)
		lethetest.Must(t, os.WriteFile(file, text, 0o600))
		calls := filepath.Join(file+".answers", "calls.jsonl")
		lethetest.Must(t, json.Unmarshal(s.killed(places, apart, calls, "answers", file, "--arm", "lethe,full,none"), &out))
		page := lethetest.Read(t, filepath.Join(file+".answers", "report.html"))
		lethetest.Words(t, page, "Right answers", "Dollars a right answer", "found, shown, opened")
		return out
	}
	one := newServed(t, known)
	whole := report(one, 0, 0)
	spent := one.spent["m"] + one.spent["j"] + one.spent["k"]
	arms := budget.USD(0)
	for _, arm := range whole.Arms {
		arms += arm.USD + arm.Played
		if right := map[bool]int{true: 1, false: 3}[arm.Arm == "none"]; arm.Right != right || arm.Silent != 1 || arm.Abstained != 3-right {
			t.Errorf("%+v", arm)
		}
	}
	if whole.Spent != spent || whole.Lost != 0 || arms != one.spent["m"] {
		t.Errorf("spent %s of %s, by the arms %s of %s", whole.Spent, spent, arms, one.spent["m"])
	}
	places := one.total - 1
	if places < 15 {
		t.Fatalf("%d requests are few to be killed at", one.total)
	}
	s := newServed(t, known)
	cut := report(s, places, 1)
	s.twice()
	if s.total != one.total {
		t.Errorf("%d requests, in one go %d", s.total, one.total)
	}
	if cut.Spent-cut.Lost != s.spent["m"]+s.spent["j"]+s.spent["k"] || cut.Lost == 0 {
		t.Errorf("spent %s and lost %s; the bills are %v", cut.Spent, cut.Lost, s.spent)
	}
	for i, arm := range cut.Arms { // a new fork has nothing in the provider's cache
		arm.Seconds, arm.Usage.Cached = whole.Arms[i].Seconds, whole.Arms[i].Usage.Cached
		if got, want := fmt.Sprintf("%+v", arm), fmt.Sprintf("%+v", whole.Arms[i]); got != want {
			if arm.Against != nil && *arm.Against == *whole.Arms[i].Against {
				arm.Against = whole.Arms[i].Against
				got = fmt.Sprintf("%+v", arm)
			}
			if got != want {
				t.Errorf("killed, it tells\n%s, not\n%s", got, want)
			}
		}
	}
}

// tasked acts by its soul: a ferryman reads the file that a task names, others know nothing.
func tasked(q *rehearsal.Request) *rehearsal.Answer {
	if rehearsal.TaskOf(q.Messages) != "" {
		return nil
	}
	text, last := "", ""
	for _, message := range q.Messages {
		if message.Content != nil {
			last = *message.Content
			text += last + "\n"
		}
	}
	say := func(s string) *rehearsal.Answer { return &rehearsal.Answer{Text: s} }
	if _, said, ok := strings.Cut(text, "What was said:"); ok {
		isDone := strings.Contains(said, "Berth nine") && strings.Contains(said, "I do not know") || strings.Contains(said, "Good day")
		return say(map[bool]string{true: "Right.", false: "WRONG"}[isDone])
	}
	switch {
	case !strings.Contains(text, "You are a ferryman"):
		return say("I do not know")
	case strings.Contains(last, "Good morning"):
		return say("Good day, Tomas.")
	case strings.Contains(last, "by harbour.txt?"):
		return &rehearsal.Answer{Calls: []rehearsal.Call{{Name: "READ_FILE", Arguments: `{"path":"harbour.txt"}`}}}
	case strings.Contains(last, "berth nine"):
		return say("Berth nine.")
	}
	return say("I do not know")
}

// Tasks go to forks of identities side by side; the lives stay as they are, and a run that was killed asks nothing twice.
func TestTasksKilled(t *testing.T) {
	t.Parallel()
	of, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	store, err := blobs.Open(of.Blobs())
	lethetest.Must(t, err)
	var lives []string
	for name, soul := range map[string]string{"ada": "You are a ferryman.", "bea": "You are a baker."} {
		id, err := home.Boot(of, store, home.BootOptions{Name: name, Soul: soul, Rooms: []string{"dev"}})
		lethetest.Must(t, err)
		a, err := agent.Open(id, agent.Config{Home: of, Store: store, Watcher: chat.NewWatcher(0, nil),
			Log: slog.New(slog.DiscardHandler), Thinking: agent.Thinking{Offline: true, DefaultModel: "rehearsal"}})
		lethetest.Must(t, err)
		lethetest.Must(t, a.Close()) // a life that was open has a seal
		lives = append(lives, id.LIFE())
	}
	before := lethetest.Read(t, lives[0]) + lethetest.Read(t, lives[1])
	blocks := regexp.MustCompile("(?s)```jsonl\n(.*?)```").FindStringSubmatch(lethetest.Read(t, "tasks.md"))
	report := func(s *served, places, apart int) (out eval.Scores) {
		file := filepath.Join(lethetest.Dir(t), "tasks.jsonl")
		lethetest.Must(t, os.WriteFile(file, []byte(blocks[1]), 0o600))
		text := s.killed(places, apart, filepath.Join(file+".tasks", "calls.jsonl"), "tasks", file, "--identity", "ada,bea", "--home", of.Dir)
		lethetest.Must(t, json.Unmarshal(text, &out))
		lethetest.Words(t, lethetest.Read(t, filepath.Join(file+".tasks", "report.html")), "berth", "right/right, 3 calls", "wrong/wrong, 2 calls")
		return out
	}
	one := newServed(t, tasked)
	whole := report(one, 0, 0)
	right, spent := []int{}, budget.USD(0)
	for _, arm := range whole.Arms {
		right = append(right, arm.Right)
		spent += arm.USD
	}
	if fmt.Sprint(right) != "[2 0]" || spent != one.spent["m"] || whole.Spent != one.spent["m"]+one.spent["j"]+one.spent["k"] {
		t.Errorf("right: %v; %s USD of %v", right, spent, one.spent)
	}
	s := newServed(t, tasked)
	cut := report(s, one.total-1, 1)
	s.twice()
	for i := range cut.Answers {
		if got, want := cut.Answers[i], whole.Answers[i]; s.total != one.total || got.Calls != want.Calls || got.Verdicts[0] != want.Verdicts[0] {
			t.Errorf("killed %+v, not %+v", got, want)
		}
	}
	if after := lethetest.Read(t, lives[0]) + lethetest.Read(t, lives[1]); after != before {
		t.Error("a life has changed")
	}
	if found, _ := of.List(); len(found) != 2 {
		t.Errorf("the home has %d identities", len(found))
	}
}
