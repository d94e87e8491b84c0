package rehearsal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// A step of a chunk: an entry, or a call and its result, which belong to the
// reply that follows no entry.
type step struct{ kind, text, gave string }

func heard(lines ...string) step {
	var b []string
	for _, l := range lines {
		if who, text, ok := strings.Cut(l, ": "); ok && !strings.Contains(who, " ") {
			l = fmt.Sprintf("[USER:%s 2026-11-20T12:57:16Z] %s", who, text)
		}
		b = append(b, l)
	}
	return step{kind: "inbound", text: strings.Join(b, "\n")}
}

func ran(command, gave string) step { return step{"call", command, gave} }

func answered(text string) step { return step{kind: "reply", text: text} }

const (
	fork  = "as a fork"
	alone = "self-contained"
)

// gistOf has a chunk summarised, as a fork of a life's request or by itself.
func gistOf(t *testing.T, how string, chunk []step) string {
	t.Helper()
	r := &Request{Messages: []Message{{Role: "system", Content: ptr("s")}}}
	var text strings.Builder
	for i, s := range chunk {
		n, args := i+1, ""
		if b, err := json.Marshal(map[string]string{"command": s.text}); err == nil {
			args = string(b)
		}
		switch {
		case s.kind == "call" && how == fork:
			id := fmt.Sprintf("e%d_1", n)
			r.Messages = append(r.Messages, Message{Role: "assistant", Calls: []Call{{id, "BASH", args}}}, Message{Role: "tool", ToolCallID: id, Content: ptr(s.gave)})
		case s.kind == "call":
			fmt.Fprintf(&text, "◆ e%d reply ◱hash=%s gist=turn 1: BASH %s◲\n<reasoning>\nI promise to look at secret-plan.txt.\n</reasoning>\n◆ e%d.1 call BASH\n%s\n◆ e%d.1 result ok ◱hash=%s gist=turn 1 BASH◲\n%s\n", n, hashC, s.text, n, args, n, hashC, s.gave)
		case how == alone:
			fmt.Fprintf(&text, "◆ e%d %s ◱hash=%s gist=x◲\n%s\n", n, s.kind, hashC, s.text)
		case s.kind == "reply":
			r.Messages = append(r.Messages, Message{Role: "assistant", Content: ptr(s.text)})
		default:
			r.Messages = append(r.Messages, Message{Role: "user", Content: ptr(fmt.Sprintf("◆ e%d %s\n%s", n, s.kind, s.text))})
		}
	}
	task := text.String() + "\n" + taskText("summarise", 1, len(chunk), "Summarise.")
	r.Messages = append(r.Messages, Message{Role: "user", Content: ptr(strings.TrimSpace(task))})
	tk, ok := taskOf(r)
	if !ok {
		t.Fatal("no task")
	}
	var s summaryOut
	if err := json.Unmarshal([]byte(tk.answer(r, 0.12).Text), &s); err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(s.Gist); n == 0 || n > 100 || strings.ContainsAny(s.Gist, "\n◱◲◳◆") {
		t.Errorf("%s: %d runes: %q", how, n, s.Gist)
	}
	return s.Gist
}

// cutMark stands where a long text is cut.
const cutMark = "◳ 9000 of 12000 characters are not shown here; all of them: ◱hash=" + hashA + " gist=turn 3 BASH: build log◲"

// A gist tells a person what a chunk was about.
func TestGist(t *testing.T) {
	page := "[watch/1907-07.md: lines 1-29 of 29, 3.6 KB]\nSkerry-Light, watch of 1907-07\n1907-07-01 wind W-5, glass 29.81, oil 3.9 pints"
	report := answered("READ_FILE `watch/1907-07.md` gave:\n```\n" + page + "\n```")
	for name, tt := range map[string]struct {
		chunk []step
		want  string
	}{
		"a question and what came of it": {
			[]step{heard("ada: the build is red, can you look?"), ran("go test ./...", "--- FAIL: TestReload (0.03s)"), answered("Let me see. It failed because reload.go takes the lock twice.")},
			"ada: the build is red, can you look? — It failed because reload.go takes the lock twice",
		},
		"a decision among small talk": {
			[]step{heard("bob: good morning!"), answered("Good morning."), heard("bob: ok, thanks"), answered("We agreed to move billing-api to db7.example.com tonight."), heard("bob: fine")},
			"I: We agreed to move billing-api to db7.example.com tonight.",
		},
		"what the model says when it follows no phrase": {
			[]step{heard("bob: hm"), answered("I heard “hm”, but I am only the rehearsal model and follow plain phrases. Say help to see them."), ran("ls", "notes/garden.txt holds the tulips")},
			"notes/garden.txt holds the tulips",
		},
		"a tool's report": {[]step{ran("cat watch/1907-07.md", page), report}, "Skerry-Light, watch of 1907-07 (watch/1907-07.md)"},
		"a question that the next chunk answers": {
			[]step{ran("cat watch/1907-07.md", page), report, heard("you: read watch/1907-08.md")},
			"Skerry-Light, watch of 1907-07 (watch/1907-07.md)",
		},
		"a question and a report": {
			[]step{heard("you: read watch/1907-07.md"), ran("cat watch/1907-07.md", page), report},
			"you: read watch/1907-07.md — Skerry-Light, watch of 1907-07",
		},
		"a report of one line": {
			[]step{heard("you: run uname -s on the build host"), ran("uname -s", "Linux"), answered("BASH `uname -s` gave: Linux")},
			"you: run uname -s on the build host — Linux",
		},
		"the mark of a cut": {
			[]step{ran("make", cutMark+"\n◰3 1 of 2 characters are not shown here; all of them: ◰1hash="+hashB+" gist=x◰2\nmake: no rule to make target install-docs"), answered("BASH `make` gave:\n```\n 9000 of 12000 characters are not shown here; all of them: [0123: x]\n```")},
			"make: no rule to make target install-docs",
		},
		"the mark of a cut in somebody's message": {
			[]step{heard("ada: deploy the billing service to staging", cutMark, "…and so on"), answered("Noted, “deploy”. Ask me to recall it whenever you like.")},
			"ada: deploy the billing service to staging",
		},
		"a hint and a note": {
			[]step{{kind: "note", text: "You now hear room dev, where somebody mentioned the invoice INV-2231."},
				{kind: "hint", text: "You have forgotten details of these, which may matter now. UNCOMPACT shows them:\n◱hash=" + hashA + " gist=the cellar key hangs in vault7◲ (e1..e2)"},
				heard("ada: what about tulips in the garden"), answered("I heard “tulips garden”, but I am only the rehearsal model.")},
			"ada: what about tulips in the garden",
		},
		"symbols and headers": {
			[]step{heard("ada: -- // --"), ran("x", "----\n\n}\n◰4 e5 inbound room=dev\n[exit 0, 0.01s]\n1-29 (30)\n◱hash="+hashA+" gist=g◲"), answered("***")},
			"nothing in words",
		},
		"code": {
			[]step{ran("cat main.go", "func main() {\n\tserve(port)\n}"), answered("// main starts the server on the port of its flags.\nserver.error = port.check(a.b, c.d)\nserve is called in main.go with the port.\n$ cat main.go"), heard("ada: nice")},
			"I: serve is called in main.go with the port.",
		},
		"a long question": {
			[]step{heard("ada: " + strings.Repeat("could you look into the timeout of the nightly backup ", 4)), answered("I decided to raise backup.timeout to 90s.")},
			"ada: could you look into the timeout of the nightly… — I decided to raise backup.timeout to 90s",
		},
		"what came before the question": {
			[]step{answered("#198 is fixed on branch fix/198, commit 6f1d2c3."), heard("ada: #199: the cache returns what was deleted"), answered("I start with the tests of cache.go.")},
			"ada: #199: the cache returns what was deleted — I start with the tests of cache.go",
		},
		"a promise": {
			[]step{heard("you: remember: never clean the lens with water"), answered("I will remember: never clean the lens with water"), heard("you: read it"), answered("Gladly.")},
			"you: remember: never clean the lens with water",
		},
		"an identifier from elsewhere": {
			[]step{heard("ada: please check why invoices are late"), ran("cat conf/billing.toml", "8123")},
			"ada: please check why invoices are late (conf/billing.toml)",
		},
		"a talk": {
			[]step{heard("Ann: I saw the new crane at the harbour today.", "Bob: Really? Everybody in town was talking of it yesterday evening.", "Ann: The harbour crane lifts forty tons."), heard("Bob: My cousin drove past with her three dogs on Sunday.", "Ann: They named the crane Greta.", "the crane will work from May")},
			"Ann: The harbour crane lifts forty tons.",
		},
		"another script":   {[]step{heard("ada: 港の灯台の鍵はどこですか"), answered("鍵は気圧計の裏にあります。")}, "ada: 港の灯台の鍵はどこですか — 鍵は気圧計の裏にあります。"},
		"nothing but talk": {[]step{heard("ada: thanks"), answered("Gladly.")}, "I: Gladly."},
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range []string{fork, alone} {
				got := gistOf(t, how, tt.chunk)
				if got != tt.want {
					t.Errorf("%s: %q, want %q", how, got, tt.want)
				}
				if again := gistOf(t, how, tt.chunk); again != got {
					t.Errorf("%s: %q, and then %q", how, got, again)
				}
			}
		})
	}
}

// Whatever a chunk holds, its gist is a line that means something.
func TestGistIsALine(t *testing.T) {
	for _, text := range []string{"", "◰", strings.Repeat("◰4", 200), strings.Repeat("x", 500), strings.Repeat("word ", 200), strings.Repeat("灯", 300), "\u2028", "a: b: c: d: e", "``` \n```", cutMark} {
		for _, how := range []string{fork, alone} {
			gistOf(t, how, []step{heard("ada: " + text)})
			gistOf(t, how, []step{heard("ada: "+text, text), answered(text), ran(text, text)})
		}
	}
}
