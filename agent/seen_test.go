package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/tools"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/mind"
	"lethe/mind/message"
)

// last returns the newest result of an identity.
func (w *world) last(r *running) result {
	w.Helper()
	all := w.results(r.id)
	return all[len(all)-1]
}

// What somebody has changed since the identity saw it is not overwritten: it is shown, and counts as seen then.
func TestNothingUnseenIsOverwritten(t *testing.T) {
	t.Parallel()
	write := func(text string) string { return `{"path":"notes.md","content":"` + text + `"}` }
	w, id, r := start(t,
		on("begin", calls("WRITE_FILE", write(`one\ntwo\n`))),
		on("replace it", calls("WRITE_FILE", write(`three\n`))),
		on("replace it again", calls("WRITE_FILE", write(`three\n`))),
		on("edit it", calls("EDIT_FILE", `{"path":"./notes.md","old":"three","new":"four"}`)),
		on("read and edit", calls("READ_FILE", `{"path":"notes.md"}`,
			"EDIT_FILE", `{"path":"notes.md","old":"five","new":"six"}`, "EDIT_FILE", `{"path":"notes.md","old":"six","new":"7"}`)),
		on("a new one", calls("WRITE_FILE", `{"path":"other.md","content":"over it"}`)),
		always("done"),
	)
	path := filepath.Join(id.Dir, "workspace", "notes.md")
	r.ask("begin")
	w.write(path, "one\ntwo\na person's\n")
	r.ask("replace it")
	refused := w.last(r)
	equal(t, "status", refused.status, mind.Failed)
	contains(t, refused.text, "\n+a person's\n")
	equal(t, "the file", w.read(path), "one\ntwo\na person's\n")

	r.ask("replace it again") // the difference was shown
	replaced := w.last(r)
	equal(t, "the file", w.read(path), "three\n")
	call := w.having(id, "call", "kept", "yes")[0]
	equal(t, "what was replaced", w.body(call, 0), "one\ntwo\na person's\n")
	contains(t, replaced.text, "; before: hash="+call.Refs[0].Hash)
	if got := w.having(id, "result", "saw", call.Get("makes")); len(got) != 1 {
		t.Errorf("%d results have seen %s", len(got), call.Get("makes"))
	}

	r = r.again() // nothing is left that could show the difference
	w.write(path, "three\nfive\n")
	r.ask("edit it")
	contains(t, w.last(r).text, "READ_FILE shows what is not shown here:\n")
	equal(t, "the file", w.read(path), "three\nfive\n")
	r.ask("read and edit")
	equal(t, "the file", w.read(path), "three\n7\n")

	w.write(filepath.Join(filepath.Dir(path), "other.md"), "never read")
	r.ask("a new one")
	equal(t, "a file that was never read", w.last(r).status, mind.OK)
	r.checked()
}

// A file that the identity has changed in an earlier turn is shown with its past; others, and in that turn, without.
func TestReadTellsOfThePast(t *testing.T) {
	t.Parallel()
	w, id, r := start(t,
		on("begin", calls("WRITE_FILE", `{"path":"a.md","content":"one"}`, "WRITE_FILE", `{"path":"b\"]\n◆.md","content":"b"}`,
			"READ_FILE", `{"path":"a.md"}`)),
		on("read it", calls("READ_FILE", `{"path":"a.md"}`)),
		on("look again", calls("READ_FILE", `{"path":"a.md"}`)),
		always("done"))
	r.ask("begin")
	equal(t, "in the same turn", w.last(r).text, "[a.md: lines 1-1 of 1, 3 bytes]\none\n")
	r = r.again()
	r.ask("read it")
	why := w.events(id, "inbound")[0].Refs[0].Hash
	want := "[a.md: lines 1-1 of 1, 3 bytes; you changed it " + time.Now().UTC().Format(time.DateOnly) + ", why: hash=" + why
	equal(t, "later", w.last(r).text, want+"; with it: \"b\\\"]\\n\\u25c6.md\"]\none\n")
	w.write(filepath.Join(id.Dir, "workspace", "a.md"), "two")
	r.ask("look again")
	contains(t, w.last(r).text, "; it has changed since; with it:")
	r.checked()
}

// What was written before a crash is no other's; what another has written in the meantime is.
func TestOwnWriteBeforeACrash(t *testing.T) {
	t.Parallel()
	for there, want := range map[string]string{"one\nTWO\n": mind.OK, "one\n2\n": mind.Failed} {
		w := newWorld(t,
			on("begin", calls("WRITE_FILE", `{"path":"a:b.md","content":"one\ntwo\n"}`)),
			on("edit", calls("EDIT_FILE", `{"path":"a:b.md","old":"two","new":"TWO"}`)),
			on("go on", calls("WRITE_FILE", `{"path":"a:b.md","content":"three\n"}`)),
			always("done"))
		id, r := w.ada()
		r.ask("begin")
		r = r.again(dieAt("call", 1))
		w.say("dev", "ann", "edit")
		r.killed()
		path := filepath.Join(id.Dir, "workspace", "a:b.md")
		equal(t, "the file before the write", w.read(path), "one\ntwo\n")
		w.write(path, there) // it had gone so far
		r = w.run(id)
		r.settled()
		r.ask("go on")
		equal(t, "over "+there, w.last(r).status, want)
		r.checked()
	}
}

// A text that a hook has put in the place of the arguments, and the text that is replaced, are told apart.
func TestHookedWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("write", calls("WRITE_FILE", `{"path":"a.md","content":"x"}`)), always("done"))
	hooked := `{"content":"from the hook","path":"a.md"}`
	w.hook("call/change", `echo '{"updated_input":`+hooked+`}'`)
	id, r := w.ada()
	path := filepath.Join(id.Dir, "workspace", "a.md")
	w.write(path, "before")
	r.ask("write")
	equal(t, "the file", w.read(path), "from the hook")
	call := w.having(id, "call", "kept", "yes")[0]
	equal(t, "arguments", w.body(call, 0), hooked)
	equal(t, "what was replaced", w.body(call, 1), "before")
	r.checked()
}

// editor is a model that adds lines to a file, reads it again where it has to, and ends its turn when stopped.
type editor struct {
	done    atomic.Bool
	others  *atomic.Int64 // counts the writes of others, twice each: before and after
	at      [2]int64      // of others, when the newest call and the one before began
	text    string        // as it was seen last
	pending string        // that the last call writes, unless it was refused
	calls   atomic.Int64

	consecutive, repeated int // own edits without a write of others between, and those refused
}

func (e *editor) Complete(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	result := r.Messages[len(r.Messages)-1].Content.String()
	now := e.others.Load()
	if e.pending != "" {
		quiet := e.at == [2]int64{now, now} && now%2 == 0
		if quiet {
			e.consecutive++
		}
		switch {
		case strings.HasPrefix(result, "replaced"), strings.HasPrefix(result, "edited"):
			e.text = e.pending
		case quiet:
			e.repeated++
			fallthrough
		default:
			e.text = ""
		}
	} else if _, body, ok := strings.Cut(result, "]\n"); ok && strings.HasPrefix(result, "[list.md: lines ") {
		e.text = body
	}
	e.pending = ""
	if e.done.Load() {
		return llm.Reply{Text: "done", Finish: "stop", Model: "m"}, nil
	}
	n := e.calls.Add(1)
	e.at = [2]int64{now, e.at[0]}
	call := message.Call{ID: fmt.Sprint("c", n), Name: "READ_FILE"}
	args := map[string]string{"path": "list.md"}
	own, rest, _ := strings.Cut(e.text, "\n")
	line := fmt.Sprintf("identity %d", n)
	switch {
	case e.text == "":
	case n%2 == 0:
		e.pending = line + "\n" + rest
		call.Name, args["content"] = "WRITE_FILE", e.pending
	default:
		e.pending = line + "\n" + rest
		call.Name, args["old"], args["new"] = "EDIT_FILE", own+"\n", line+"\n"
	}
	text, _ := json.Marshal(args)
	call.Arguments = string(text)
	return llm.Reply{Calls: []llm.ToolCall{call}, Finish: "tool_calls", Model: "m"}, nil
}

// A person who saves in place, a child and a formatter write one file 500 times (LETHE_LONG=1) while an identity edits it: no line of
// theirs is lost, and an edit behind an own edit is refused at most once in 50 times.
func TestOthersWriteTheSameFile(t *testing.T) {
	slow(t)
	w := newWorld(t)
	var writes atomic.Int64
	model := &editor{others: &writes}
	w.gauge.Model = model
	w.conf.MaxSteps = 1 << 20
	id := w.boot("ada", "dev")
	path := filepath.Join(id.Dir, "workspace", "list.md")
	lethetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	w.write(path, "identity 0\nEND\n")
	child, err := tools.New(tools.Config{AgentDir: id.Dir, Home: w.home.Dir, Bash: tools.BashOff})
	lethetest.Must(t, err)
	added := func(line string) string { return strings.Replace(w.read(path), "END\n", line+"\nEND\n", 1) }
	ways := map[string]func(line string){
		"person":    func(line string) { lethetest.Must(t, os.WriteFile(path, []byte(added(line)), 0o644)) },
		"formatter": func(line string) { lethetest.Must(t, durable.WriteFile(path, []byte(added(line)), 0o644)) },
		"child": func(line string) {
			args, _ := json.Marshal(map[string]string{"path": "list.md", "old": "END\n", "new": line + "\nEND\n"})
			for failed := true; failed && t.Context().Err() == nil; {
				effect, err := child.Intent("EDIT_FILE", args)
				lethetest.Must(t, err)
				failed = effect.(*tools.Change).Do(t.Context(), tools.Call{Name: "EDIT_FILE"}).Err
			}
		},
	}
	r := w.run(id)
	w.say("dev", "ann", "edit the list")
	total := lethetest.Sample(60, 150, 500)
	var lines []string
	var order sync.Mutex // they do not overwrite each other
	var all sync.WaitGroup
	names := []string{"person", "formatter", "child"}
	for k, name := range names {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(k), 1))
			for i := k; i < total; i += len(names) {
				for until := model.calls.Load() + random.Int64N(16); model.calls.Load() < until && t.Context().Err() == nil; {
					time.Sleep(time.Millisecond)
				}
				order.Lock()
				line := fmt.Sprintf("%.1s%d", name, i)
				writes.Add(1)
				ways[name](line)
				writes.Add(1)
				lines = append(lines, line)
				order.Unlock()
			}
		})
	}
	all.Wait()
	model.done.Store(true)
	w.answered("dev", 1)
	r.settled()
	text := "\n" + w.read(path)
	besides, err := filepath.Glob(path + ".conflict-*") // the names that results have told the identity
	lethetest.Must(t, err)
	for _, beside := range besides {
		text += "\n" + w.read(beside)
	}
	lost := 0
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			lost++
		}
	}
	t.Logf("%d writes of others; %d calls, %d edits behind an own one, %d of these repeated; %d conflicts; %d lines lost",
		len(lines), model.calls.Load(), model.consecutive, model.repeated, len(besides), lost)
	if lost > 0 || len(lines) != total {
		t.Errorf("of %d lines of others %d are lost", len(lines), lost)
	}
	if model.repeated*50 > model.consecutive || model.consecutive < total/8 {
		t.Errorf("of %d edits behind an own one %d were refused", model.consecutive, model.repeated)
	}
	r.stop()
}

// An earlier text comes back once, whatever dies: what stood there is kept before, and a failure is told.
func TestRestoreCutShort(t *testing.T) {
	t.Parallel()
	write := func(text string) string { return `{"path":"a.md","content":"` + text + `"}` }
	w, id, r := start(t, on("begin", calls("WRITE_FILE", write("one"), "WRITE_FILE", write("two"))), always("done"))
	r.ask("begin")
	r.stop()
	path := filepath.Join(id.Dir, "workspace", "a.md")
	ref := w.having(id, "call", "kept", "yes")[0].Refs[0].Hash
	wish, answer := home.RestoreWish(ref, "a.md")
	done, refused := 0, 0
	for step, failed := 0, true; failed; step++ {
		text := fmt.Sprint("a person's ", step)
		w.write(path, text)
		lethetest.Must(t, home.Leave(id, wish, "a.md"))
		restore := func() error {
			a, err := Open(id, w.conf)
			if err != nil {
				return err
			}
			defer a.Close()
			return a.Restore()
		}
		failed, _ = w.failingAt(step, restore)
		if was := w.read(path); was != text && was != "one" {
			t.Fatalf("step %d: the file holds %q", step, was)
		}
		lethetest.Must(t, restore())
		why := answer.Text(id)
		lethetest.Must(t, answer.Drop(id))
		notes := w.having(id, "note", "why", "restored")
		switch now := w.read(path); {
		case home.Asked(id, wish):
			t.Errorf("step %d: the wish is not obeyed", step)
		case now == "one" && why == "":
			done++
			first := slices.IndexFunc(notes, func(e life.Event) bool { return len(e.Refs) > 1 && w.body(e, 1) == text })
			if first < 0 {
				t.Errorf("step %d: %q is not kept", step, text)
			}
		case now == text && why != "", strings.Contains(why, "sync directory"):
			refused++
		default:
			t.Errorf("step %d: the file holds %q; %s", step, now, why)
		}
	}
	if done < 3 || refused < 1 {
		t.Errorf("%d times done, %d refused", done, refused)
	}
	w.write(path, "a person's")
	for _, name := range []string{"a.md", "b.md"} { // one text for two files
		wish, _ := home.RestoreWish(ref, name)
		lethetest.Must(t, home.Leave(id, wish, name))
	}
	r = w.run(id)
	r.ask("hello")
	r.stop()
	contains(t, w.prompt(), "A person brings back an earlier text of a.md")
	if b := w.read(filepath.Join(filepath.Dir(path), "b.md")); w.read(path) != "one" || b != "one" {
		t.Errorf("the files hold %q and %q", w.read(path), b)
	}
}
