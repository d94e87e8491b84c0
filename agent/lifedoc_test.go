package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// form is what docs/life.md says of one kind of event.
type form struct {
	args           []string // patterns, in order
	keys, must     []string // all fields, and those that are always there
	refs, moreRefs int      // that are always there, and that may follow
	text           string   // the section
	reserved       bool     // nothing writes it yet
}

var (
	formHead  = regexp.MustCompile("(?s)^([a-z]+)`\n\n`([^`]+)`\n\n(.*)$")
	formKey   = regexp.MustCompile(`([a-z]+)=`)
	formGroup = regexp.MustCompile(`\[[^\]]*\]`)
	argForms  = map[string]string{
		"eN": `e\d+`, "eN.k": `e\d+\.\d+`, "kN": `k\d+`, "ID": `e\d+(\.\d+)?|k\d+`,
		"eA..eB": `e\d+\.\.e\d+`, "K": `\d+`, "TOOL": `[A-Z_]+`,
	}
)

// lifePage reads the page's events, and its example.
func lifePage(t *testing.T) (forms map[string]form, example []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/life.md")
	must(t, err)
	_, block, _ := strings.Cut(string(page), "\n```life\n")
	block, _, _ = strings.Cut(block, "```\n")
	_, events, _ := strings.Cut(string(page), "\n## Events\n")
	sections := strings.Split(events, "\n### `")
	forms = map[string]form{}
	for _, section := range sections[1:] {
		m := formHead.FindStringSubmatch(section)
		if m == nil {
			t.Fatalf("no form of an event in:\n%.200s", section)
		}
		f := form{text: sections[0] + m[3], reserved: strings.HasPrefix(m[3], "Reserved")}
		for _, word := range strings.Fields(m[2])[1:] {
			if strings.ContainsAny(word, "=<[") {
				break
			}
			f.args = append(f.args, "^("+argForms[word]+")$")
		}
		f.refs, f.moreRefs = strings.Count(m[2], " <"), strings.Count(m[2], "[<")
		for _, k := range formKey.FindAllStringSubmatch(m[2], -1) {
			f.keys = append(f.keys, k[1])
			if !regexp.MustCompile("`" + k[1] + "[`=]").MatchString(f.text) {
				t.Errorf("docs/life.md does not explain %s= of %s", k[1], m[1])
			}
		}
		for _, k := range formKey.FindAllStringSubmatch(formGroup.ReplaceAllString(m[2], ""), -1) {
			f.must = append(f.must, k[1])
		}
		forms[m[1]] = f
	}
	return forms, strings.Split(strings.TrimSuffix(block, "\n"), "\n")
}

// words are the fields whose values the page lists.
var words = []string{"note why", "epoch why", "stopped why", "resumed why", "error what", "error kind", "result status", "fade to", "spent on", "command name"}

// check holds an event against its form.
func (f form) check(t *testing.T, e life.Event) {
	t.Helper()
	ok := len(e.Args) == len(f.args)
	for i := range min(len(e.Args), len(f.args)) {
		ok = ok && regexp.MustCompile(f.args[i]).MatchString(e.Args[i])
	}
	ok = ok && f.refs <= len(e.Refs) && len(e.Refs) <= f.refs+f.moreRefs
	for _, k := range f.must {
		ok = ok && slices.ContainsFunc(e.Fields, func(have life.Field) bool { return have.Key == k })
	}
	for _, have := range e.Fields {
		ok = ok && slices.Contains(f.keys, have.Key)
		if slices.Contains(words, e.Kind+" "+have.Key) {
			ok = ok && (strings.Contains(f.text, "`"+have.Value+"`") || strings.Contains(f.text, "`"+have.Key+"="+have.Value+"`"))
		}
	}
	if !ok {
		t.Errorf("docs/life.md describes no such event:\n%s", e)
	}
}

// A life in which everything happens writes what the page describes, and all of it.
func TestLifeIsAsDescribed(t *testing.T) {
	t.Parallel()
	forms, _ := lifePage(t)
	w := newWorld(t)
	seen := map[string]bool{}
	for _, e := range w.life(w.eventful()) {
		forms[e.Kind].check(t, e)
		seen[e.Kind] = true
		for _, f := range e.Fields {
			seen[e.Kind+" "+f.Key] = true
		}
	}
	for kind, f := range forms {
		for _, key := range f.keys {
			if !seen[kind+" "+key] {
				t.Errorf("docs/life.md describes %s with %s=, which nothing has written", kind, key)
			}
		}
		if seen[kind] == f.reserved {
			t.Errorf("%s: written %v, reserved %v", kind, seen[kind], f.reserved)
		}
	}
}

// eventful lives through one of everything.
func (w *world) eventful() Identity {
	retry := make(chan struct{}, 1)
	w.conf.Retry, w.conf.MaxAgentTurns, w.conf.Recall.HintTime = retry, 1, time.Minute
	w.conf.Forgetting.Target = new(float64) // all that may fade does
	w.model.Push(
		rehearsal.Step{Contains: "work", Answer: calls(
			"BASH", `{"command":"while [ ! -e go ]; do sleep 0.02; done; seq 3000"}`, "SAY", `{"room":"dev","message":"half way"}`,
			"WRITE_FILE", `{"path":"self/MEMORY.md","content":"Ann likes teal.\n"}`)},
		rehearsal.Step{Contains: "you there?", Status: 503},
		rehearsal.Step{Contains: "still there?", Fault: rehearsal.Truncate},
		rehearsal.Step{Contains: "money", Status: 402},
		rehearsal.Step{Task: "segment", Status: 500},
		rehearsal.Step{Contains: "overflow", Status: 400, Body: `{"error":{"message":"maximum context length is 65536 tokens"}}`},
		rehearsal.Step{Match: func(r *rehearsal.Request) bool {
			return strings.Contains(r.Last().Text(), "at length") || strings.Contains(r.Last().Text(), "was cut off")
		}, Times: 4, Answer: &rehearsal.Answer{Text: "Well", Finish: "length"}},
	)
	id := w.boot("ada", "dev", "ops")
	w.say("dev", "ann", "good morning") // before it joins the room, which has an end then
	r := w.run(id)
	r.settled()
	ask := func(text string) {
		w.Helper()
		w.say("dev", "ann", text)
		r.settled()
	}
	happens := func(kind, key, value string) {
		w.Helper()
		w.eventually(kind+" "+key+"="+value, func() bool {
			return slices.ContainsFunc(w.events(id, kind), func(e life.Event) bool { return e.Get(key) == value })
		})
	}
	ask("hello")
	w.rewrite(w.path("dev"), func(s string) string {
		return replace("hello", "hullo")(s) + "[USER:bob 2026-11-20T12:57:16Z] a line in another file\n"
	})
	happens("inbound", "moved", "yes")
	r.settled()
	must(w, os.Remove(w.path("dev")))
	w.say("dev", "ann", "/status")
	happens("command", "moved", "yes")
	r.settled()

	w.say("dev", "ann", "work")
	r.waitFor("acting", "BASH")
	w.say("dev", "ann", "meanwhile", "/status")
	happens("command", "early", "yes")
	must(w, os.WriteFile(w.own(id, "workspace/go"), nil, 0o600))
	r.settled()

	ask(strings.Repeat("A line that is as long as a book. ", 3000))
	other, err := w.store.Put(blobs.Meta{At: time.Now(), Gist: "of another life", Life: strings.Repeat("0", 64)}, []byte("swordfish"))
	must(w, err)
	ask("uncompact hash=" + other.String())
	ask("/model rehearsal-two")

	w.rewrite(w.own(id, "MEMORY.md"), replace("teal", "red"))
	w.eventually("context.md has the note", func() bool {
		return strings.Contains(w.read(w.own(id, contextFile)), "changed self/MEMORY.md")
	})
	ask("/status" + strings.Repeat(" ", 1000)) // and nothing is being written any more
	w.rewrite(w.own(id, contextFile), replace("◆ end", "◆ to you\n"+strings.Repeat("A long letter. ", 1000)+"\n◆ end"))
	happens("epoch", "why", "edit")
	for range 2 {
		w.put("ops", "[AGENT:eve 2026-11-20T12:57:16Z] and you?\n")
		r.settled()
	}
	must(w, os.Remove(filepath.Join(id.Subs(), "ops.md")))
	happens("left", "room", "ops")
	must(w, chat.Subscribe(id.Subs(), w.home.Chats(), "ops"))
	r.settled()

	w.say("dev", "ann", "are you there?")
	happens("error", "what", "model")
	w.say("dev", "ann", "still there?")
	happens("spent", "estimated", "yes")
	ask("hello again")
	ask("here is no money")
	retry <- struct{}{}
	happens("resumed", "why", "asked")
	r.settled()
	ask("tell me at length")
	must(w, AskToCompact(id))
	happens("epoch", "why", "person")
	r.indexed()
	ask("which tool wrote that Ann likes teal into MEMORY.md?")
	r.stop()

	w.say("dev", "ann", "how are you?")
	w.run(id, dieAt("reply", 1)).killed()
	line := w.fold(id).Outbox[0].Line
	w.put("dev", line[:len(line)-8])
	r = w.run(id)
	r.settled()
	ask("overflow")
	r.stop()
	return id
}

// The page's example is a life: it can be folded, to its end, and so can what is
// reserved.
func TestLifePageFolds(t *testing.T) {
	t.Parallel()
	forms, example := lifePage(t)
	var events []life.Event
	for _, line := range example {
		e, err := life.ParseLine(line)
		must(t, err)
		forms[e.Kind].check(t, e)
		events = append(events, e)
	}
	s := mind.New()
	for i, e := range events {
		must(t, s.Apply(e, bodies(t, e, events[i:])...))
	}
	if owed := s.Owed(); owed.Answer || len(owed.Calls)+len(owed.Posts) > 0 {
		t.Errorf("the example ends owing %+v", owed)
	}
	for kind, f := range forms {
		if f.reserved {
			e := life.New(time.Now(), kind, []string{mind.EntryID(s.Next)})
			e.Refs = make([]blobs.Ref, f.refs)
			must(t, s.Apply(e, make([]mind.Body, f.refs)...))
		}
	}
}

// bodies makes up what the refs of an event hold. A reply has the calls that
// follow it.
func bodies(t *testing.T, e life.Event, later []life.Event) []mind.Body {
	t.Helper()
	text := []byte("[USER:ada 2026-11-20T12:57:17Z] a text\n")
	if e.Kind == mind.Reply {
		answer := mind.Answer{Text: "a text"}
		for _, call := range later {
			if call.Kind == "call" && strings.HasPrefix(call.Arg(0), e.Arg(0)+".") {
				answer.Calls = append(answer.Calls, mind.RepairCall(call.Arg(1), `{"room":"ops","message":"a text"}`))
			}
		}
		text = answer.Encode()
	}
	var out []mind.Body
	for _, r := range e.Refs {
		h, err := blobs.ParseHash(r.Hash + strings.Repeat("0", 64-len(r.Hash)))
		must(t, err)
		out = append(out, mind.Body{Hash: h, Data: text})
	}
	return out
}
