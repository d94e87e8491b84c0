package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/internal/secret/shape"
	"lethe/internal/test/lethetest"
)

// A secret that people write or tools return is written down nowhere, nor is a part of it: its mark is, wherever it
// came from. People are told, and no tool takes the mark for the secret.
func TestSecretsAreStruck(t *testing.T) {
	t.Parallel()
	key := "gh" + "p_" + "q7Zr2mVx9Kt4Lw8Nb3Hd6Fs1Gj5Pc0YaTeUi"
	part := key[4:24]
	pem := "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + strings.Repeat(strings.Repeat("k3Y/", 16)+"\n", 6) +
		"-----END RSA PRIV" + "ATE KEY-----\n"
	_, found := shape.Strike(key)
	mark := found[0].Mark()
	w := forgetful(t, 60_000,
		on("work", calls(
			"READ_FILE", `{"path":"leak"}`, "BASH", `{"command":"cat leak; printf gh; sleep 0.1; cat half; cat pem"}`,
			"READ_FILE", `{"path":"long"}`,
		)),
		on("write it", calls(
			"WRITE_FILE", `{"path":"leak","content":"key: `+mark+`"}`, "BASH", `{"command":"echo '`+mark+`' > leak"}`,
			"EDIT_FILE", `{"path":"leak","old":"key: `+mark+`","new":"none"}`, "RECALL", `{"query":"`+mark+`"}`,
		)),
		on("send it", calls("SAY", `{"room":"dev","message":"here","files":"leak"}`, "READ_FILE", `{"path":"env"}`)),
		always("noted"))
	id, r := w.ada()
	long := strings.Repeat("x ", 995) + key + strings.Repeat(" y", 100)
	for name, text := range map[string]string{
		"leak": "key: " + key, "half": key[2:] + "\n", "pem": pem, "long": "1\n" + long + "\n3\n",
		"env": "A=1\x00KEY=" + key + "\x00",
	} {
		lethetest.Must(t, os.WriteFile(w.own(id, "workspace/"+name), []byte(text), 0o600))
	}
	said := 0
	ask := func(text string, answers int) {
		t.Helper()
		w.say("dev", "ann", text)
		said += answers
		w.answered("dev", said)
		r.settled()
	}
	ask("my key is "+key+", use it", 2)
	lethetest.Words(t, strings.Join(w.said("dev"), "\n"), "struck out what looks like a secret ("+found[0].String(), "keys.env", "lethe erase")
	ask("work", 1)
	ask("write it", 1)
	ask("send it", 1)
	lethetest.Must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte("ann's key: "+key+"\n"), 0o600))
	w.until(id, 1, "note")
	w.talk(4, 200)
	said = len(w.said("dev"))
	lethetest.Must(t, home.Ask(id, home.CompactWish("keep "+key)))
	w.until(id, 1, "epoch", "why", "person")
	ask("good night", 1)
	r = r.again()
	ask("good morning", 1)
	r.stop()

	var requests strings.Builder
	for _, q := range w.asked() {
		requests.Write(q.Body)
		if bytes.Contains(q.Body, []byte(part)) || bytes.Contains(q.Body, []byte("k3Y/k3Y/")) {
			t.Error("a request holds the key")
		}
	}
	lethetest.Words(t, requests.String(), "my key is "+mark+", use it", "key: "+mark, "ann's key: "+mark, "private key, ",
		"not done: the arguments of WRITE_FILE hold a mark", "not done: the arguments of BASH hold a mark",
		"not done: the arguments of EDIT_FILE hold a mark")
	if strings.Contains(requests.String(), "arguments of RECALL hold") {
		t.Error("a tool that only looks was refused")
	}
	leak, err := os.ReadFile(w.own(id, "workspace/leak"))
	lethetest.Must(t, err)
	equal(t, "the file", string(leak), "key: "+key)
	theirs := map[string]bool{w.path("dev"): true, w.own(id, "MEMORY.md"): true}
	lethetest.Must(t, filepath.WalkDir(w.home.Dir, func(path string, d fs.DirEntry, err error) error {
		inWorkspace := strings.Contains(path, "/workspace/") && !strings.Contains(path, "/.output/")
		if err != nil || !d.Type().IsRegular() || theirs[path] || inWorkspace {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || bytes.Contains(data, []byte(part)) || bytes.Contains(data, []byte("k3Y/k3Y/")) {
			t.Errorf("%s holds the key (%v)", path, err)
		}
		return nil
	}))
	w.conserved(id)
	w.stable(w.requests())
}
