package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// A key of this process is written down nowhere, nor is a part of it, wherever it comes from: the
// provider's answers, errors and summaries, tools, people, own files.
func TestKeysAreNotRecorded(t *testing.T) {
	const key = "~k-of-this-test-0123456789"
	secret.Add(key) // one test at a time
	t.Parallel()
	struck, part := secret.Text(key), key[:12]
	leak := calls("BASH", `{"command":"cat leak; echo `+key+` > copy"}`, "SAY", `{"room":"dev","message":"it is `+key+`"}`,
		key, `{"key":"`+key+`"}`)
	far := strings.Repeat("far ", 18) // a gist ends in the middle of what follows
	leak.Reasoning, leak.Text = "the key is "+key, far+key
	w := forgetful(t, 60_000, on("work", leak),
		rehearsal.Step{Contains: "money", Status: 402, Body: `{"error":{"message":"no money for ` + key + `"}}`},
		on("key?", text("my key is "+key+".")),
		rehearsal.Step{Task: "summarise", Times: -1,
			Answer: text(`{"summary":"ann uses ` + key + `","gist":"the key ` + key + `","relevance":5}`)},
		always("noted"))
	id, r := w.ada()
	lethetest.Must(t, os.WriteFile(w.own(id, "workspace/leak"), []byte(far+key), 0o600))
	said := 0
	ask := func(text string, answers int) {
		t.Helper()
		w.say("dev", "ann", text)
		said += answers
		w.answered("dev", said)
		r.settled()
	}
	ask("my own is "+key, 1)
	ask("what is your key?", 1)
	contains(t, w.said("dev")[said-1], "my key is "+struck+".")
	ask("work", 1)
	contains(t, strings.Join(w.said("dev"), "\n"), "it is "+struck)
	ask("money", 1)
	contains(t, w.said("dev")[said-1], "no money for "+struck)
	lethetest.Must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte("ann's key: "+key+"\n"), 0o600))
	w.until(id, 1, "note")
	w.talk(4, 200)
	said = len(w.said("dev"))
	lethetest.Must(t, home.Ask(id, home.WishCompact))
	w.until(id, 1, "epoch", "why", "person")
	ask("good night", 1)
	r = r.again()
	ask("good morning", 1)
	r.stop()

	contains(t, w.fold(id).Stable.Past, "ann uses "+struck)
	for _, q := range w.asked() {
		if bytes.Contains(q.Body, []byte(part)) {
			t.Error("a request holds the key")
		}
	}
	for _, text := range w.said("dev") {
		if strings.Contains(text, part) {
			t.Errorf("it was said: %s", text)
		}
	}
	theirs := map[string]bool{w.path("dev"): true, w.own(id, "workspace/leak"): true, w.own(id, "MEMORY.md"): true}
	lethetest.Must(t, filepath.WalkDir(w.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || theirs[path] {
			return err
		}
		if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(part)) {
			t.Errorf("%s holds the key (%v)", path, err)
		}
		return nil
	}))
	equal(t, "lines heard", len(w.heard(id, "dev")), len(w.lines("dev"))-len(w.said("dev")))
	w.conserved(id)
	w.stable(w.requests())
}
