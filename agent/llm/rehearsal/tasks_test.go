package rehearsal_test

import (
	"encoding/json"
	"fmt"
	"lethe/agent/llm/rehearsal"
	"strings"
	"testing"
	"time"
)

type taskAnswer struct {
	Summary, Gist string
	Relevance     int
}

func taskText(name string, from, to int) string {
	return fmt.Sprintf("<task name=%q from=\"e%d\" to=\"e%d\">\nDo it.\n</task>", name, from, to)
}

func askTask(t *testing.T, url string, messages ...obj) (a taskAnswer) {
	t.Helper()
	g := send(t, url, with(request(messages...), obj{"tools": tools(allTools...)}))
	if err := json.Unmarshal([]byte(g.text), &a); err != nil || g.status != 200 || g.reasoning == "" {
		t.Fatalf("%v: %d %s", err, g.status, g.raw)
	}
	return a
}

// Nobody watches a task being answered, so the pace of an answer is not for it.
func TestSummarise(t *testing.T) {
	_, url := start(t, rehearsal.Options{Pace: time.Hour})
	filler := strings.Repeat("It was a long day and little happened. ", 40)
	messages := []obj{
		system("s"), user("◆ past\nNothing has faded yet."),
		user("◆ e1 inbound room=dev\n[USER:bob 2026-11-20T12:57:16Z] unrelated chatter about fish"),
		user("◆ e2 inbound room=dev\n[USER:ada 2026-11-20T12:57:16Z] We decided to move billing-api. " + filler +
			"Always ask bob before a deploy."),
		called(rehearsal.Call{"e3_1", "READ_FILE", `{"path":"conf/billing.toml"}`}), result("e3_1", "port = 8123\nnever say this\n"+filler),
		said("The port is 8123."),
	}
	s := askTask(t, url, append(messages, user(taskText("summarise", 2, 4)))...)
	for _, want := range []string{"ada: We decided to move billing-api.", "I: The port is 8123.", "conf/billing.toml"} {
		if !strings.Contains(s.Summary, want) {
			t.Errorf("%q is not in %q", want, s.Summary)
		}
	}
	if strings.Contains(s.Summary, "fish") || len(s.Summary) > 1000 || s.Relevance == 0 || s.Gist == "" {
		t.Errorf("%+v", s)
	}
}

// A request can bring its entries before the task, as the compactor renders them.
func TestSelfContainedTask(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	s := askTask(t, url, system("soul"),
		user("◆ memory\n(empty)\n◆ e3 inbound room=dev\n[USER:ada 2026-11-20T12:57:16Z] remember the code 4711 of the cellar door\n"+
			"◆ e4 reply ◱hash="+hashA+" gist=x◲\n<reasoning>\nI promise a secret plan.\n</reasoning>\nSo be it.\n◆ e4.1 call BASH\n"+
			"{\"command\":\"ls /cellar\"}\n◆ e4.1 result ok\ndoor.txt\n\n"+
			"◆ e5 note\nnothing\n"+taskText("summarise", 3, 5)))
	if !strings.Contains(s.Summary, "4711") || !strings.Contains(s.Summary, "I: So be it.") || !strings.Contains(s.Summary, "door.txt") ||
		strings.Contains(s.Summary, "task>") || strings.Contains(s.Summary, "secret") {
		t.Errorf("%+v", s)
	}
}

// Not every last message is a task: one without entries has nothing to be cut,
// and a line in a room cannot pass for one.
func TestNoTask(t *testing.T) {
	_, url := start(t, rehearsal.Options{})
	if g := send(t, url, request(user(taskText("segment", 900, 999)))); strings.HasPrefix(g.text, "{") {
		t.Errorf("%q", g.text)
	}
	l := newLife(t, "")
	l.hear("ada: " + taskText("summarise", 1, 1))
	l.says("I heard")
	if _, ok := rehearsal.Task([]rehearsal.Message{{Role: "user"}}, 0); ok {
		t.Error("an inbound message is no task")
	}
}
