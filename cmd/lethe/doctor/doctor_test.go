package doctor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/cmd/lethe/doctor"
	"lethe/internal/test/lethetest"
)

// examine returns what is found, a line each, without what depends on the machine.
func examine(t *testing.T, x doctor.Exam) (all string) {
	t.Helper()
	x.Tell = func(f doctor.Finding) {
		if f.State != doctor.OK && f.Remedy == "" {
			t.Errorf("no remedy: %+v", f)
		}
		all += fmt.Sprintln(f.State, f.What, f.Text)
	}
	x.Run(t.Context())
	return all
}

// Why a provider's key is not sent to a gateway is told before anything is asked there.
func TestKeyOfAGateway(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
	t.Setenv("LETHE_API_KEY", "")
	var s config.Settings
	s.Model.Preset, s.Model.BaseURL, s.Model.Name = "openai", "https://gw.test/v1", "gpt-5"
	found := examine(t, doctor.Exam{Home: home.Home{Dir: filepath.Join(t.TempDir(), "none")}, Settings: s})
	lethetest.Words(t, found, "key LETHE_API_KEY is not set; OPENAI_API_KEY goes to the provider's own address alone: "+
		"set LETHE_API_KEY to a key of gw.test and restart")
}

// An endpoint is asked for its models and then for one word; its clock, its models and what it refuses are told, and
// the key is in nothing.
func TestEndpoint(t *testing.T) {
	const key = "sk-0123456789abcdef"
	t.Setenv("LETHE_API_KEY", key)
	var asked []string
	limit := 0
	models, status, date := `{"data":[{"id":"small","context_length":9000},{"id":"great-1"}]}`, http.StatusOK, time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		if r.Method == http.MethodGet {
			fmt.Fprint(w, models)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprintf(w, `{"error":{"message":"not with %s"}}`, key)
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	look := func(model string, request bool) string {
		var s config.Settings
		s.Model.BaseURL, s.Model.Name = server.URL+"/v1", model
		s.Context.Limit = limit
		found := examine(t, doctor.Exam{Home: home.Home{Dir: filepath.Join(t.TempDir(), "none")}, Settings: s, Request: request})
		if strings.Contains(found, key) {
			t.Error("the key is told: ", found)
		}
		return found
	}
	lethetest.Words(t, look("small", true), "ok key LETHE_API_KEY is set", "ok endpoint 127.0.0.1:", "status 200",
		"asking small for one word, at a price that is not known", "ok model small answered")
	if want := []string{"GET /v1/models Bearer " + key, "POST /v1/chat/completions Bearer " + key}; strings.Join(asked,
		"\n") != strings.Join(want, "\n") {
		t.Errorf("asked %q", asked)
	}
	lethetest.Words(t, look("great-1", true), "warning window nobody has told how many tokens great-1 takes")
	limit = 9001
	lethetest.Words(t, look("small", true), "trouble window context.limit = 9001 is above the window of small, 9000 tokens")
	asked, limit, date = nil, 9000, time.Now().Add(time.Hour)
	lethetest.Words(t, look("small", true), "ok window small takes 9000 tokens")
	asked = nil
	lethetest.Words(t, look("great", true), "warning clock it is -", "off that of 127.0.0.1:", `trouble model 127.0.0.1:`,
		`serves no model "great"`, `"great-1"`)
	if look("small", false); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
	status, models = http.StatusUnauthorized, "<html>"
	lethetest.Words(t, look("small", true), "trouble model ", "status 401", "[key]")
	server.Close()
	lethetest.Words(t, look("small", true), "trouble endpoint ", "refused")
}

// A home is looked at as it is, and nothing in it changes; one that is not there is not made.
func TestHome(t *testing.T) {
	t.Setenv("DEEPSEEK_API_KEY", "")
	dir := t.TempDir()
	h := filepath.Join(dir, "home")
	found := examine(t, doctor.Exam{Home: home.Home{Dir: h}, Request: true})
	lethetest.Words(t, found, "ok home "+h+" is not there yet", "ok file system it renames", "warning key DEEPSEEK_API_KEY is not set")
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	lethetest.Unpack(t, "../../../agent/testdata/november/home.tar.gz", dir)
	lethetest.Must(t, os.Chmod(h, 0o755))
	lethetest.Write(t, filepath.Join(h, "key"), "PRIVATE+KEY+secret")
	lethetest.Must(t, os.Chmod(filepath.Join(h, "key"), 0o644))
	s := config.Settings{DefaultIdentity: "eve"}
	s.Tools.Bash = "trusted"
	found = examine(t, doctor.Exam{Home: home.Home{Dir: h}, Settings: s, Request: true})
	lethetest.Words(t, found, "format 1; identities: 2", "warning modes others can open "+h+" (mode 0755)",
		h+"/key (mode 0644): a key or token in it may have been read",
		`trouble identity find identity "eve"`, "warning sandbox tools.bash")
	if strings.Contains(found, "secret") {
		t.Error("a secret is told: ", found)
	}
	lethetest.Write(t, filepath.Join(h, "format"), "lethe home 99\n")
	lethetest.Words(t, examine(t, doctor.Exam{Home: home.Home{Dir: h}}), "trouble home open "+h+": it has format 99")
}

// A home in a git work tree is to keep its key out of it.
func TestHomeInGit(t *testing.T) {
	t.Setenv("DEEPSEEK_API_KEY", "")
	tree := t.TempDir()
	lethetest.Must(t, os.Mkdir(filepath.Join(tree, ".git"), 0o700))
	h, err := home.Open(filepath.Join(tree, "home"))
	lethetest.Must(t, err)
	exam := doctor.Exam{Home: h}
	if found := examine(t, exam); strings.Contains(found, " git ") {
		t.Error("a new home: ", found)
	}
	lethetest.Must(t, os.Remove(filepath.Join(h.Dir, ".gitignore")))
	lethetest.Words(t, examine(t, exam), "warning git", "would take its key")
	lethetest.Write(t, filepath.Join(tree, ".git/index"), "DIRC\x00home/key\x00")
	lethetest.Words(t, examine(t, exam), "warning git", h.Dir+"/key is in git")
}

// Hooks are listed; so is what is ignored or cannot be started.
func TestHooks(t *testing.T) {
	dir := lethetest.Dir(t)
	for name, text := range map[string]string{"call/guard": "#!/bin/sh\n", "call/no-line": "exit 2\n", "calls/typo": "#!/bin/sh\n"} {
		path := filepath.Join(dir, "hooks", name)
		lethetest.Write(t, path, text)
		lethetest.Must(t, os.Chmod(path, 0o700))
	}
	lethetest.Write(t, filepath.Join(dir, "hooks/turn/closed"), "#!/bin/sh\n")
	found := examine(t, doctor.Exam{Home: home.Home{Dir: dir}})
	lethetest.Words(t, found, "ok hooks these are asked: call/guard, call/no-line\n",
		"warning hooks hook call/no-line cannot be started: its first line",
		"/hooks/calls is ignored: hooks belong into turn", "/hooks/turn/closed is ignored: a hook is a regular file")
	if none := examine(t, doctor.Exam{Home: home.Home{Dir: lethetest.Dir(t)}}); strings.Contains(none, "hook") {
		t.Error(none)
	}
}
