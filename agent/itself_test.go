package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/mind"
)

// A life of everything that happens by itself. Each line that wakes it has a token; the model
// does what a token asks for and names in its answer all tokens of the turn.
//
//	ring N, tick    of triggers: once, and every second
//	work N          a job; its end is "job N"
//	spawn N         a child, whose brief is "task N", which stands in its result, too
//	wait N          a question; its answer is "q… yes"
var (
	heardLine = regexp.MustCompile(`(?m)^\[(USER|AGENT):\S+ (\S+)\] (.*)$`)
	tokenText = regexp.MustCompile(`^(?:result \d+: )?(?:answer: )?((?:ring|work|spawn|task|wait) \d+|job \d+|q[0-9a-f]{6} yes|tick)`)
)

// tokenOf is the token of a line, "" for one that has none.
func tokenOf(stamp, text string) string {
	m := tokenText.FindStringSubmatch(text)
	switch {
	case m == nil:
		return ""
	case m[1] == "tick":
		return "tick " + stamp
	}
	return m[1]
}

// byToken is the model: what it says follows from the request alone.
type byToken struct{}

func (byToken) Complete(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	begin := 0
	for i, m := range r.Messages {
		if m.Role == "assistant" && len(m.Calls) == 0 || m.Role == "tool" && strings.HasPrefix(m.Content.String(), "asked ") {
			begin = i + 1
		}
	}
	var tokens []string
	done, asked := "", false
	for _, m := range r.Messages[begin:] {
		for _, c := range m.Calls {
			done += c.Arguments
			asked = asked || c.Name == "WAIT" // a question that could not be asked
		}
		if strings.HasPrefix(m.Content.String(), "◆ e") && m.Role == "user" {
			for _, l := range heardLine.FindAllStringSubmatch(m.Content.String(), -1) {
				if t := tokenOf(l[2], l[3]); t != "" {
					tokens = append(tokens, t)
				}
			}
		}
	}
	text, question := "answer: "+strings.Join(tokens, ", "), false
	reply := llm.Reply{Text: text, Finish: "stop", Model: r.Model}
	call := func(name string, args map[string]any) {
		data, _ := json.Marshal(args)
		reply.Calls = append(reply.Calls, llm.ToolCall{ID: fmt.Sprint("c", len(reply.Calls)), Name: name, Arguments: string(data)})
	}
	for _, t := range tokens {
		kind, n, _ := strings.Cut(t, " ")
		switch {
		case kind == "work" && !strings.Contains(done, "did-"+n+" "):
			call("BASH", map[string]any{"command": "echo did-" + n + " >> did; sleep 0.05", "background": "1"})
		case kind == "spawn" && !strings.Contains(done, "task "+n+"."):
			call("SPAWN", map[string]any{"brief": "task " + n + "."})
		case kind == "wait":
			question = true
		}
	}
	if question && !asked && len(reply.Calls) == 0 { // it ends the turn
		call("WAIT", map[string]any{"question": text, "options": "yes|no"})
	}
	if len(reply.Calls) > 0 {
		reply.Text, reply.Finish = "", "tool_calls"
	}
	return reply, nil
}

// dieEnv tells a test binary that lives by itself where it kills itself: right behind the n-th line
// of a kind in LIFE ("fired 2"), or before or after a step that changes the disk ("step 70"), or a room ("room 3").
const dieEnv = "LETHE_TEST_DIE"

// byItself is what such a life runs with.
func byItself(c Config) Config {
	c.Model, c.People, c.Zone, c.ContextLimit = byToken{}, []string{"ann"}, time.UTC, 40_000
	c.Forgetting.Mechanical, c.Tools.Bash = true, tools.BashTrusted
	return c
}

// itselfMain runs the identities of a home, but for children.
func itselfMain(dir, die string) {
	inChild(dir, func(conf Config, all []home.Identity) error {
		where, count, _ := strings.Cut(die, " ")
		n, _ := strconv.Atoi(count)
		var left atomic.Int64
		left.Store(int64(n))
		dieAt := func(here bool) {
			if here && left.Add(-1) == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		conf.Tell = func(_ home.Identity, e life.Event) { dieAt(e.Kind == where) }
		durable.Fault = func(_ durable.Stage, _, path string) error {
			dieAt(where == "step" || where == "room" && strings.HasPrefix(path, conf.Home.Chats()))
			return nil
		}
		ids := slices.DeleteFunc(all, home.Identity.IsChild)
		return children.Supervise(context.Background(), ids,
			func(id home.Identity) (*Agent, error) { return Open(id, byItself(conf)) }, discard())
	})
}

// person answers each question of room dev once.
type person struct {
	w        *world
	answered map[string]bool
}

func (p person) answer() {
	for _, l := range p.w.lines("dev") {
		if q, ok := chat.ParseQuestion(l.Text); ok && l.Agent && !p.answered[q.ID] {
			p.answered[q.ID] = true
			p.w.say("dev", "ann", q.ID+" yes")
		}
	}
}

// TestByItselfKilled kills a life of triggers, questions, jobs and children again and again: at
// any moment, behind a line of its LIFE, or beside a step that changes the disk. Each firing, answer, end and
// result is there once.
func TestByItselfKilled(t *testing.T) {
	slow(t)
	w := newWorld(t)
	w.limit = 5 * time.Minute
	id := w.boot("ada", "dev")
	ann := person{w, map[string]bool{}}
	dir := w.own(id, "triggers")
	lethetest.Must(t, os.MkdirAll(dir, 0o700))
	w.write(filepath.Join(dir, "tick.toml"), "every = \"1s\"\nroom = \"dev\"\nsay = \"tick\"\n")
	random := rand.New(rand.NewPCG(uint64(lethetest.Sample(1, 1, 7)), 2))
	kinds := []string{"fired", "posted", "inbound", "reply", "call", "result", "asked", "joined", "epoch", "note", "resumed"}
	stimuli := []string{"ring", "work", "spawn", "wait"}
	rounds := lethetest.Sample(8, 40, 1000)
	died := map[string]int{}
	for i := range rounds {
		die, patience := "", 30*time.Millisecond+time.Duration(random.Int64N(int64(400*time.Millisecond)))
		switch i % 4 {
		case 1:
			die = fmt.Sprint(kinds[random.IntN(len(kinds))], " ", 1+random.IntN(3))
		case 2:
			die = fmt.Sprint("step ", 1+random.IntN(200))
		case 3:
			die = fmt.Sprint("room ", 1+random.IntN(16))
		}
		if die != "" {
			patience = time.Second
		}
		var out strings.Builder
		child := w.process(&out, dieEnv+"="+die)
		if kind := stimuli[random.IntN(len(stimuli))]; kind == "ring" {
			name := filepath.Join(dir, fmt.Sprintf("ring-%d.toml", i))
			w.write(name+".new", fmt.Sprintf("at = %q\nroom = \"dev\"\nsay = \"ring %d\"\n", time.Now().UTC().Format(time.RFC3339), i))
			lethetest.Must(t, os.Rename(name+".new", name))
		} else {
			w.say("dev", "ann", fmt.Sprintf("%s %d", kind, i))
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }() // ends with the child, which is killed
		select {
		case <-ended:
			died[strings.Fields(die + " ?")[0]]++
		case <-time.After(patience):
			_ = child.Process.Kill() // it may have ended just now
			<-ended
		}
		if out.Len() > 0 {
			t.Fatalf("the child ended by itself: %s\n%s", out.String(), w.dump())
		}
		ann.answer()
		old, _ := filepath.Glob(filepath.Join(dir, "ring-*.toml"))
		for _, path := range old {
			if w.rung(path) {
				lethetest.Must(t, os.Remove(path))
			}
		}
	}
	lethetest.Tried(t, rounds)
	t.Logf("by themselves at: %v", died)
	lethetest.Must(t, os.Remove(filepath.Join(dir, "tick.toml")))
	w.conf = byItself(w.conf)
	s := w.supervise(id)
	w.eventually("all is done", func() bool { ann.answer(); return w.quiet(id) })
	s.end()
	lethetest.Must(t, s.err)
	w.once(id)
}

// quiet reports whether an identity owes nothing and nothing of it goes on or is unread.
func (w *world) quiet(id home.Identity) bool {
	w.Helper()
	if st, err := status.Read(id.Dir); err != nil || st.State != status.Idle {
		return false
	}
	rings, _ := filepath.Glob(w.own(id, "triggers/ring-*.toml"))
	if s := w.fold(id); len(s.Wakes)+len(s.Outbox)+len(s.Questions)+len(s.Jobs) > 0 || s.Owes ||
		slices.ContainsFunc(s.Children, func(c mind.Child) bool { return c.Open() }) {
		return false
	}
	return !slices.ContainsFunc(rings, func(path string) bool { return !w.rung(path) }) &&
		len(w.heard(id, "dev")) == len(w.toHear("dev", "ada"))
}

// rung reports whether the line of a trigger that rings once stands in its room.
func (w *world) rung(path string) bool {
	n := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "ring-"), ".toml")
	return strings.Contains(w.read(w.path("dev")), "] ring "+n+"\n")
}

// toHear are the lines of a room that an identity has to hear.
func (w *world) toHear(room, name string) (out []string) {
	for _, l := range w.lines(room) {
		if !l.Agent || l.Name != name {
			out = append(out, l.Text)
		}
	}
	return out
}

// once checks that whatever happened by itself happened once, and everything was heard and answered once.
func (w *world) once(id home.Identity) {
	w.Helper()
	equalSlices(w, "heard in dev", w.heard(id, "dev"), w.toHear("dev", "ada"))
	told, lines := map[string]int{}, map[string]int{} // tokens by where they are answered, lines of others
	for _, l := range w.lines("dev") {
		if l.Agent && l.Name == "ada" {
			_, list, _ := strings.Cut(l.Text, "answer: ")
			list, _, _ = strings.Cut(list, "\n")
			for token := range strings.SplitSeq(list, ", ") {
				told[token]++
			}
		} else if token := tokenOf(l.At.Format(time.RFC3339), l.Text); token != "" {
			lines[token]++
		}
	}
	delete(told, "")
	fired := map[string]int{}
	for _, e := range w.events(id, "fired") {
		fired[tokenOf(e.Get("ts"), e.Get("say"))]++
	}
	for token, n := range fired {
		if n != 1 || lines[token] != 1 {
			w.Errorf("%q was fired %d times and stands %d times in the room", token, n, lines[token])
		}
	}
	jobs := map[string]int{}
	for _, e := range w.events(id, "result") {
		if job := e.Get("job"); job != "" {
			jobs["job "+job]++
			lines["job "+job] += 0
		}
	}
	children := 0
	for _, e := range w.events(id, "call") {
		name, place := e.Get("child"), e.Get("post")
		if name == "" {
			continue
		}
		children++
		child, err := w.home.Find(name)
		if err != nil {
			w.Errorf("the child of %s: %v", e.Arg(0), err)
			for _, of := range w.life(id) {
				if of.Arg(0) == e.Arg(0) {
					w.Logf("%s", of)
				}
			}
			continue
		}
		room, _, _ := strings.Cut(place, "@")
		said, task := w.said(room), w.fold(child).Task
		if len(said) != 2 || task.Given != 1 || task.Ended != 1 {
			w.Errorf("room %s of a child, given %d and ended %d: %q", room, task.Given, task.Ended, said)
			continue
		}
		lines[tokenOf("", said[1])]++
		equalSlices(w, "heard of a child", w.heard(id, room), said[1:])
		equalSlices(w, "heard by a child", w.heard(child, room), said[:1])
		w.conserved(child)
	}
	for token, n := range lines {
		switch {
		case n != 1:
			w.Errorf("%q is there %d times", token, n)
		case told[token] != 1:
			w.Errorf("%q was answered %d times", token, told[token])
		case strings.HasPrefix(token, "job ") && jobs[token] != 1:
			w.Errorf("%q ended, and %d calls began it", token, jobs[token])
		}
	}
	for token := range told {
		if lines[token] == 0 {
			w.Errorf("%q was answered and never said", token)
		}
	}
	for _, e := range w.events(id, "asked") {
		if ref := e.Refs[0].Hash; len(w.having(id, "inbound", "answers", "q"+ref[:6])) != 1 {
			w.Errorf("the question %s has not one answer", ref)
		}
	}
	did, _ := os.ReadFile(w.own(id, "workspace/did"))
	ran := map[string]int{}
	for line := range strings.Lines(string(did)) {
		ran[line]++
	}
	for _, line := range slices.Sorted(maps.Keys(ran)) {
		equal(w, "runs of "+line, ran[line], 1)
	}
	w.conserved(id)
	kinds := map[string]int{}
	for token := range lines {
		kind, _, _ := strings.Cut(token, " ")
		if strings.HasSuffix(token, " yes") {
			kind = "answer"
		}
		kinds[kind]++
	}
	w.Logf("lines heard: %d, by their token: %v; children: %d; events: %d", len(w.heard(id, "dev")), kinds, children, len(w.life(id)))
}
