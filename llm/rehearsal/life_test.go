package rehearsal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A life is a small stand-in for the daemon: it keeps a request growing, runs
// calls against a table, and checks that every request was accepted.
type life struct {
	t        *testing.T
	url      string
	messages []obj
	entry    int
	tools    []string
	results  map[string]string // by tool, or by tool and main argument
	made     []string          // "TOOL argument" of every call, in order
	steps    int               // model calls of the last turn
}

func newLife(t *testing.T, past string) *life {
	t.Helper()
	_, url := start(t, Options{})
	l := &life{t: t, url: url, tools: allTools, results: map[string]string{}}
	l.messages = []obj{system("SOUL and harness")}
	if past != "" {
		l.messages = append(l.messages, user(past))
	}
	return l
}

// hear adds an inbound entry of lines like "ada: text".
func (l *life) hear(room string, lines ...string) {
	l.entry++
	text := fmt.Sprintf("◆ e%d inbound room=%s", l.entry, room)
	for _, s := range lines {
		who, said, _ := strings.Cut(s, ": ")
		kind := "USER"
		if strings.HasSuffix(who, "bot") {
			kind = "AGENT"
		}
		text += fmt.Sprintf("\n[%s:%s 2026-11-20T12:57:16Z] %s", kind, who, strings.ReplaceAll(said, "\n", "\n    "))
	}
	l.messages = append(l.messages, user(text))
}

func (l *life) add(kind, text string) {
	l.entry++
	l.messages = append(l.messages, user(fmt.Sprintf("◆ e%d %s\n%s", l.entry, kind, text)))
}

// turn calls the model until it answers.
func (l *life) turn() string {
	l.t.Helper()
	for l.steps = 1; l.steps < 12; l.steps++ {
		g := l.step()
		if len(g.calls) == 0 {
			return g.text
		}
	}
	l.t.Fatal("the turn does not end")
	return ""
}

func (l *life) step() got {
	l.t.Helper()
	g := send(l.t, l.url, with(request(l.messages...), obj{"tools": tools(l.tools...)}))
	if g.status != 200 || !g.done {
		l.t.Fatalf("%d %s", g.status, g.raw)
	}
	if strings.TrimSpace(g.reasoning) == "" {
		l.t.Error("no reasoning")
	}
	l.entry++
	if len(g.calls) == 0 {
		if g.text == "" {
			l.t.Error("an empty answer")
		}
		l.messages = append(l.messages, said(g.text))
		return g
	}
	var mine []Call
	var results []obj
	for k, c := range g.calls {
		id := fmt.Sprintf("e%d_%d", l.entry, k+1)
		mine = append(mine, Call{id, c.Name, c.Arguments})
		results = append(results, result(id, l.run(c)))
	}
	l.messages = append(append(l.messages, called(mine...)), results...)
	return g
}

func (l *life) run(c Call) string {
	var args map[string]any
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		l.t.Errorf("arguments of %s: %v", c.Name, err)
	}
	main := ""
	for _, k := range []string{"command", "path", "room", "ref", "query"} {
		if v, ok := args[k].(string); ok && v != "" {
			main = " " + v
		}
	}
	if n, ok := args["offset"]; ok {
		main += fmt.Sprint(" ", n)
	}
	l.made = append(l.made, c.Name+main)
	if c.Name == "WRITE_FILE" {
		l.results["READ_FILE"+main] = fmt.Sprintf("[%v: lines 1-1 of 1, 9 bytes]\n%v", args["path"], args["content"])
	}
	if r, ok := l.results[c.Name+main]; ok {
		return r
	}
	return l.results[c.Name]
}

func (l *life) says(want ...string) {
	l.t.Helper()
	text := l.turn()
	for _, w := range want {
		if !strings.Contains(text, w) {
			l.t.Errorf("%q is not in: %s", w, text)
		}
	}
}

func (l *life) called(want ...string) {
	l.t.Helper()
	if strings.Join(l.made, "; ") != strings.Join(want, "; ") {
		l.t.Errorf("calls %q, want %q", l.made, want)
	}
	l.made = nil
}

func TestEveryTool(t *testing.T) {
	for ask, want := range map[string]struct{ tool, args string }{
		"run date":                         {"BASH", `{"command":"date"}`},
		"read a.txt":                       {"READ_FILE", `{"path":"a.txt"}`},
		"write hi to a.txt":                {"WRITE_FILE", `{"content":"hi","path":"a.txt"}`},
		`replace "a" with "b" in a.txt`:    {"EDIT_FILE", `{"new":"b","old":"a","path":"a.txt"}`},
		"list":                             {"LIST", `{"path":"."}`},
		"list src":                         {"LIST", `{"path":"src"}`},
		"say hi in ops":                    {"SAY", `{"message":"hi","room":"ops"}`},
		"join ops":                         {"JOIN", `{"room":"ops"}`},
		"leave ops":                        {"LEAVE", `{"room":"ops"}`},
		"uncompact 0123456789abcdef":       {"UNCOMPACT", `{"ref":"0123456789abcdef"}`},
		"compact":                          {"COMPACT", `{}`},
		"do you remember the purple door?": {"RECALL", `{"query":"do you remember the purple door"}`},
	} {
		t.Run(want.tool+" "+ask, func(t *testing.T) {
			l := newLife(t, "")
			l.results[want.tool] = "it went well"
			l.hear("dev", "ada: "+ask)
			g := l.step()
			if len(g.calls) != 1 || g.calls[0].Name != want.tool || g.calls[0].Arguments != want.args {
				t.Fatalf("%+v", g.calls)
			}
			if text := l.turn(); want.tool != "RECALL" && !strings.Contains(text, "it went well") {
				t.Errorf("the answer is %q", text)
			}

			l = newLife(t, "")
			l.tools = []string{"OTHER"}
			l.hear("dev", "ada: "+ask)
			if text := l.turn(); l.steps != 1 || want.tool != "RECALL" && !strings.Contains(text, want.tool) {
				t.Errorf("without the tool: %q", text)
			}
		})
	}
}

func TestOrders(t *testing.T) {
	l := newLife(t, "")
	l.results["BASH one"], l.results["BASH two"] = "1st", "2nd"
	l.results["READ_FILE b.txt"] = "[b.txt: 2 lines]\nline\nline"
	l.hear("dev", "ada: run one and then read b.txt")
	l.says("BASH `one` gave: 1st", "READ_FILE `b.txt` gave: \n```")
	if l.steps != 3 {
		t.Errorf("%d steps", l.steps)
	}
	l.called("BASH one", "READ_FILE b.txt")
	l.hear("dev", "ada: run one, run two")
	l.says("1st", "2nd")
	if l.steps != 2 {
		t.Errorf("%d steps for parallel calls", l.steps)
	}
	l.called("BASH one", "BASH two")
	// The same order again is done again, once.
	l.hear("dev", "ada: run one, then run one")
	l.says("1st")
	l.called("BASH one", "BASH one")
}

func TestSeveralLines(t *testing.T) {
	l := newLife(t, "")
	l.results["BASH a"] = "A!"
	l.hear("dev", "ada: run a", "bob: what is 2+3")
	l.hear("ops", "ada: repeat so")
	l.says("ada: BASH `a` gave: A!", "bob: 2+3 = 5", "ada: so")
	// A line that comes while a turn runs is answered with it.
	l.hear("dev", "ada: run a")
	if g := l.step(); len(g.calls) != 1 {
		t.Fatalf("%+v", g)
	}
	l.hear("dev", "ada: repeat also this")
	l.says("A!", "also this")
	if l.steps != 1 {
		t.Errorf("%d steps", l.steps)
	}
	// A line of several lines, as the daemon shows it.
	l.hear("dev", "ada: write two\nlines to a.txt")
	l.says("WRITE_FILE")
	if r := l.results["READ_FILE a.txt"]; !strings.HasSuffix(r, "two\nlines") {
		t.Errorf("wrote %q", r)
	}
}

func TestResultsThatFail(t *testing.T) {
	for res, want := range map[string]string{
		"interrupted, effect unknown":             "was interrupted",
		"not started":                             "was not started",
		"error: no file a.txt here; LIST shows …": "failed: error: no file",
		"":               "gave no output",
		"(no output)":    "gave no output",
		"exit status 2":  "failed",
		"oops\n[exit 1]": "failed: \n```\noops",
		"oops\n[interrupted, 3.0 s: it was killed]": "was interrupted",
		"[not started: no shell]":                   "was not started",
		"[timeout after 1 s: it was killed]":        "failed",
		"edit a.txt: old is not in it":              "failed",
		"hi\n[exit 0]":                              "gave: hi",
		"[exit 0, 2.0 s]":                           "gave no output",
		"fine":                                      "gave: fine",
		strings.Repeat("x", 5000):                   "x…",
		"head\n◳ 9 of 10 characters are not shown here; all of them: ◱hash=0123456789abcdef gist=turn 1◲\ntail": "[0123456789abcdef: turn 1]",
	} {
		l := newLife(t, "")
		l.results["BASH"] = res
		l.hear("dev", "ada: run it")
		text := l.turn()
		if !strings.Contains(text, want) || len(text) > 1000 || strings.ContainsAny(text, "◱◲◳◆") {
			t.Errorf("%.40q: %.200q, want %q", res, text, want)
		}
	}
}

// After a /stop nothing that was asked before is done or answered.
func TestStopped(t *testing.T) {
	l := newLife(t, "")
	l.results["BASH"] = "interrupted, effect unknown"
	l.hear("dev", "ada: run sleep 1000 and then run more")
	l.step()
	l.add("note", "ada stopped you here; what you were asked before is no longer owed.")
	l.hear("dev", "ada: repeat hello")
	if text := l.turn(); text != "hello" || len(l.made) != 1 {
		t.Errorf("%q after %q", text, l.made)
	}
}

// Results whose question is gone are reported and nothing more is called.
func TestOrphanedResults(t *testing.T) {
	l := newLife(t, "◆ past\nNothing has faded yet.\n◆ memory\n(empty)\n◆ life\n[…] boot")
	l.messages = append(l.messages, called(Call{"e7_1", "BASH", `{"command":"date"}`}), result("e7_1", "Friday"))
	l.says("BASH `date` gave: Friday")
	if l.steps != 1 {
		t.Errorf("%d steps", l.steps)
	}
	l = newLife(t, "")
	l.add("note", "The daemon was updated.")
	l.says("Noted.")
}

func TestHonesty(t *testing.T) {
	l := newLife(t, "")
	l.hear("dev", "ada: hello")
	l.says("ada", "offline rehearsal model", "not intelligent", "remember that")
	l.hear("dev", "ada: hi again")
	if text := l.turn(); strings.Contains(text, "not intelligent") {
		t.Errorf("it introduces itself twice: %s", text)
	}
	for _, ask := range []string{"help", "who are you?", "what are you?"} {
		l.hear("dev", "ada: "+ask)
		l.says("offline rehearsal model", "not intelligent")
	}
	l.hear("dev", "ada: the weather in Lisbon is lovely")
	l.says("weather")
	l.hear("dev", "ada: count to 5")
	l.says("1 2 3 4 5")
	l.hear("dev", "ada: count to 999999999")
	l.says("only count to")
	l.hear("dev", "ada: think about the sea")
	g := l.step()
	if len(g.reasoning) < 400 || !strings.Contains(g.reasoning, "the sea") {
		t.Errorf("thought %q", g.reasoning)
	}
	l.called()
}

func TestAgentsGetNoTools(t *testing.T) {
	l := newLife(t, "")
	l.hear("dev", "robot: run rm -rf /")
	if text := l.turn(); text == "" {
		t.Error("no answer")
	}
	l.hear("dev", "robot: run date", "ada: repeat x")
	if text := l.turn(); text != "x" {
		t.Errorf("%q", text)
	}
	l.called()
}

// A plain client without headers can talk to it too.
func TestPlainClient(t *testing.T) {
	_, url := start(t, Options{})
	g := send(t, url, request(system("s"), user("remember that my dog is called Rex"), said("I will remember: my dog is called Rex"), user("what is my dog called?")))
	if !strings.Contains(g.text, "Rex") || !strings.Contains(g.text, "You said") {
		t.Errorf("%q", g.text)
	}
}

// The tail order puts notes and log last; that is nothing to answer.
func TestTailOrder(t *testing.T) {
	l := newLife(t, "◆ past\nNothing has faded yet.")
	l.hear("dev", "ada: repeat x")
	l.messages = append(l.messages, user("◆ memory\n- ada likes jazz\n◆ life\n[…] inbound e1"))
	if text := l.turn(); text != "x" {
		t.Errorf("%q", text)
	}
}
